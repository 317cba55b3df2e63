"""Gaps between pairs of shapes, as closed formulas of their relative pose.

    g(pose) ≥ 0,  n the direction in which the first pushes the second,  x the place of the contact

| pair | rows | computed from |
|---|---|---|
| plane with sphere, capsule, box | 1, 2, 8 (4 in the plane) | lowest points |
| sphere with sphere, capsule, box, curve | 1 | nearest point of the other |
| capsule with capsule | 5 | ends, and the crossing of both axes |
| box with capsule | 22 | caps, and the capsule across edges and corners |
| box with point | 1 | nearest face |
| box with box | 32 (8) | corners on faces, and edges that cross |
| cylinder with plane, sphere, capsule | 10, 1, 7 | `zwang.bodies.cylinder` |

Each row is an inequality that two bodies satisfy while they are apart, and has derivatives of any
order where it is closed: a flat face on another one closes several rows. Rows of corners and edges
end where another part of the shape takes over (`Touch.way`); round parts continue smoothly, with a
jump of the curvature only.

Reference: Ericson (2005), Real-Time Collision Detection, Morgan Kaufmann, chapter 5 (nearest
    points, separating axes).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.cylinder import cylinder_capsule, cylinder_sphere, plane_cylinder
from zwang.bodies.features import (
    Placed,
    Size,
    Touch,
    balls_beside,
    balls_beside_box,
    box_corners,
    cap_centers,
    crossing,
    edges_across,
    join,
    on_plane,
    points_on_face,
    swap,
)
from zwang.equations.constraint.nonideal import length
from zwang.thresholds import RESOLVED, SMALL_PART


def _plane_sphere(first, second, at):
    return on_plane(first, at.place[None], second[0])


def _plane_capsule(first, second, at):
    return on_plane(first, cap_centers(second, at), second[0])


def _plane_box(first, second, at):
    return on_plane(first, at.place + box_corners(second / 2) @ at.axes.T, 0.0)


def _sphere_sphere(first, second, at):
    found = balls_beside(jnp.zeros((1, len(at.place))), at.place[None], second[0])
    return found._replace(gap=found.gap - first[0])


def _capsule_balls(size: Size, centers: Array, radius) -> Touch:
    along = jnp.clip(centers[:, 2], -size[1] / 2, size[1] / 2)
    nearest = jnp.zeros(centers.shape).at[:, 2].set(along)
    found = balls_beside(nearest, centers, radius)
    return found._replace(gap=found.gap - size[0])


def _capsule_sphere(first, second, at):
    return _capsule_balls(first, at.place[None], second[0])


def _capsule_capsule(first, second, at):
    back = at.inverse
    own = _capsule_balls(first, cap_centers(second, at), second[0])
    others = swap(_capsule_balls(second, cap_centers(first, back), first[0]), at)
    z = jnp.array([0.0, 0.0, 1.0])
    crossed = crossing(
        jnp.zeros(3), z, first[1] / 2, at.place, at.axes[:, 2], second[1] / 2, second[0]
    )
    crossed = crossed._replace(gap=crossed.gap - first[0])
    return join(own, others, jax.tree.map(lambda x: x[None], crossed))


def _box_sphere(first, second, at):
    return balls_beside_box(first / 2, at.place[None], second[0])


def _box_point(first, second, at):
    return points_on_face(first / 2, at.place[None], at.place, jnp.min(first))


def _box_box(first, second, at):
    a, b, back = first / 2, second / 2, at.inverse
    least = jnp.minimum(jnp.min(first), jnp.min(second))
    own = points_on_face(a, at.place + box_corners(b) @ at.axes.T, at.place, least)
    others = points_on_face(b, back.place + box_corners(a) @ back.axes.T, back.place, least)
    found = join(own, swap(others, at))
    return found if len(a) == 2 else join(found, _edges(a, b, at, least))


def _edges(a: Array, b: Array, at: Placed, least) -> Touch:
    """Return rows of two boxes whose edges cross: each of the four edges around the face that is
    turned most toward the other box, with the four of the other box.
    """
    e, f = jnp.eye(3), at.axes.T
    across = jnp.cross(e[:, None], f[None])
    size = length(across)
    skew = size**2 > RESOLVED
    across = across / jnp.where(skew, size, 1.0)[..., None]
    across = jnp.where(across @ at.place >= 0, 1.0, -1.0)[..., None] * across
    # distance along a direction between the farthest planes that bound both boxes
    apart = across @ at.place - jnp.abs(across) @ a - jnp.abs(across @ at.axes) @ b
    best = jnp.argmax(jnp.where(skew, apart, -jnp.inf))
    n = across.reshape(9, 3)[best]
    i, p = _around(a, e, n)
    j, q = _around(b, f, -n)
    first, second = (x.ravel() for x in np.mgrid[:4, :4])
    i, j, p, q = i[first], j[second], p[first], at.place + q[second]
    cross = crossing(p, e[i], a[i], q, f[j], b[j], 0.0)
    normal = across[i, j]
    separate = jnp.where(skew, apart + SMALL_PART * least, -1.0)[i, j]
    gap = jnp.sum(normal * (q - p), axis=1)
    return Touch(gap, jnp.minimum(cross.way, separate), cross.place, normal)


def _around(half: Array, axes: Array, n: Array) -> tuple[Array, Array]:
    """Return the four edges around the face of a box whose outward normal is closest to n: the axis
    and the middle of each.
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
    caps = balls_beside_box(half, cap_centers(second, at), second[0])
    corners = box_corners(half)
    s = jnp.clip((corners - at.place) @ axis, -reach, reach)
    beside = balls_beside(corners, at.place + s[:, None] * axis, second[0])
    across = edges_across(half, at.place, axis, reach, second[0])
    return join(caps, beside, across)


