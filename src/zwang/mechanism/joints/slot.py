"""Slot: the second point stays on a line of the first, with any rotation."""

from zwang.mechanism.joint_kind import Freedom, JointEquations, JointKind
from zwang.mechanism.relative_pose import SLIDE

JOINT = JointKind(
    name="slot",
    summary="a point on a line: along x in the plane, along z in space",
    plane=JointEquations(
        removes=1,
        units=("m",),
        position=lambda pose, options: pose.displacement[1],
        freedoms=(Freedom(SLIDE),),
    ),
    space=JointEquations(
        removes=2,
        units=("m",),
        position=lambda pose, options: pose.displacement[:2],
        freedoms=(Freedom(SLIDE),),
        blind="second",
    ),
    coordinate=SLIDE,
    rubs=("sliding",),
    symbol="slide",
    mark="square",
)
