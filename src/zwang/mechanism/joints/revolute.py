"""Revolute joint: the second point stays on the first and turns about its z axis."""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import ROTATION_ABOUT_Z, JointEquations, JointKind
from zwang.mechanism.relative_pose import ANGLE, axes_parallel

JOINT = JointKind(
    name="revolute",
    summary="a hinge: rotation about the axis z",
    plane=JointEquations(
        removes=2,
        units=("m",),
        position=lambda pose, options: pose.displacement,
        freedoms=(ROTATION_ABOUT_Z,),
    ),
    space=JointEquations(
        removes=5,
        units=("m", "m", "m", "rad", "rad"),
        position=lambda pose, options: xp.concatenate(
            [pose.displacement, axes_parallel(pose.rotation)]
        ),
        freedoms=(ROTATION_ABOUT_Z,),
        holds="axis",
    ),
    coordinate=ANGLE,
    rubs=("turning",),
    symbol="pin",
    formats={
        "sdf": ("revolute", "continuous"),
        "urdf": ("revolute", "continuous"),
        "mjcf": ("hinge",),
        "usd": ("PhysicsRevoluteJoint",),
    },
)