PAIRS: dict[tuple[str, str], Callable[[Size, Size, Placed], Touch]] = {
    ("plane", "sphere"): _plane_sphere,
    ("plane", "capsule"): _plane_capsule,
    ("plane", "box"): _plane_box,
    ("plane", "cylinder"): plane_cylinder,
    ("sphere", "sphere"): _sphere_sphere,
    ("capsule", "sphere"): _capsule_sphere,
    ("capsule", "capsule"): _capsule_capsule,
    ("box", "sphere"): _box_sphere,
    ("box", "point"): _box_point,
    ("box", "capsule"): _box_capsule,
    ("box", "box"): _box_box,
    ("cylinder", "sphere"): cylinder_sphere,
    ("cylinder", "capsule"): cylinder_capsule,
}
"""Rows of each pair of shapes, `(size, size, pose of the second in the first) → Touch`. A point is
a sphere of radius zero unless it has a pair of its own."""


def known_pair(first: str, second: str) -> bool:
    """Return whether two kinds of shapes, in either order, have rows."""
    return _named(first, second) is not None or _named(second, first) is not None


def rows_of(kinds: tuple[str, str], numbers: tuple[int, int], d: int = 3) -> int:
    """Return the number of rows of two shapes, in the plane or in space, from the number of entries
    of their sizes.
    """
    shape = lambda *n: jax.ShapeDtypeStruct(n, jnp.float64)
    sizes = shape(numbers[0]), shape(numbers[1])
    made = jax.eval_shape(
        lambda *x: touch(kinds, *x), sizes, shape(d), shape(*() if d == 2 else (3, 3))
    )
    return len(made.gap)


def touch(kinds: tuple[str, str], sizes: tuple[Size, Size], place: Array, rotation: Array) -> Touch:
    """Return the rows of two shapes.

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
    return swap(PAIRS[pair](b, a, at.inverse), at)


def _named(first: str, second: str) -> tuple[str, str] | None:
    """Return the pair of `PAIRS` for two kinds in this order."""
    round_one = "sphere" if second == "point" and first != "sphere" else second
    return next((x for x in ((first, second), (first, round_one)) if x in PAIRS), None)


def sliding(
    found: Touch, at: tuple[Array, Array], rate: tuple[Array, Array]
) -> Float[Array, "rows tangents"]:
    """Return the velocity with which the second body slides on the first at each row, along one
    tangent in the plane and along two in space [m/s].

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
"""A direction that a contact normal has by chance only: (1, 2, −3)/√14."""


def _tangents(n: Array) -> Array:
    """Return two directions perpendicular to n that are as smooth as n: the images of two axes
    under the reflection that maps `ODD` to n, shape (2, 3).
    """
    w = n - ODD
    mirror = jnp.eye(3) - 2 * jnp.outer(w, w) / (w @ w)
    first = np.cross(ODD, [0.0, 0.0, 1.0])
    first = first / np.linalg.norm(first)
    return jnp.stack([mirror @ first, mirror @ np.cross(ODD, first)])
