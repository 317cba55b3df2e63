"""Rack and pinion: the slide of the second joint follows the angle of the first."""

from zwang.mechanism.joint_kind import JointEquations, JointKind, Option, is_nonzero
from zwang.mechanism.relative_pose import ANGLE, SLIDE, wrapped


def combination(angle, slide, options):
    """Displacement of the rack minus that of the pinion's rim, which is constant."""
    return slide - options["radius"] * angle


def plane(angle, slide, options):
    """The combination minus its value at the start."""
    return combination(angle, slide, options) - options["phase"]


def space(angle, slide, options):
    """The same for an angle modulo 2π."""
    return options["radius"] * wrapped(plane(angle, slide, options) / options["radius"])


JOINT = JointKind(
    name="rack",
    summary="couples the angle of a joint and the slide of another",
    plane=JointEquations(removes=1, units=("m",), position=plane),
    space=JointEquations(removes=1, units=("m",), position=space),
    options=(
        Option(name="radius", meaning="of the pinion", unit="m", check=is_nonzero),
        Option(name="phase", meaning="slide − radius·angle", unit="m", as_drawn=combination),
    ),
    couples=(ANGLE, SLIDE),
    example={"radius": 0.3},
)
