"""Universal joint (Hooke, Cardan): a cross on the x axis of the first point and the y axis of the
second.
"""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import Freedom, JointEquations, JointKind, rotation_about
from zwang.mechanism.relative_pose import PoseCoordinate

FIRST = PoseCoordinate(
    "first", lambda pose: xp.arctan2(pose.rotation[2, 1], pose.rotation[1, 1]), "rad"
)
"""Angle about the x axis of the first point."""
SECOND = PoseCoordinate(
    "second", lambda pose: xp.arctan2(pose.rotation[0, 2], pose.rotation[0, 0]), "rad"
)
"""Angle about the y axis of the second point."""

JOINT = JointKind(
    name="universal",
    summary="a cross: rotation about x of the first and y of the second point",
    space=JointEquations(
        removes=4,
        units=("m", "m", "m", "rad"),
        position=lambda pose, options: xp.append(pose.displacement, pose.rotation[0, 1]),
        freedoms=(Freedom(FIRST, rotation_about(0)), Freedom(SECOND, rotation_about(1))),
    ),
    symbol="ball",
    formats={"sdf": ("universal", "revolute2")},
)
