"""Gear: the angles of two joints turn against each other by a ratio of teeth or radii."""

from zwang.mechanism.joint_kind import JointEquations, JointKind, Option, is_ratio
from zwang.mechanism.relative_pose import ANGLE, wrapped


def combination(first, second, options):
    """Σ ratio·angle, which stays as it is."""
    return options["ratio"][0] * first + options["ratio"][1] * second


def plane(first, second, options):
    """The combination less its value at the start."""
    return combination(first, second, options) - options["phase"]


def space(first, second, options):
    """Likewise for angles known up to whole turns, which whole numbers of teeth leave zero."""
    return wrapped(plane(first, second, options)) / options["ratio"][0]


JOINT = JointKind(
    name="gear",
    summary="couples the angles of two joints, which turn against each other",
    plane=JointEquations(removes=1, units=("rad",), position=plane),
    space=JointEquations(removes=1, units=("rad",), position=space),
    options=(
        Option(
            name="ratio",
            meaning="numbers of teeth, or in the plane radii",
            kind="pair",
            check=is_ratio,
        ),
        Option(name="phase", meaning="Σ ratio·angle", as_drawn=combination),
    ),
    couples=(ANGLE, ANGLE),
    example={"ratio": (20, 30)},
)
