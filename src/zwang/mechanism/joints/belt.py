"""Belt: the angles of two joints turn alike by a ratio of radii or teeth."""

from zwang.mechanism.joint_kind import JointEquations, JointKind, Option, is_ratio
from zwang.mechanism.relative_pose import ANGLE, wrapped


def combination(first, second, options):
    """Difference of the ways of both rims, which stays as it is."""
    return options["ratio"][0] * first - options["ratio"][1] * second


def plane(first, second, options):
    """The combination less its value at the start."""
    return combination(first, second, options) - options["phase"]


def space(first, second, options):
    """Likewise for angles known up to whole turns, which whole numbers of teeth leave zero."""
    return wrapped(plane(first, second, options)) / options["ratio"][0]


JOINT = JointKind(
    name="belt",
    summary="couples the angles of two joints, which turn alike",
    plane=JointEquations(removes=1, units=("rad",), position=plane),
    space=JointEquations(removes=1, units=("rad",), position=space),
    options=(
        Option(
            name="ratio",
            meaning="numbers of teeth, or in the plane radii",
            kind="pair",
            check=is_ratio,
        ),
        Option(name="phase", meaning="difference of ratio·angle", as_drawn=combination),
    ),
    couples=(ANGLE, ANGLE),
    line="belt",
    example={"ratio": (20, 10)},
)
