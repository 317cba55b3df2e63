"""Where two shapes may touch: gaps that are closed formulas of their relative pose.

    g(pose) ≥ 0,  n the direction in which the first pushes the second,  x the place of the contact

| pair | rows | by |
|---|---|---|
| plane with sphere, capsule, box, cylinder | 1, 2, 8 (4 in the plane), 2 | lowest points |
| sphere with sphere, capsule, box, cylinder, curve | 1 | nearest point of the other |
| capsule with capsule | 5 | ends, and where they cross |
| box with capsule | 22 | caps, and the capsule across edges and corners |
| box with point | 1 | nearest face |
| box with box | 32 (8) | corners on faces, and edges that cross |

Each row by itself is an inequality that two bodies keep while they are apart, and has derivatives
of any order where it is closed: a flat face that lies on another one closes several rows. Rows of
corners and edges end where another part of the shape takes over (`Touch.way`); what is round goes
on smoothly, with a step in the curvature alone.

Reference: Ericson (2005), Real-Time Collision Detection, Morgan Kaufmann, chapter 5 (nearest
    points, separating axes).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.equations.constraint.nonideal import length
from zwang.thresholds import RESOLVED, SMALL_PART

Size = Float[Array, " numbers"]
"""Numbers of a shape, as `SURFACES` names them."""


class Touch(NamedTuple):
    """Rows of a pair of shapes in the axes of the first.

    Attributes:
        gap: g [m].
        way: how far each row is within its ends [m], inf without any.
        place: x, on the second shape [m].
        normal: n, of unit length.
    """

    gap: Float[Array, " rows"]
    way: Float[Array, " rows"]
    place: Float[Array, "rows d"]
    normal: Float[Array, "rows d"]


class Placed(NamedTuple):
    """The second shape in the axes of the first: place of its center and matrix of its axes."""

    place: Float[Array, " d"]
    axes: Float[Array, "d d"]

    @property
    def inverse(self) -> Placed:
        """The first in the axes of the second."""
        return Placed(-self.axes.T @ self.place, self.axes.T)


def _apart(nearest: Array, centers: Array, radius) -> Touch:
    """Balls around centers beside the nearest points of a surface."""
    away = centers - nearest
    distance = length(away)
    normal = away / jnp.where(distance > 0, distance, 1.0)[..., None]
    way = jnp.full(distance.shape, jnp.inf)
    return Touch(distance - radius, way, centers - radius * normal, normal)


def _joined(*parts: Touch) -> Touch:
    return Touch(*(jnp.concatenate(x) for x in zip(*parts, strict=True)))


def _turned(found: Touch, at: Placed) -> Touch:
    """Rows of the second shape beside the first, as those of the first beside the second."""
    place = at.place + found.place @ at.axes.T
    # the place is on the other shape, which touches it where the gap is closed
    return Touch(found.gap, found.way, place, -found.normal @ at.axes.T)


def _corners(half: Array) -> Array:
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(half))))
    return jnp.asarray(signs) * half


def _on_plane(size: Size, centers: Array, radius) -> Touch:
    """Balls above the plane, which ends at half of its lengths if it has any."""
    n = np.zeros(centers.shape[1])
    n[-1] = 1.0
    way = jnp.full(len(centers), jnp.inf)
    if len(size):
        way = jnp.min(size / 2 - jnp.abs(centers[:, :-1]), axis=1)
    normal = jnp.broadcast_to(n, centers.shape)
    return Touch(centers[:, -1] - radius, way, centers - radius * n, normal)


def _ends(size: Size, at: Placed) -> Array:
    """Centers of the caps of a capsule."""
    half = size[1] / 2 * at.axes[:, 2]
    return jnp.stack([at.place + half, at.place - half])


def _plane_sphere(first, second, at):
    return _on_plane(first, at.place[None], second[0])


def _plane_capsule(first, second, at):
    return _on_plane(first, _ends(second, at), second[0])


def _plane_box(first, second, at):
    return _on_plane(first, at.place + _corners(second / 2) @ at.axes.T, 0.0)


def _plane_cylinder(first, second, at):
    axis = at.axes[:, 2]
    # the part of the axis along the plane, without the cancellation in 1 − (axis_z)²
    square = axis[0] ** 2 + axis[1] ** 2
    tilt = jnp.sqrt(jnp.where(square > RESOLVED**2, square, jnp.nan))
    down = jnp.stack([axis[2] * axis[0], axis[2] * axis[1], -square]) / tilt
    return _on_plane(first, _ends(second, at) + second[0] * down, 0.0)


def _sphere_sphere(first, second, at):
    found = _apart(jnp.zeros((1, len(at.place))), at.place[None], second[0])
    return found._replace(gap=found.gap - first[0])


def _capsule_balls(size: Size, centers: Array, radius) -> Touch:
    along = jnp.clip(centers[:, 2], -size[1] / 2, size[1] / 2)
    nearest = jnp.zeros(centers.shape).at[:, 2].set(along)
    found = _apart(nearest, centers, radius)
    return found._replace(gap=found.gap - size[0])


def _capsule_sphere(first, second, at):
    return _capsule_balls(first, at.place[None], second[0])


def _crossing(p, a, reach, q, b, other, radius) -> Touch:
    """Segments p + s a, |s| ≤ reach, and q + t b, |t| ≤ other, with b round, where they cross."""
    w, c = q - p, jnp.sum(a * b, axis=-1)
    apart = 1 - c**2
    along, across = jnp.sum(w * a, axis=-1), jnp.sum(w * b, axis=-1)
    skew = apart > RESOLVED
    scale = jnp.where(skew, apart, 1.0)
    s, t = (along - c * across) / scale, (c * along - across) / scale
    way = jnp.minimum(reach - jnp.abs(s), other - jnp.abs(t))
    found = _apart(p + s[..., None] * a, q + t[..., None] * b, radius)
    return found._replace(way=jnp.where(skew, way, -1.0))


def _capsule_capsule(first, second, at):
    back = at.inverse
    own = _capsule_balls(first, _ends(second, at), second[0])
    others = _turned(_capsule_balls(second, _ends(first, back), first[0]), at)
    z = jnp.array([0.0, 0.0, 1.0])
    crossed = _crossing(
        jnp.zeros(3), z, first[1] / 2, at.place, at.axes[:, 2], second[1] / 2, second[0]
    )
    crossed = crossed._replace(gap=crossed.gap - first[0])
    return _joined(own, others, jax.tree.map(lambda x: x[None], crossed))


def _box_balls(half: Array, centers: Array, radius) -> Touch:
    """Round bodies beside a box: by the nearest of faces, edges and corners."""
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


def _box_sphere(first, second, at):
    return _box_balls(first / 2, at.place[None], second[0])


def _cylinder_sphere(first, second, at):
    across, along = length(at.place[:2]), at.place[2]
    half = jnp.stack([first[0], first[1] / 2])
    found = _box_balls(half, jnp.stack([across, along])[None], second[0])
    outward = at.place[:2] / jnp.where(across > 0, across, 1.0)
    normal = jnp.concatenate([found.normal[0, 0] * outward, found.normal[0, 1:]])
    return found._replace(place=(at.place - second[0] * normal)[None], normal=normal[None])


def _on_face(half: Array, corners: Array, center: Array, least) -> Touch:
    """Corners of a body beside that face of a box that has the whole body farthest before it."""
    d = len(half)
    side = jnp.where(center >= 0, 1.0, -1.0)
    depth = side * corners - half
    apart = jnp.min(depth, axis=0)
    # while a corner touches the face, no other face has all corners before it
    face = np.arange(d) == jnp.argmax(apart)
    room = jnp.min(jnp.where(face, jnp.inf, half - jnp.abs(corners)), axis=1)
    separate = jnp.max(apart) + SMALL_PART * least
    gap = jnp.sum(jnp.where(face, depth, 0.0), axis=1)
    normal = jnp.broadcast_to(jnp.where(face, side, 0.0), corners.shape)
    return Touch(gap, jnp.minimum(room, separate), corners, normal)


def _box_point(first, second, at):
    return _on_face(first / 2, at.place[None], at.place, jnp.min(first))


def _box_box(first, second, at):
    a, b, back = first / 2, second / 2, at.inverse
    least = jnp.minimum(jnp.min(first), jnp.min(second))
    own = _on_face(a, at.place + _corners(b) @ at.axes.T, at.place, least)
    others = _on_face(b, back.place + _corners(a) @ back.axes.T, back.place, least)
    found = _joined(own, _turned(others, at))
    return found if len(a) == 2 else _joined(found, _edges(a, b, at, least))


def _edges(a: Array, b: Array, at: Placed, least) -> Touch:
    """Edges of two boxes that cross: the four around the face that looks most at the other box,
    each with the four of that one.
    """
    e, f = jnp.eye(3), at.axes.T
    across = jnp.cross(e[:, None], f[None])
    size = length(across)
    skew = size**2 > RESOLVED
    across = across / jnp.where(skew, size, 1.0)[..., None]
    across = jnp.where(across @ at.place >= 0, 1.0, -1.0)[..., None] * across
    # the way between the farthest planes across a direction that hold all of either box
    apart = across @ at.place - jnp.abs(across) @ a - jnp.abs(across @ at.axes) @ b
    best = jnp.argmax(jnp.where(skew, apart, -jnp.inf))
    n = across.reshape(9, 3)[best]
    i, p = _around(a, e, n)
    j, q = _around(b, f, -n)
    first, second = (x.ravel() for x in np.mgrid[:4, :4])
    i, j, p, q = i[first], j[second], p[first], at.place + q[second]
    cross = _crossing(p, e[i], a[i], q, f[j], b[j], 0.0)
    normal = across[i, j]
    separate = jnp.where(skew, apart + SMALL_PART * least, -1.0)[i, j]
    gap = jnp.sum(normal * (q - p), axis=1)
    return Touch(gap, jnp.minimum(cross.way, separate), cross.place, normal)


def _around(half: Array, axes: Array, n: Array) -> tuple[Array, Array]:
    """The four edges around the face of a box that looks most along n: the axis and the middle of
    each.
    """
    along = axes @ n
    face = jnp.argmax(jnp.abs(along))
    side = jnp.where(along[face] >= 0, 1.0, -1.0) * half[face] * axes[face]
    others = (face + np.array([1, 1, 2, 2])) % 3
    beside = (face + np.array([2, 2, 1, 1])) % 3
    reach = np.array([1.0, -1.0, 1.0, -1.0]) * half[beside]
    return others, side + reach[:, None] * axes[beside]


def _box_capsule(first, second, at):
    half, axis, reach = first / 2, at.axes[:, 2], second[1] / 2
    caps = _box_balls(half, _ends(second, at), second[0])
    corners = _corners(half)
    s = jnp.clip((corners - at.place) @ axis, -reach, reach)
    beside = _apart(corners, at.place + s[:, None] * axis, second[0])
    signs = list(itertools.product(range(3), (1.0, -1.0), (1.0, -1.0)))
    along = np.array([x[0] for x in signs])
    middle = np.zeros((12, 3))
    for row, (i, one, two) in enumerate(signs):
        middle[row, (i + 1) % 3], middle[row, (i + 2) % 3] = one, two
    across = _crossing(
        middle * half, np.eye(3)[along], half[along], at.place, axis, reach, second[0]
    )
    return _joined(caps, beside, across)


PAIRS: dict[tuple[str, str], Callable[[Size, Size, Placed], Touch]] = {
    ("plane", "sphere"): _plane_sphere,
    ("plane", "capsule"): _plane_capsule,
    ("plane", "box"): _plane_box,
    ("plane", "cylinder"): _plane_cylinder,
    ("sphere", "sphere"): _sphere_sphere,
    ("capsule", "sphere"): _capsule_sphere,
    ("capsule", "capsule"): _capsule_capsule,
    ("box", "sphere"): _box_sphere,
    ("box", "point"): _box_point,
    ("box", "capsule"): _box_capsule,
    ("box", "box"): _box_box,
    ("cylinder", "sphere"): _cylinder_sphere,
}
"""Rows of each pair of shapes, `(size, size, pose of the second in the first) → Touch`; a point
is a sphere without radius where it has no pair of its own."""


def known_pair(first: str, second: str) -> bool:
    """Whether two kinds of shapes, in either order, have rows."""
    return _named(first, second) is not None or _named(second, first) is not None


def touch(kinds: tuple[str, str], sizes: tuple[Size, Size], place: Array, rotation: Array) -> Touch:
    """The rows of two shapes.

    Args:
        kinds: of the first and second shape.
        sizes: their numbers.
        place: of the second in the axes of the first [m], shape (d,).
        rotation: of the axes of the second in those of the first: a matrix (3, 3), or an angle in
            the plane [rad].
    """
    if jnp.ndim(rotation) == 0:
        c, s = jnp.cos(rotation), jnp.sin(rotation)
        rotation = jnp.stack([jnp.stack([c, -s]), jnp.stack([s, c])])
    at = Placed(place, rotation)
    a, b = (jnp.zeros(1) if x == "point" else y for x, y in zip(kinds, sizes, strict=True))
    if (pair := _named(*kinds)) is not None:
        return PAIRS[pair](a, b, at)
    pair = _named(*kinds[::-1])
    assert pair is not None
    return _turned(PAIRS[pair](b, a, at.inverse), at)


def _named(first: str, second: str) -> tuple[str, str] | None:
    """The pair of `PAIRS` that serves two kinds in this order."""
    round_one = "sphere" if second == "point" and first != "sphere" else second
    return next((x for x in ((first, second), (first, round_one)) if x in PAIRS), None)


def sliding(
    found: Touch, at: tuple[Array, Array], rate: tuple[Array, Array]
) -> Float[Array, "rows tangents"]:
    """Velocity with which the second body slides on the first at each row, along one tangent in the
    plane and along two in space [m/s].

    Args:
        found: rows at this pose.
        at, rate: place and rotation of the second in the axes of the first, and their rates.
    """
    (place, rotation), (moves, turns), n = at, rate, found.normal
    arm = found.place - place
    if n.shape[1] == 2:
        v = moves + turns * jnp.stack([-arm[:, 1], arm[:, 0]], axis=1)
        return (n[:, 1] * v[:, 0] - n[:, 0] * v[:, 1])[:, None]
    v = moves + arm @ (turns @ rotation.T).T
    return jnp.einsum("rij,rj->ri", jax.vmap(_tangents)(n), v)


ODD = np.array([0.2672612419124244, 0.5345224838248488, -0.8017837257372732])
"""A direction that no contact has but by chance: (1, 2, −3)/√14."""


def _tangents(n: Array) -> Array:
    """Two directions at right angles to n, as smooth as n: the axes of a mirror that takes `ODD` to
    n, shape (2, 3)."""
    w = n - ODD
    mirror = jnp.eye(3) - 2 * jnp.outer(w, w) / (w @ w)
    first = np.cross(ODD, [0.0, 0.0, 1.0])
    first = first / np.linalg.norm(first)
    return jnp.stack([mirror @ first, mirror @ np.cross(ODD, first)])
