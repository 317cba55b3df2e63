"""Knife edge: the second point has no velocity across its own x axis."""

import jax.numpy as jnp

from zwang.mechanism.joint_kind import JointEquations, JointKind

JOINT = JointKind(
    name="knife",
    summary="a blade along x of the second point, in the plane of x and y: no sideways velocity",
    plane=JointEquations(
        removes=1,
        velocity=lambda pose, rate, options: (
            jnp.cos(pose.rotation) * rate.displacement[1]
            - jnp.sin(pose.rotation) * rate.displacement[0]
        ),
    ),
    space=JointEquations(
        removes=1,
        velocity=lambda pose, rate, options: pose.rotation[:, 1] @ rate.displacement,
    ),
    symbol="contact",
    mark=None,
)
