"""Spherical joint: the two points coincide."""

import jax.numpy as jnp
import numpy as np

from zwang.bodies.rotation import quaternion
from zwang.mechanism.joint_kind import Freedom, JointEquations, JointKind, ball_twist
from zwang.mechanism.relative_pose import PoseCoordinate

ATTITUDE = PoseCoordinate(
    "attitude", lambda pose: np.asarray(quaternion(jnp.asarray(pose.rotation))), "1"
)
"""Attitude of the second point in the axes of the first, as a unit quaternion."""

JOINT = JointKind(
    name="spherical",
    summary="a ball joint: all rotations about one point",
    space=JointEquations(
        removes=3,
        units=("m",),
        position=lambda pose, options: pose.displacement,
        freedoms=(Freedom(ATTITUDE, ball_twist),),
        blind="both",
    ),
    rubs=("turning",),
    symbol="ball",
    formats={
        "sdf": ("ball",),
        "usd": ("PhysicsSphericalJoint",),
        "urdf": ("spherical",),
        "mjcf": ("ball",),
        "mjcf equality": ("connect",),
    },
)
