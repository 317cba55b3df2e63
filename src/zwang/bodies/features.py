"""Parts of shapes that touch: balls, points, edges, faces, and the rows of their contacts."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.equations.constraint.nonideal import length
from zwang.thresholds import RESOLVED, SMALL_PART

Size = Float[Array, " numbers"]
"""Numbers of a shape, in the order of `SURFACES`."""


class Touch(NamedTuple):
    """Rows of a pair of shapes in the axes of the first.

    Attributes:
        gap: g [m].
        way: distance of each row from its ends [m], negative beyond them, inf without ends.
        place: x, on the second shape [m].
        normal: n, of unit length.
    """

    gap: Float[Array, " rows"]
    way: Float[Array, " rows"]
    place: Float[Array, "rows d"]
    normal: Float[Array, "rows d"]


class Placed(NamedTuple):
    """Pose of the second shape in the axes of the first: place of its center and matrix of its
    axes.
    """

    place: Float[Array, " d"]
    axes: Float[Array, "d d"]

    @property
    def inverse(self) -> Placed:
        """Return the pose of the first in the axes of the second."""
        return Placed(-self.axes.T @ self.place, self.axes.T)


def balls_beside(nearest: Array, centers: Array, radius) -> Touch:
    """Return rows of balls around centers whose nearest points of a surface are given."""
    away = centers - nearest
    distance = length(away)
    normal = away / jnp.where(distance > 0, distance, 1.0)[..., None]
    way = jnp.full(distance.shape, jnp.inf)
    return Touch(distance - radius, way, centers - radius * normal, normal)


def join(*parts: Touch) -> Touch:
    """Return all rows of several parts, one after another."""
    return Touch(*(jnp.concatenate(x) for x in zip(*parts, strict=True)))


def swap(found: Touch, at: Placed) -> Touch:
    """Return rows of the second shape with the first as those of the first with the second."""
    place = at.place + found.place @ at.axes.T
    # the place is on the other shape, which touches it where the gap is closed
    return Touch(found.gap, found.way, place, -found.normal @ at.axes.T)


def box_corners(half: Array) -> Array:
    """Return the corners of a box, shape (2^d, d)."""
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(half))))
    return jnp.asarray(signs) * half


def cap_centers(size: Size, at: Placed) -> Array:
    """Return the centers of the caps of a capsule."""
    half = size[1] / 2 * at.axes[:, 2]
    return jnp.stack([at.place + half, at.place - half])


def crossing(p, a, reach, q, b, other, radius) -> Touch:
    """Return rows of segments p + s a, |s| ≤ reach, and q + t b, |t| ≤ other, where they cross. The
    second segment is a round bar.
    """
    w, c = q - p, jnp.sum(a * b, axis=-1)
    apart = 1 - c**2
    along, across = jnp.sum(w * a, axis=-1), jnp.sum(w * b, axis=-1)
    skew = apart > RESOLVED
    scale = jnp.where(skew, apart, 1.0)
    s, t = (along - c * across) / scale, (c * along - across) / scale
    way = jnp.minimum(reach - jnp.abs(s), other - jnp.abs(t))
    found = balls_beside(p + s[..., None] * a, q + t[..., None] * b, radius)
    return found._replace(way=jnp.where(skew, way, -1.0))


def balls_beside_box(half: Array, centers: Array, radius) -> Touch:
    """Return rows of balls near a box: with the nearest of faces, edges and corners."""
    beyond, side = jnp.abs(centers) - half, jnp.where(centers >= 0, 1.0, -1.0)
    outside = jnp.any(beyond > 0, axis=1)
    away = jnp.where(beyond > 0, beyond, 0.0)
    distance = length(away)
    deepest = jnp.arange(len(half)) == jnp.argmax(beyond, axis=1)[:, None]
    normal = side * jnp.where(
        outside[:, None], away / jnp.where(outside, distance, 1.0)[:, None], deepest
    )
    gap = jnp.where(outside, distance, jnp.max(beyond, axis=1)) - radius
    return Touch(gap, jnp.full(len(centers), jnp.inf), centers - radius * normal, normal)


def points_on_face(half: Array, corners: Array, center: Array, least) -> Touch:
    """Return rows of corners of a body with the face of a box from which the whole body is
    farthest.
    """
    d = len(half)
    side = jnp.where(center >= 0, 1.0, -1.0)
    depth = side * corners - half
    apart = jnp.min(depth, axis=0)
    # while a corner touches the face, all corners are in front of no other face
    face = np.arange(d) == jnp.argmax(apart)
    room = jnp.min(jnp.where(face, jnp.inf, half - jnp.abs(corners)), axis=1)
    separate = jnp.max(apart) + SMALL_PART * least
    gap = jnp.sum(jnp.where(face, depth, 0.0), axis=1)
    normal = jnp.broadcast_to(jnp.where(face, side, 0.0), corners.shape)
    return Touch(gap, jnp.minimum(room, separate), corners, normal)


def on_plane(size: Size, centers: Array, radius) -> Touch:
    """Return rows of balls above the plane, which ends at half of its lengths if it has any."""
    n = np.zeros(centers.shape[1])
    n[-1] = 1.0
    way = jnp.full(len(centers), jnp.inf)
    if len(size):
        way = jnp.min(size / 2 - jnp.abs(centers[:, :-1]), axis=1)
    normal = jnp.broadcast_to(n, centers.shape)
    return Touch(centers[:, -1] - radius, way, centers - radius * n, normal)


def edges_across(half: Array, place: Array, axis: Array, reach, radius) -> Touch:
    """Return rows of edges of a box where a round bar about place + t axis, |t| ≤ reach, crosses
    them.
    """
    # the axis along each edge, and its middle relative to half of the lengths
    signs = list(itertools.product(range(3), (1.0, -1.0), (1.0, -1.0)))
    along = np.array([x[0] for x in signs])
    middle = np.zeros((12, 3))
    for row, (i, one, two) in enumerate(signs):
        middle[row, (i + 1) % 3], middle[row, (i + 2) % 3] = one, two
    return crossing(middle * half, np.eye(3)[along], half[along], place, axis, reach, radius)
