"""Contact rows of cylinders.

| other shape | rows | contact points |
|---|---|---|
| plane | 10 | the lowest point of each rim, and eight points around a rim that lies flat |
| sphere | 1 | the nearest point |
| capsule | 7 | its caps, the crossing of both axes, the points of its axis nearest to each rim |

A rim is a circle. The parameter t of the point of a line that is nearest to it is a root of

    f(t) = (ρ − r) ρ′ + z z′

where ρ is the distance from the axis of the cylinder and z that from the plane of the rim. The
slope of f increases on both sides of the point where ρ is least, so that Newton's iteration
converges monotonically from the circle. The derivatives of t are those of the implicit function, of
any order.

A rim that lies flat touches a plane along its whole circle. It is supported by the corners of a
circumscribed octagon, whose sides touch the rim in the directions of the plane's axes and every
45°. In these directions the cylinder tips exactly about its rim, and up to 8 % later between them.
During tipping the lowest point of the rim supports it; the points on the opposite side stop it when
it falls back.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.features import (
    Placed,
    Size,
    Touch,
    balls_beside,
    balls_beside_box,
    cap_centers,
    crossing,
    join,
    on_plane,
)
from zwang.compile.derivative import CustomDerivative
from zwang.equations.constraint.nonideal import length
from zwang.thresholds import RESOLVED, ROOT_OF_ROUND_OFF

FLAT = ROOT_OF_ROUND_OFF
"""Angle up to which a rim lies flat [rad]: the direction of its lowest point is known to 1e-8."""
AROUND = 8
"""Number of places that support a flat rim."""
TO_ROOT = 12
"""Number of steps of Newton's iteration along a line near a rim: each doubles its digits once it is
within a third of the radius."""
SIDES = np.array([1.0, -1.0])


def cylinder_sphere(first: Size, second: Size, at: Placed) -> Touch:
    return _balls(first, at.place[None], second[0])


def _balls(size: Size, centers: Array, radius) -> Touch:
    """Return rows of balls near a cylinder: with the nearest of its side, ends and rims."""
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
    """Return places of a cylinder that a plane z = 0 below it may support, and how far each is
    valid.
    """
    r, axis, half = size[0], at.axes[:, 2], size[1] / 2
    # the component of the axis along the plane, without the cancellation in 1 − (axis_z)²
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
    # places on the side away from the tilt are valid at any tilt: they end a fall onto the plane
    still = jnp.maximum(FLAT - tilt, -(around @ down))
    way = jnp.concatenate([jnp.broadcast_to(tilt - FLAT / 2, 2), still])
    return jnp.concatenate([low, flat]), r * way


def cylinder_capsule(first: Size, second: Size, at: Placed) -> Touch:
    caps = _balls(first, cap_centers(second, at), second[0])
    return join(caps, _sides(first, second, at), _rims_beside_bar(first, second, at))


def _sides(first: Size, second: Size, at: Placed) -> Touch:
    """Return a row of two round bars whose axes cross."""
    z, axis = jnp.array([0.0, 0.0, 1.0]), at.axes[:, 2]
    found = crossing(jnp.zeros(3), z, first[1] / 2, at.place, axis, second[1] / 2, second[0])
    found = found._replace(gap=found.gap - first[0])
    return jax.tree.map(lambda x: x[None], found)


def _rims_beside_bar(first: Size, second: Size, at: Placed) -> Touch:
    """Return rows of the rims of a cylinder near a round bar, two places of each."""
    own = Placed(jnp.zeros(3), jnp.eye(3))
    t, circle, way = _along_rims(first, own, at.place, at.axes[:, 2])
    line = at.place + t[..., None] * at.axes[:, 2]
    found = balls_beside(circle, line, second[0])
    found = found._replace(way=jnp.minimum(way, second[1] / 2 - jnp.abs(t)))
    return Touch(*(x.reshape(4, *x.shape[2:]) for x in found))


def _along_rims(size: Size, at: Placed, q, b) -> tuple[Array, Array, Array]:
    """Return the places of lines q + t b that are nearest to the rims of a cylinder.

    Returns:
        t and the place on the rim, for each of two rims and for each of two directions from the
        foot of the axis on the line; and 1 if it exists, else −1.
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
    # the foot of the axis, or of the rim's plane for a line along the axis
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
    """Return the direction from the axis to the places of lines, of unit length."""
    x = w + t[..., None] * b
    x = x - jnp.sum(x * a, axis=-1)[..., None] * a
    distance = length(x)
    return x / jnp.where(distance > 0, distance, 1.0)[..., None]


def _off_rim(t, r, w, a, b) -> tuple[Array, Array]:
    """Return f, which is zero at the nearest place, and its slope."""
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
    """Return the root of f to which Newton's iteration converges from a start."""

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
