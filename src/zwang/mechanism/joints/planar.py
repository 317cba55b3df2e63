"""Planar joint: the second point stays in the plane z = 0 of the first, with parallel normals."""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import (
    DISPLACEMENT_X,
    DISPLACEMENT_Y,
    ROTATION_ABOUT_Z,
    JointEquations,
    JointKind,
)
from zwang.mechanism.relative_pose import ANGLE, axes_parallel

JOINT = JointKind(
    name="planar",
    summary="motion in the plane with the normal z",
    space=JointEquations(
        removes=3,
        units=("rad", "rad", "m"),
        position=lambda pose, options: xp.append(
            axes_parallel(pose.rotation), pose.displacement[2]
        ),
        freedoms=(DISPLACEMENT_X, DISPLACEMENT_Y, ROTATION_ABOUT_Z),
        holds="axis",
    ),
    coordinate=ANGLE,
    rubs=("sliding",),
    symbol="contact",
    guide="floor",
    formats={"urdf": ("planar",)},
)
