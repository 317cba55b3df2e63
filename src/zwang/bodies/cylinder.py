"""Rows of cylinders that touch: their rims, their ends, and their round sides.

| with | rows | by |
|---|---|---|
| plane | 10 | the lowest point of each rim, and 8 places of a rim that lies flat |
| sphere | 1 | nearest point |
| capsule | 7 | its caps, both axes where they cross, rims beside its axis |
| cylinder | 33 | axes that cross, rims beside the other's axis, on its ends, and beside its rims |
| box | 46 | rims on its faces, its corners, and its edges across the side and the rims |

A rim is a circle. Of a line the nearest place t on it is a root of

    f(t) = (ρ − r) ρ′ + z z′,    ρ the distance from the axis, z that from the rim's plane

whose slope rises on either side of the foot of the axis, where ρ is least: from the circle itself
Newton's iteration falls to the root monotonically. Its derivatives are those of the implicit
function, of any order.

A rim that lies flat touches a plane all around. The places that hold it are the corners of a
polygon around the rim, whose sides touch it in the directions of the plane's axes and every 45°: in
these directions the cylinder tips exactly at the rim, between them up to 8 % later. Once it tips,
the lowest point carries it; the places on the other side end its fall back.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.curve import nearest_parameter
from zwang.bodies.features import (
    Placed,
    Size,
    Touch,
    balls_beside,
    balls_beside_box,
    box_corners,
    box_edges,
    cap_centers,
    crossing,
    edges_across,
    join,
    on_plane,
    swap,
)
from zwang.compile.derivative import CustomDerivative
from zwang.equations.constraint.nonideal import length
from zwang.thresholds import RESOLVED, ROOT_OF_ROUND_OFF, SMALL_PART

FLAT = ROOT_OF_ROUND_OFF
"""Angle up to which a rim lies flat [rad]: the direction of its lowest point is known to 1e-8."""
AROUND = 8
"""Places that hold a flat rim."""
TO_ROOT = 12
"""Steps of Newton's iteration along a line beside a rim: it doubles its digits once it is within a
third of the radius."""
SIDES = np.array([1.0, -1.0])


def cylinder_sphere(first: Size, second: Size, at: Placed) -> Touch:
    return _balls(first, at.place[None], second[0])


def _balls(size: Size, centers: Array, radius) -> Touch:
    """Balls beside a cylinder: by the nearest of its side, ends and rims."""
    across, half = length(centers[:, :2]), jnp.stack([size[0], size[1] / 2])
    found = balls_beside_box(half, jnp.stack([across, centers[:, 2]], axis=1), radius)
    outward = centers[:, :2] / jnp.where(across > 0, across, 1.0)[:, None]
    normal = jnp.concatenate([found.normal[:, :1] * outward, found.normal[:, 1:]], axis=1)
    return found._replace(place=centers - radius * normal, normal=normal)


def plane_cylinder(first: Size, second: Size, at: Placed) -> Touch:
    points, way = _rim_points(second, at)
    found = on_plane(first, points, 0.0)
    return found._replace(way=jnp.minimum(found.way, way))


def _rim_points(size: Size, at: Placed) -> tuple[Array, Array]:
    """Places of a cylinder that a plane z = 0 below it may carry, and how far each is one."""
    r, axis, half = size[0], at.axes[:, 2], size[1] / 2
    # the part of the axis along the plane, without the cancellation in 1 − (axis_z)²
    square = axis[0] ** 2 + axis[1] ** 2
    leans = square > (FLAT / 2) ** 2
    tilt = jnp.sqrt(jnp.where(leans, square, 1.0))
    down = jnp.stack([axis[2] * axis[0], axis[2] * axis[1], -square]) / tilt
    down, tilt = jnp.where(leans, down, 0.0), jnp.where(leans, tilt, 0.0)
    low = at.place + SIDES[:, None] * half * axis + r * down
    angles = (np.arange(AROUND) + 0.5) * 2 * np.pi / AROUND
    around = np.stack([np.cos(angles), np.sin(angles), np.zeros(AROUND)], axis=1)
    end = at.place - jnp.where(axis[2] >= 0, half, -half) * axis
    outward = around - (around @ axis)[:, None] * axis
    flat = end + r / np.cos(np.pi / AROUND) * outward
    # the side that the cylinder does not lean to is there at any tilt: it ends a fall to the plane
    still = jnp.maximum(FLAT - tilt, -(around @ down))
    way = jnp.concatenate([jnp.broadcast_to(tilt - FLAT / 2, 2), still])
    return jnp.concatenate([low, flat]), r * way


def cylinder_capsule(first: Size, second: Size, at: Placed) -> Touch:
    caps = _balls(first, cap_centers(second, at), second[0])
    return join(caps, _sides(first, second, at), _rims_beside_bar(first, second, at))


def _sides(first: Size, second: Size, at: Placed) -> Touch:
    """A row of two round bars whose axes cross."""
    z, axis = jnp.array([0.0, 0.0, 1.0]), at.axes[:, 2]
    found = crossing(jnp.zeros(3), z, first[1] / 2, at.place, axis, second[1] / 2, second[0])
    found = found._replace(gap=found.gap - first[0])
    return jax.tree.map(lambda x: x[None], found)


def _rims_beside_bar(first: Size, second: Size, at: Placed) -> Touch:
    """The rims of a cylinder beside a round bar, two places of each."""
    own = Placed(jnp.zeros(3), jnp.eye(3))
    t, circle, way = _along_rims(first, own, at.place, at.axes[:, 2])
    line = at.place + t[..., None] * at.axes[:, 2]
    found = balls_beside(circle, line, second[0])
    found = found._replace(way=jnp.minimum(way, second[1] / 2 - jnp.abs(t)))
    return Touch(*(x.reshape(4, *x.shape[2:]) for x in found))


def _along_rims(size: Size, at: Placed, q, b) -> tuple[Array, Array, Array]:
    """Places of lines q + t b beside the rims of a cylinder that are nearest to them.

    Returns:
        t and the place on the rim, for each of two rims and for each of two directions from the
        foot of the axis on the line; and 1 where there is one, else −1.
    """
    r, a = size[0], at.axes[:, 2]
    centers = at.place + SIDES[:, None] * size[1] / 2 * a
    w = (q[..., None, :] - centers)[..., None, :]
    b = jnp.broadcast_to(b, q.shape)[..., None, None, :]
    cosine = jnp.sum(a * b, axis=-1)
    across = w - jnp.sum(w * a, axis=-1)[..., None] * a
    skew = 1 - cosine**2
    crosses = skew > RESOLVED
    scale = jnp.where(crosses, skew, 1.0)
    # the foot of the axis, or of the rim's plane on a line along the axis
    along = jnp.where(crosses[..., None], across, w - across)
    foot = -jnp.sum(along * b, axis=-1) / scale
    beside = length(across + foot[..., None] * (b - cosine[..., None] * a))
    inside = crosses & (beside < r)
    root = jnp.sqrt(jnp.where(inside, (r**2 - beside**2) / scale, 1.0))
    start = foot + SIDES * jnp.where(inside, root, 0.0)
    w, b = (jnp.broadcast_to(x, (*start.shape, 3)) for x in (w, b))
    t = _nearest_to_rim(start, r, w, a, b)
    off, slope = _off_rim(t, r, w, a, b)
    there = (slope > 0) & (jnp.abs(off) < RESOLVED * r)
    there &= jnp.where(inside, SIDES * (t - foot) >= 0, SIDES > 0)
    outward = _outward(t, w, a, b)
    circle = centers[:, None] + r * outward
    return t, circle, jnp.where(there, 1.0, -1.0) * r


def _outward(t, w, a, b) -> Array:
    """The direction from the axis to the places of lines, of unit length."""
    x = w + t[..., None] * b
    x = x - jnp.sum(x * a, axis=-1)[..., None] * a
    distance = length(x)
    return x / jnp.where(distance > 0, distance, 1.0)[..., None]


def _off_rim(t, r, w, a, b) -> tuple[Array, Array]:
    """f, which is zero at the nearest place, and its slope."""
    x, cosine = w + t[..., None] * b, jnp.sum(a * b, axis=-1)
    z = jnp.sum(x * a, axis=-1)
    x = x - z[..., None] * a
    distance = length(x)
    share = r / jnp.where(distance > 0, distance, r)
    moves = jnp.sum(x * b, axis=-1)
    turns = moves / jnp.where(distance > 0, distance, 1.0)
    off = (1 - share) * moves + z * cosine
    return off, 1 - share * (1 - cosine**2 - turns**2)


@CustomDerivative
def _nearest_to_rim(start, r, w, a, b) -> Float[Array, ...]:
    """The root of f that Newton's iteration finds from a start."""

    def closer(_, t):
        off, slope = _off_rim(t, r, w, a, b)
        return t - off / jnp.where(slope > RESOLVED, slope, 1.0)

    return jax.lax.fori_loop(0, TO_ROOT, closer, start)


