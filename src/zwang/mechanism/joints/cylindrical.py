"""Cylindrical joint: the second point slides along the z axis of the first and turns about it."""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import ROTATION_ABOUT_Z, SLIDE_ALONG_Z, JointEquations, JointKind
from zwang.mechanism.relative_pose import SLIDE, axes_parallel

JOINT = JointKind(
    name="cylindrical",
    summary="rotation about the axis z and slide along it",
    space=JointEquations(
        removes=4,
        units=("m", "m", "rad", "rad"),
        position=lambda pose, options: xp.concatenate(
            [pose.displacement[:2], axes_parallel(pose.rotation)]
        ),
        freedoms=(ROTATION_ABOUT_Z, SLIDE_ALONG_Z),
        holds="axis",
    ),
    coordinate=SLIDE,
    rubs=("sliding", "turning"),
    symbol="pin",
)
