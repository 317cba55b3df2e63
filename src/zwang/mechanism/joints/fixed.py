"""Fixed joint: the two points coincide with their axes."""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.relative_pose import rotation_chords

JOINT = JointKind(
    name="fixed",
    summary="no motion",
    plane=JointEquations(
        removes=3,
        units=("m", "m", "rad"),
        position=lambda pose, options: xp.append(pose.displacement, pose.rotation),
    ),
    space=JointEquations(
        removes=6,
        units=("m", "m", "m", "rad", "rad", "rad"),
        position=lambda pose, options: xp.concatenate(
            [pose.displacement, rotation_chords(pose.rotation)]
        ),
        holds="attitude",
    ),
    symbol="block",
    formats={
        "sdf": ("fixed",),
        "usd": ("PhysicsFixedJoint",),
        "urdf": ("fixed",),
        "mjcf equality": ("weld",),
    },
)