@_nearest_to_rim.def_jvp
def _moved(primals, tangents):
    t = _nearest_to_rim(*primals)
    zero = lambda dx, x: jnp.zeros_like(x) if dx is None else dx
    given = tuple(map(zero, tangents[1:], primals[1:]))
    moved = jax.jvp(lambda *x: _off_rim(t, *x)[0], primals[1:], given)[1]
    slope = _off_rim(t, *primals[1:])[1]
    return t, -moved / jnp.where(slope > RESOLVED, slope, 1.0)


def cylinder_cylinder(first: Size, second: Size, at: Placed) -> Touch:
    back = at.inverse
    round_parts = join(
        _sides(first, second, at),
        _rims_beside_bar(first, second, at),
        swap(_rims_beside_bar(second, first, back), at),
    )
    n, z = round_parts.normal, jnp.array([0.0, 0.0, 1.0])
    reach = _reach(first, z, n) + _reach(second, at.axes[:, 2], n)
    return join(
        _separating(round_parts, n @ at.place - reach, _least(first, second)),
        _on_end(first, second, at),
        swap(_on_end(second, first, back), at),
        _rims_across(first, second, at),
    )


def _separating(found: Touch, apart: Array, least) -> Touch:
    """Rows whose normals separate two shapes, by how far these are apart along them: what lies
    inside the side of a cylinder just before its end touches nothing.
    """
    return found._replace(way=jnp.minimum(found.way, apart + SMALL_PART * least))


