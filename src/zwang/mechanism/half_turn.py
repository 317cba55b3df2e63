"""Joints in space that were assembled half a turn off.

The rows of parallel axes are sines, which also vanish half a turn off. A body that a joint carries
upside down is rotated about the joint's point, and the mechanism is assembled again.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from zwang.bodies.rotation import quaternion, rotation_matrix
from zwang.inputs.arithmetic import on_host, xp
from zwang.mechanism.joint_constraints import JointConstraints

ALONG = 1e-9
"""Sine between two axes up to which they have no common perpendicular."""


class Turned(NamedTuple):
    """A body that was turned.

    Attributes:
        joint: the joint that was half a turn off.
        q: coordinates of all bodies.
    """

    joint: str
    q: np.ndarray


def turned_over(joints: JointConstraints, q, params: dict) -> Turned | None:
    """Turn the body of the first joint that is half a turn off; None if there is no such joint.

    Args:
        joints: the joints, in the coordinates of bodies.
        q: coordinates of the mechanism.
        params: its parameters.
    """
    with on_host():
        at = joints.frames(np.asarray(q, float), jax.tree.map(np.asarray, params))
        places, attitudes = np.asarray(at.place), np.asarray(at.attitude)
        for name in joints.joints:
            equations = joints.kind(name).equations(3)
            if equations is None or equations.holds is None:
                continue
            a, b = joints.ends[name][0].a, joints.ends[name][0].b
            relative = attitudes[a].T @ attitudes[b]
            side = relative[2, 2] if equations.holds == "axis" else np.diag(relative).min()
            if side < 0:
                if joints.geometry.carrier[b] == len(joints.geometry.bodies):
                    a, b = b, a
                if equations.holds == "axis":
                    turn = _between(attitudes[b], attitudes[a][:, 2])
                else:
                    turn = attitudes[a] @ attitudes[b].T
                body = int(joints.geometry.carrier[b])
                return Turned(name, _moved(np.asarray(q), joints, body, turn, places[b]))
    return None


def _between(frame: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """The shortest rotation from the z axis of a frame to an axis."""
    z = frame[:, 2]
    across = np.cross(z, axis)
    if np.linalg.norm(across) < ALONG:
        # half a turn about x, one of several shortest rotations
        return 2 * np.outer(frame[:, 0], frame[:, 0]) - np.eye(3)
    X = np.cross(np.eye(3), across)
    return np.eye(3) + X + X @ X / (1 + z @ axis)


def _moved(q: np.ndarray, joints: JointConstraints, body: int, turn, about) -> np.ndarray:
    """Coordinates of the bodies after one of them is rotated about a point."""
    moved = np.array(q[: joints.turns.bodies], float).reshape(-1, 7)
    place, attitude = moved[body, :3], np.asarray(rotation_matrix(xp.asarray(moved[body, 3:])))
    moved[body] = [*(about + turn @ (place - about)), *np.asarray(quaternion(turn @ attitude))]
    return moved.ravel()
