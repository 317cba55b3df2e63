"""Prismatic joint: the second point slides along an axis of the first without any rotation."""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import SLIDE_ALONG_X, SLIDE_ALONG_Z, JointEquations, JointKind
from zwang.mechanism.relative_pose import SLIDE, rotation_chords

JOINT = JointKind(
    name="prismatic",
    summary="a slide without rotation: along x in the plane, along z in space",
    plane=JointEquations(
        removes=2,
        units=("m", "rad"),
        position=lambda pose, options: xp.stack([pose.displacement[1], pose.rotation]),
        freedoms=(SLIDE_ALONG_X,),
    ),
    space=JointEquations(
        removes=5,
        units=("m", "m", "rad", "rad", "rad"),
        position=lambda pose, options: xp.concatenate(
            [pose.displacement[:2], rotation_chords(pose.rotation)]
        ),
        freedoms=(SLIDE_ALONG_Z,),
        holds="attitude",
    ),
    coordinate=SLIDE,
    rubs=("sliding",),
    symbol="slide",
    mark="square",
    formats={
        "sdf": ("prismatic",),
        "usd": ("PhysicsPrismaticJoint",),
        "urdf": ("prismatic",),
        "mjcf": ("slide",),
    },
)
