"""Points with axes on bodies, and the pose of one point relative to another.

All joints, springs and drives are built on relative poses:

    displacement = Rₐᵀ (r_b − r_a)    position of b in the axes of a, shape (2,) or (3,)
    rotation     = Rₐᵀ R_b            shape (3, 3); in the plane the angle of b minus that of a, a
                                      number that counts whole turns

The ground counts as one more body, at rest at the origin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.rotation import IDENTITY, rotation_matrix
from zwang.compile.hints import traced_once
from zwang.inputs.arithmetic import xp

HALF_TURN = 1e-6
"""Twice the cosine of half an angle below which it counts as half a turn, at which no axis differs
from its opposite.
"""
SERIES = 1e-4
"""Squared sine of an angle below which θ / sin θ is summed as a series of four terms."""


class RelativePose(NamedTuple):
    """Pose of point b relative to point a; see above."""

    displacement: Float[Array, "... d"]
    rotation: Float[Array, "..."]


class Frames(NamedTuple):
    """All points of a mechanism in space.

    They have positions (n, d) [m], and attitudes, (n,) angles or (n, 3, 3) matrices.
    """

    place: Float[Array, "n d"]
    attitude: Float[Array, "n ..."]


def frames(q: Float[Array, " nq"], p: dict, carrier: np.ndarray) -> Frames:
    """Frames of points, given the index of the body that carries each (ground last).

    q are the bodies' own coordinates, or in space also their rigid motions, shape (nb, 4, 4).
    `p["offset"]` and `p["orientation"]` are the points' positions and attitudes in the axes of
    their bodies.
    """
    return _placed(q, p["offset"], p["orientation"], carrier)


@traced_once
def _placed(q, offset, orientation, carrier) -> Frames:
    if orientation.ndim == 1:
        # The ground counts as one more body, at rest at the origin, so that points on it need no
        # separate case.
        pose = xp.concatenate([q.reshape(-1, 3), xp.zeros((1, 3))])[carrier]
        c, s = xp.cos(pose[:, 2]), xp.sin(pose[:, 2])
        arm = xp.stack(
            [c * offset[:, 0] - s * offset[:, 1], s * offset[:, 0] + c * offset[:, 1]], axis=1
        )
        return Frames(pose[:, :2] + arm, pose[:, 2] + orientation)
    if q.ndim == 3:
        at = xp.concatenate([q, xp.eye(4)[None]])[carrier]
        return Frames(
            at[:, :3, 3] + xp.einsum("nij,nj->ni", at[:, :3, :3], offset),
            at[:, :3, :3] @ orientation,
        )
    pose = xp.concatenate([q.reshape(-1, 7), xp.array([[0.0, 0.0, 0.0, *IDENTITY]])])
    # once per body, not once per point
    R = rotation_matrix(pose[:, 3:])[carrier]
    return Frames(pose[carrier, :3] + xp.einsum("nij,nj->ni", R, offset), R @ orientation)


@traced_once
def relative_poses(f: Frames, a: np.ndarray, b: np.ndarray) -> RelativePose:
    """Relative poses of pairs of points, given by their indices, each with a leading axis."""
    apart = f.place[b] - f.place[a]
    if f.attitude.ndim == 1:
        c, s = xp.cos(f.attitude[a]), xp.sin(f.attitude[a])
        displacement = xp.stack(
            [c * apart[:, 0] + s * apart[:, 1], c * apart[:, 1] - s * apart[:, 0]], axis=1
        )
        return RelativePose(displacement, f.attitude[b] - f.attitude[a])
    back = xp.swapaxes(f.attitude[a], -1, -2)
    return RelativePose(xp.einsum("nij,nj->ni", back, apart), back @ f.attitude[b])


# --- functions of one relative pose


def in_plane(pose: RelativePose) -> bool:
    """Return whether the pose is one of the plane."""
    return np.ndim(pose.rotation) == 0


def angle(pose: RelativePose):
    """Rotation of b about the z axis of a [rad]; in space between −π and π."""
    rotation = pose.rotation
    return rotation if in_plane(pose) else xp.arctan2(rotation[1, 0], rotation[0, 0])


def slide(pose: RelativePose):
    """Displacement of b along the axis of a [m]: x in the plane, z in space."""
    return pose.displacement[0] if in_plane(pose) else pose.displacement[2]


def distance(pose: RelativePose):
    """Distance [m], with derivative 0 where the points coincide."""
    square = pose.displacement @ pose.displacement
    return xp.where(square > 0, xp.sqrt(xp.where(square > 0, square, 1.0)), 0.0)


def relative_pose_coordinates(pose: RelativePose):
    """All coordinates of a relative pose, shape (3,) or (6,).

    They are the displacement, and the angle or the rotation vector.
    """
    if in_plane(pose):
        return xp.append(pose.displacement, pose.rotation)
    return xp.concatenate([pose.displacement, rotation_vector(pose.rotation)])


def rotation_vector(rotation: Float[Array, "3 3"]) -> Float[Array, " 3"]:
    """Rotation axis times the angle, between 0 and π: the logarithm of a rotation matrix.

    It jumps at half a turn, where the axis may as well have the opposite direction.
    """
    sines = rotation_sines(rotation)
    square, cosine = sines @ sines, (xp.trace(rotation) - 1) / 2
    small = (square < SERIES) & (cosine > 0)
    sine = xp.sqrt(xp.where(small | (square == 0), 1.0, square))
    # θ / sin θ, by its series if the angle is small: exact to round-off, and so is its slope
    near = 1 + square / 6 + 3 * square**2 / 40 + 5 * square**3 / 112
    return sines * xp.where(small, near, xp.arctan2(sine, cosine) / sine)


def rotation_sines(rotation: Float[Array, "3 3"]) -> Float[Array, " 3"]:
    """Rotation axis times the sine of the angle: the antisymmetric part of a rotation matrix."""
    return 0.5 * xp.stack(
        [
            rotation[2, 1] - rotation[1, 2],
            rotation[0, 2] - rotation[2, 0],
            rotation[1, 0] - rotation[0, 1],
        ]
    )


def rotation_chords(rotation: Float[Array, "3 3"]) -> Float[Array, " 3"]:
    """Rotation axis times the chord 2 sin(θ/2) of the angle.

    It increases up to half a turn, where the sine is zero again, and vanishes only without
    rotation.
    """
    # 1 + trace = 4 cos²(θ/2); at half a turn the sines vanish as it does
    cosine = xp.sqrt(xp.maximum(1.0 + xp.trace(rotation), HALF_TURN**2)) / 2
    return rotation_sines(rotation) / cosine


def axes_parallel(rotation: Float[Array, "3 3"]) -> Float[Array, " 2"]:
    """Two rows that vanish where the z axes are parallel."""
    return rotation[:2, 2]


def wrapped(x):
    """An angle modulo 2π; its derivative is 1 even on an interval that contains the jump."""
    return x - 2 * np.pi * xp.floor(x / (2 * np.pi) + 0.5)


def counted(x, theta):
    """An angle modulo 2π, with the turns of a nearby angle; as smooth as x."""
    return theta + wrapped(x - theta)


def value_and_rate(function: Callable, q, rate) -> tuple:
    """A function of q and its rate along q̇."""
    return jax.jvp(function, (q,), (rate,))


@dataclasses.dataclass(frozen=True)
class PoseCoordinate:
    """A coordinate of two points, which drives, springs and forces act on.

    Attributes:
        name: in a mechanism file and in results.
        value: relative pose → coordinate.
        unit: of the coordinate: "m", "rad", or "1" for a unit quaternion.
    """

    name: str
    value: Callable
    unit: str

    @property
    def angular(self) -> bool:
        """Return whether it is an angle."""
        return self.unit == "rad"


ANGLE = PoseCoordinate("angle", angle, "rad")
SLIDE = PoseCoordinate("slide", slide, "m")
DISTANCE = PoseCoordinate("distance", distance, "m")
X = PoseCoordinate("x", lambda pose: pose.displacement[0], "m")
Y = PoseCoordinate("y", lambda pose: pose.displacement[1], "m")
DISPLACEMENT = PoseCoordinate("displacement", lambda pose: pose.displacement, "m")
ALL = PoseCoordinate("all", relative_pose_coordinates, "m or rad")