def _on_end(first: Size, second: Size, at: Placed) -> Touch:
    """Rims of the second cylinder on the end of the first that looks at it."""
    up = jnp.stack([1.0, 1.0, jnp.where(at.place[2] >= 0, 1.0, -1.0)])
    height = jnp.array([0.0, 0.0, 1.0]) * first[1] / 2
    points, way = _rim_points(second, Placed(up * at.place - height, up[:, None] * at.axes))
    found = on_plane(jnp.zeros(0), points, 0.0)
    # two flat rims hold each other by their polygons, which end alike where both are equal
    wide = np.append(np.ones(2), np.full(AROUND, (1 + SMALL_PART) / np.cos(np.pi / AROUND)))
    room = first[0] * wide - length(points[:, :2])
    separate = jnp.min(found.gap[:2]) + SMALL_PART * _least(first, second)
    way = jnp.minimum(jnp.minimum(way, room), separate)
    return Touch(found.gap, way, (points + height) * up, found.normal * up)


def _least(first: Size, second: Size) -> Array:
    """The least length of two cylinders."""
    return jnp.min(jnp.stack([2 * first[0], first[1], 2 * second[0], second[1]]))


def _reach(size: Size, axis: Array, n: Array) -> Array:
    """How far a cylinder reaches along directions from its center [m]."""
    along = n @ axis
    return size[1] / 2 * jnp.abs(along) + size[0] * length(n - along[..., None] * axis)


def _rims_across(first: Size, second: Size, at: Placed) -> Touch:
    """Rims of both cylinders that cross."""
    z = jnp.array([0.0, 0.0, 1.0])
    one, other = (x.ravel() for x in np.meshgrid(SIDES, SIDES))
    centers = at.place + other[:, None] * second[1] / 2 * at.axes[:, 2]
    axis = at.axes[:, 2]

    def row(height, center):
        p = first[0], height, second[0], center, axis
        ends = jnp.zeros(()), jnp.asarray(2 * np.pi)
        s = nearest_parameter(_beside_rim, True, jnp.zeros(2), p, *ends)
        return s, _around(s, first[0], height)

    s, circle = jax.vmap(row)(one * first[1] / 2, centers)
    w = circle - centers
    outward = _outward(jnp.zeros(4), w, axis, w)
    tangents = jnp.stack([-jnp.sin(s), jnp.cos(s), jnp.zeros(4)], axis=1)
    n, skew = _across(tangents, jnp.cross(axis, outward), circle)
    place = centers + second[0] * outward
    separate = n @ at.place - _reach(first, z, n) - _reach(second, axis, n)
    way = jnp.where(skew, separate + SMALL_PART * _least(first, second), -1.0)
    return Touch(jnp.sum(n * (place - circle), axis=1), way, place, n)


def _around(s, r, height) -> Array:
    return jnp.stack([r * jnp.cos(s), r * jnp.sin(s), height * jnp.ones_like(s)])


def _beside_rim(s, p) -> Array:
    """The place of a rim beside another one: ρ − r and z."""
    r, height, radius, center, axis = p
    x = _around(s, r, height) - center
    z = x @ axis
    return jnp.stack([length(x - z * axis) - radius, z])


