"""A plane curve for contacts with points and wheels.

    g = n · (x − c(s)) − r,    (c(s) − x) · c′(s) = 0

s is the parameter of the nearest point: Newton's iteration starts at the nearest of all samples of
the curve. Its derivatives are those of the implicit function s(x), of any order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PyTree

from zwang.bodies.features import Touch
from zwang.compile.derivative import CustomDerivative
from zwang.inputs.arguments import choice, count, flag, function, number, refuse

ALONG_A_CURVE = 64
"""Number of samples of a curve, of which the nearest one is the start of Newton's iteration; of a
curve in pieces, each piece has as many."""
NEWTON_STEPS = 8
"""Number of steps of that iteration: between neighboring samples each step doubles its digits."""


@dataclasses.dataclass(frozen=True)
class Curve:
    """A plane curve, solid on one side.

    A contact is at the nearest point of the whole curve. A wheel that may touch it in two places at
    once, in a narrow valley, needs `pieces` each of which contains one of these places.

    Args:
        place: `(s, p)` → x and y [m], shape (2,), smooth.
        first, last: range of s.
        closed: whether its end is its beginning; otherwise a contact ends where the curve does.
        free: the side that is not solid, seen along s: "left" or "right".
        pieces: number of equal parts of the range that have a contact each.

    Example:
        >>> hills = zw.bodies.Curve(lambda s, p: jnp.stack([s, 0.1 * jnp.cos(s)]), -9.0, 9.0)
        >>> wheel = lambda q, t, p: hills.touch(q[:2], 0.05, p)
        >>> zw.Inequality(
        ...     lambda *at: wheel(*at).gap, within=lambda *at: wheel(*at).way, name="road", unit="m"
        ... )
    """

    place: Callable
    first: float
    last: float
    closed: bool = False
    free: Literal["left", "right"] = "left"
    pieces: int = 1

    def __post_init__(self):
        function(self.place, "Curve: place", "(s, p) → place of shape (2,)")
        ends = (number(getattr(self, x), f"Curve: {x}") for x in ("first", "last"))
        if not next(ends) < next(ends):
            refuse("Curve: last", self.last, f"a number above first, which is {self.first:g}")
        flag(self.closed, "Curve: closed")
        choice(self.free, "Curve: free", ("left", "right"))
        count(self.pieces, "Curve: pieces", least=1)

    def touch(self, center: Float[Array, " 2"], radius: ArrayLike = 0.0, p: PyTree = None) -> Touch:
        """Return gap, distance to the end, place and normal of a wheel or a point, a row for each
        piece.

        Args:
            center: of the wheel in the axes of the curve [m].
            radius: of the wheel [m]; 0 for a point.
            p: parameters of the curve.
        """
        ends = np.linspace(self.first, self.last, self.pieces + 1)
        endless = self.closed and self.pieces == 1
        row = lambda first, last: self._row(center, radius, p, first, last, endless)
        return jax.vmap(row)(jnp.asarray(ends[:-1]), jnp.asarray(ends[1:]))

    def _row(self, center, radius, p, first, last, endless: bool) -> Touch:
        s = _nearest(self.place, endless, center, p, first, last)
        c, along = _moving(self.place, s, p)
        speed = jnp.sqrt(along @ along)
        tangent = along / speed
        side = 1.0 if self.free == "left" else -1.0
        normal = side * jnp.stack([-tangent[1], tangent[0]])
        # beyond an end, where s is constant, the distance is negative
        ahead = tangent @ (center - c)
        way = jnp.minimum((s - first) * speed + ahead, (last - s) * speed - ahead)
        way = jnp.full((), jnp.inf) if endless else way
        return Touch(normal @ (center - c) - radius, way, center - radius * normal, normal)


def _moving(place: Callable, s, p) -> tuple[Array, Array]:
    """Return c and c′ at s."""
    return jax.jvp(lambda s: place(s, p), (s,), (jnp.ones_like(s),))


def _off(place: Callable, s, x, p) -> Array:
    """Return (c − x) · c′, which is zero at the nearest point."""
    c, along = _moving(place, s, p)
    return (c - x) @ along


def _slope(place: Callable, s, x, p) -> tuple[Array, Array]:
    """Return the function whose zero is sought, and its derivative with respect to s."""
    return jax.jvp(lambda s: _off(place, s, x, p), (s,), (jnp.ones_like(s),))


@CustomDerivative
def _nearest(place: Callable, endless: bool, x, p, first, last) -> Array:
    """Return s of the nearest point between first and last."""
    steps = np.arange(ALONG_A_CURVE + 1) / ALONG_A_CURVE
    samples = first + (last - first) * steps
    spacing = (last - first) / ALONG_A_CURVE

    def square(s):
        """Return half the square of the distance, at the sample or at the result of Newton's step
        from it, if that is nearer to this sample than to the next one.
        """
        away, (off, slope) = place(s, p) - x, _slope(place, s, x, p)
        near = jnp.abs(off) < slope * spacing
        return (away @ away - jnp.where(near, off**2 / jnp.where(near, slope, 1.0), 0.0)) / 2

    start = samples[jnp.argmin(jax.vmap(square)(samples))]
    low, high = start - spacing, start + spacing
    if not endless:
        low, high = jnp.maximum(low, first), jnp.minimum(high, last)

    def closer(_, s):
        off, slope = _slope(place, s, x, p)
        along = _moving(place, s, p)[1]
        # where the distance has a maximum Newton's step leads away
        step = off / jnp.where(slope > 0, slope, along @ along)
        return jnp.clip(s - step, low, high)

    return jax.lax.fori_loop(0, NEWTON_STEPS, closer, start)


@_nearest.def_jvp
def _moved(primals, tangents):
    place, endless, x, p, first, last = primals
    s = _nearest(*primals)
    zero = lambda dx, x: jnp.zeros_like(x) if dx is None and x is not None else dx
    _, _, dx, dp, *_ = tangents
    given = jax.tree.map(zero, (dx, dp), (x, p), is_leaf=lambda x: x is None)
    moved = jax.jvp(lambda x, p: _off(place, s, x, p), (x, p), given)[1]
    return s, -moved / _slope(place, s, x, p)[1]
