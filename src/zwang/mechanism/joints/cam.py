"""Cam: the coordinate of the second joint is a formula of the angle of the first."""

from zwang.mechanism.joint_kind import JointEquations, JointKind, Option
from zwang.mechanism.relative_pose import ANGLE


def position(angle, follower, options):
    """The follower's coordinate minus the lift."""
    return follower - options["lift"](angle=angle)


JOINT = JointKind(
    name="cam",
    summary="couples the angle of a joint and the slide or angle of another by a formula",
    plane=JointEquations(removes=1, position=position),
    space=JointEquations(removes=1, position=position),
    options=(
        Option(
            name="lift",
            meaning="formula in `angle`: the second joint's coordinate over the angle of the first",
            kind="formula",
            variables=("angle",),
        ),
    ),
    couples=(ANGLE, None),
    example={"lift": "0.1*sin(2*angle)"},
)
