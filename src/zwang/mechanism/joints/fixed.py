"""Fixed joint: the two points coincide with their axes."""

import jax.numpy as jnp

from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.relative_pose import rotation_sines

JOINT = JointKind(
    name="fixed",
    summary="no motion",
    plane=JointEquations(
        removes=3,
        units=("m", "m", "rad"),
        position=lambda pose, options: jnp.append(pose.displacement, pose.rotation),
    ),
    space=JointEquations(
        removes=6,
        units=("m", "m", "m", "rad", "rad", "rad"),
        position=lambda pose, options: jnp.concatenate(
            [pose.displacement, rotation_sines(pose.rotation)]
        ),
        holds="attitude",
    ),
    symbol="block",
    formats={"sdf": ("fixed",), "urdf": ("fixed",), "mjcf equality": ("weld",)},
)
