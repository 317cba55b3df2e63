"""Points with axes on bodies, and how two of them lie to each other: all that joints, springs and
drives are made of.

    gap  = Rₐᵀ (r_b − r_a)         place of b in the axes of a, shape (2,) or (3,)
    turn = Rₐᵀ R_b, shape (3, 3);  in the plane the angle of b less that of a, a number that counts
    whole turns

The ground is a body more, at rest in the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.rotation import IDENTITY, rotation_matrix


class Pair(NamedTuple):
    """Two points with axes; see above."""

    gap: Float[Array, "... d"]
    turn: Float[Array, "..."]


class Frames(NamedTuple):
    """All points of a mechanism in space: places (n, d) [m], and attitudes, (n,) angles or (n, 3,
    3) matrices.
    """

    place: Float[Array, "n d"]
    attitude: Float[Array, "n ..."]


def frames(q: Float[Array, " nq"], p: dict, carrier: np.ndarray) -> Frames:
    """Where points are, given the index of the body that carries each, the last one being the
    ground.

    q are the bodies' own coordinates, or in space also their rigid motions, shape (nb, 4, 4).
    `p["offset"]` and `p["orientation"]` are their places and attitudes in the axes of their bodies.
    """
    offset, orientation = p["offset"], p["orientation"]
    if orientation.ndim == 1:
        pose = jnp.concatenate([q.reshape(-1, 3), jnp.zeros((1, 3))])[carrier]
        c, s = jnp.cos(pose[:, 2]), jnp.sin(pose[:, 2])
        arm = jnp.stack(
            [c * offset[:, 0] - s * offset[:, 1], s * offset[:, 0] + c * offset[:, 1]], axis=1
        )
        return Frames(pose[:, :2] + arm, pose[:, 2] + orientation)
    if q.ndim == 3:
        at = jnp.concatenate([q, jnp.eye(4)[None]])[carrier]
        return Frames(
            at[:, :3, 3] + jnp.einsum("nij,nj->ni", at[:, :3, :3], offset),
            at[:, :3, :3] @ orientation,
        )
    pose = jnp.concatenate([q.reshape(-1, 7), jnp.array([[0.0, 0.0, 0.0, *IDENTITY]])])
    R = rotation_matrix(pose[:, 3:])[carrier]
    return Frames(pose[carrier, :3] + jnp.einsum("nij,nj->ni", R, offset), R @ orientation)


def pair(f: Frames, a: np.ndarray, b: np.ndarray) -> Pair:
    """Pairs of points by their indices, each with a leading axis."""
    apart = f.place[b] - f.place[a]
    if f.attitude.ndim == 1:
        c, s = jnp.cos(f.attitude[a]), jnp.sin(f.attitude[a])
        gap = jnp.stack(
            [c * apart[:, 0] + s * apart[:, 1], c * apart[:, 1] - s * apart[:, 0]], axis=1
        )
        return Pair(gap, f.attitude[b] - f.attitude[a])
    back = jnp.swapaxes(f.attitude[a], -1, -2)
    return Pair(jnp.einsum("nij,nj->ni", back, apart), back @ f.attitude[b])


# --- coordinates of one pair
# -----------------------------------------------------------------------------------------


def angle(x: Pair):
    """Turn of b about the z axis of a [rad]; in space between −π and π."""
    return x.turn if x.turn.ndim == 0 else jnp.arctan2(x.turn[1, 0], x.turn[0, 0])


def slide(x: Pair):
    """Way of b along a's axis [m]: x in the plane, z in space."""
    return x.gap[0] if x.turn.ndim == 0 else x.gap[2]


def distance(x: Pair):
    """Distance [m], with derivative 0 where it is none."""
    square = x.gap @ x.gap
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def six(x: Pair):
    """All ways to move: place, and angle or the sines of the turn about the axes, shape (3,) or
    (6,).
    """
    return (
        jnp.append(x.gap, x.turn) if x.turn.ndim == 0 else jnp.concatenate([x.gap, sines(x.turn)])
    )


def sines(turn: Float[Array, "3 3"]) -> Float[Array, " 3"]:
    """Rotation axis times the sine of the angle: the antisymmetric part of a rotation matrix."""
    return 0.5 * jnp.stack(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )


def wrapped(x):
    """An angle, whole turns taken off."""
    return jnp.arctan2(jnp.sin(x), jnp.cos(x))


COORDINATES: dict[str, Callable] = {
    "angle": angle,
    "slide": slide,
    "distance": distance,
    "gap": lambda x: x.gap,
    "all": six,
}
ANGULAR = ("angle",)


def along(function: Callable, q, rate) -> tuple:
    """A function of q and its rate along q̇."""
    return jax.jvp(function, (q,), (rate,))