def _across(tangents: Array, others: Array, outward: Array) -> tuple[Array, Array]:
    """The direction at right angles to both of pairs of directions, to the outside; whether they
    are not parallel.
    """
    n = jnp.cross(tangents, others)
    size = length(n)
    skew = size**2 > RESOLVED
    n = n / jnp.where(skew, size, 1.0)[..., None]
    return jnp.where(jnp.sum(n * outward, axis=-1) >= 0, 1.0, -1.0)[..., None] * n, skew


def box_cylinder(first: Size, second: Size, at: Placed) -> Touch:
    half, axis, back = first / 2, at.axes[:, 2], at.inverse
    least = jnp.minimum(jnp.min(first), _least(second, second))
    across = edges_across(half, at.place, axis, second[1] / 2, second[0])
    n = across.normal
    reach = jnp.abs(n) @ half + _reach(second, axis, n)
    return join(
        _on_face(half, second, at, least),
        swap(_corners(second, half, back, least), at),
        _separating(across, n @ at.place - reach, least),
        _rims_across_edges(half, second, at, least),
    )


def _on_face(half: Array, size: Size, at: Placed, least) -> Touch:
    """Rims of a cylinder on that face of a box that has all of it farthest before it."""
    side = jnp.where(at.place >= 0, 1.0, -1.0)
    apart = side * at.place - half - _reach(size, at.axes[:, 2], jnp.eye(3))
    face = jnp.argmax(apart)
    order = (face + np.array([1, 2, 3])) % 3
    turn = jnp.eye(3)[order] * jnp.stack([1.0, 1.0, side[face]])[:, None]
    height = jnp.array([0.0, 0.0, 1.0]) * half[face]
    points, way = _rim_points(size, Placed(turn @ at.place - height, turn @ at.axes))
    found = on_plane(2 * half[order[:2]], points, 0.0)
    way = jnp.minimum(jnp.minimum(found.way, way), jnp.max(apart) + SMALL_PART * least)
    return Touch(found.gap, way, (points + height) @ turn, found.normal @ turn)


def _corners(size: Size, half: Array, at: Placed, least) -> Touch:
    """Corners of a box on the side or the end of a cylinder that is nearest to each."""
    points = at.place + box_corners(half) @ at.axes.T
    distance, up = length(points[:, :2]), jnp.where(points[:, 2] >= 0, 1.0, -1.0)
    beyond = jnp.stack([distance - size[0], jnp.abs(points[:, 2]) - size[1] / 2])
    on_end = beyond[1] > beyond[0]
    outward = points[:, :2] / jnp.where(distance > 0, distance, 1.0)[:, None]
    sideways = jnp.concatenate([outward, jnp.zeros((8, 1))], axis=1)
    n = jnp.where(on_end[:, None], up[:, None] * np.array([0.0, 0.0, 1.0]), sideways)
    reach = jnp.where(on_end, size[1] / 2, size[0]) + jnp.abs(n @ at.axes) @ half
    way = jnp.minimum(-jnp.min(beyond, axis=0), n @ at.place - reach + SMALL_PART * least)
    return Touch(jnp.max(beyond, axis=0), way, points, n)


def _rims_across_edges(half: Array, size: Size, at: Placed, least) -> Touch:
    """Rims of a cylinder that cross edges of a box, of those around the face that looks most at it,
    two places of each.
    """
    along, signs = box_edges()
    middle = signs * half
    axis, edges = at.axes[:, 2], np.eye(3)[along]
    t, circle, there = _along_rims(size, at, middle, edges)
    outward = circle - at.place
    radial = outward - jnp.sum(outward * axis, axis=-1)[..., None] * axis
    line = jnp.broadcast_to(edges[:, None, None], circle.shape)
    n, skew = _across(jnp.cross(axis, radial / size[0]), line, outward)
    apart = -(n @ at.place) - _reach(size, axis, n) - jnp.abs(n) @ half
    held = skew & (there > 0)
    best = jnp.argmax(jnp.where(held, apart, -jnp.inf))
    looks = -n.reshape(-1, 3)[best]
    face = jnp.argmax(jnp.abs(looks))
    chosen = _edges_around()[face, jnp.where(looks[face] >= 0, 0, 1)]
    place = middle[:, None, None] + t[..., None] * line
    gap = jnp.sum(n * (place - circle), axis=-1)
    way = jnp.minimum(half[along][:, None, None] - jnp.abs(t), apart + SMALL_PART * least)
    rows = Touch(gap, jnp.where(held, way, -1.0), circle, -n)
    return Touch(*(x[chosen].reshape(16, *x.shape[3:]) for x in rows))


def _edges_around() -> Array:
    """The four edges around each face of a box, by axis and side, shape (3, 2, 4)."""
    _, middle = box_edges()
    return jnp.array([[np.flatnonzero(middle[:, i] == side) for side in SIDES] for i in range(3)])
