"""Joints between rigid bodies in space. Each body is a module with q = (x, y, z, qw, qx, qy,
qz).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from zwang.bodies import Body, RigidBodies
from zwang.bodies.rotation import quaternion, rotation_matrix
from zwang.dynamics.model import Model
from zwang.inputs.arithmetic import on_host


def rigid_body(gravity: float) -> RigidBodies:
    """One body. All modules share its system and differ in their parameters."""
    return RigidBodies([Body("body", 1.0, (1.0, 1.0, 1.0))], gravity=(0.0, 0.0, -gravity))


def module(bodies: RigidBodies, mass: float, inertia, name: str, **params) -> Model:
    """A model of one rigid body with plain names of coordinates."""
    bare = lambda names: tuple(n.removeprefix("body.") for n in names)
    s = bodies.system
    system = dataclasses.replace(s, coordinates=bare(s.coordinates), velocities=bare(s.velocities))
    return Model(
        system,
        (),
        {**bodies.params, "mass": [mass], "inertia": [list(inertia)], **params},
        name=name,
    )


def point(q, offset):
    """Position of a point of a body, or of the same point of several bodies."""
    return q[..., :3] + direction(q, offset)


def direction(q, axis):
    """A vector given in body axes, in space."""
    return (rotation_matrix(q[..., 3:]) @ np.asarray(axis)[..., None])[..., 0]


def attitude(R) -> np.ndarray:
    """Quaternion (w ≥ 0) of a rotation matrix, in NumPy."""
    with on_host():
        q: Any = quaternion(R)
    return q if q[0] >= 0 else -q


def frame(z, x) -> np.ndarray:
    """Rotation matrix with its third column along z, and its first along the component of x
    orthogonal to z.
    """
    z = np.asarray(z) / np.linalg.norm(z)
    x = np.asarray(x) - np.dot(x, z) * z
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
