"""One-parameter families of configurations as a curve `G(q, t) = φ(q, t) = 0`, and certified steps
along it: for one curve in NumPy, and for many curves at once in JAX.

At a point of the curve, let J = [A | ∂φ/∂t] in scaled directions, τ its null vector and N an
orthonormal basis of the complement of τ. Every nearby configuration is `σ τ + N n`. A step of
length h is certified if the interval Newton (Krawczyk) operator of n, for all σ in [0, h] at once,
maps the box |n| ≤ w into its interior:

    |Y G| + ½ h² |Y [H] τ τ| + |Y [J] N − I| w  <  w,     Y = (J N)⁻¹,   [J] ⊂ J + [H] (σ τ + N n)

where [H] encloses the second derivatives of G over the box. Then the curve has exactly one point in
the box for each σ, so a solution found there lies on the branch of the starting point.

Reference: Kearfott and Xing (1994), An interval step control for continuation methods, SIAM J.
Numer. Anal. 31, 892-914.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from zwang.algebra.decomposition import Decomposition, full_svd, pivots, solve_square
from zwang.analysis.interval import Interval, NoIntervalRuleError, enclosure
from zwang.analysis.sensitivity import lengths_nearby
from zwang.compile import model_program, program
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.inputs.arrays import AnyArray
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, FACTOR_ROUND_OFF, SOLUTION_ERROR


class Split(NamedTuple, Generic[AnyArray]):
    """Directions at a point of a curve.

    Attributes:
        tangent: τ, the null direction of J, shape (n,).
        normal: N, its complement, in which corrections are made, shape (n, n − 1).
        inverse: Y = (J N)⁻¹.
    """

    tangent: AnyArray
    normal: AnyArray
    inverse: AnyArray


def split_by(xp: ModuleType, J, along) -> Split:
    """The directions from independent rows, with τ oriented along an earlier tangent."""
    U, S, Vt = full_svd(J)
    tangent, normal = Vt[-1], Vt[:-1].T
    return Split(xp.where(tangent @ along < 0, -tangent, tangent), normal, (U / S).T)


def carried(split: Split, J):
    """The tangent at a point of a segment, in the directions of its start, oriented along
    increasing σ.
    """
    return split.tangent - split.normal @ solve_square(J @ split.normal, J @ split.tangent)


class Krawczyk(NamedTuple, Generic[AnyArray]):
    """The result of the test of a step.

    Attributes:
        good: True if the operator maps the box into its interior.
        ratio: the largest ratio of the width of the image to the width of the box.
        width: of the box, shape (n − 1,).
    """

    good: AnyArray
    ratio: AnyArray
    width: AnyArray


def krawczyk(xp: ModuleType, split: Split, scale, over: Callable, start, ahead, h) -> Krawczyk:
    """The interval Newton operator of n for a step of length h, see above.

    Args:
        xp: NumPy, or `jax.numpy` inside a program.
        split: directions at the beginning of the step; start: |Y G| there.
        over: (low, high) of y → midpoint and radius of the second derivatives in scaled directions.
        ahead: the middle of the step [unscaled].
    """
    tangent, normal, inverse = split
    line = scale * xp.abs(tangent) * h / 2

    def bounds(reach):
        middle, radius = over(ahead - reach, ahead + reach)
        middle = xp.tensordot(inverse, middle, 1)  # Y H, shape (nv, n, n)
        radius = xp.tensordot(xp.abs(inverse), radius, 1)
        bend = xp.abs(middle @ tangent @ tangent) + radius @ xp.abs(tangent) @ xp.abs(tangent)
        return middle, radius, start + h**2 / 2 * bend

    error = bounds(line)[2]
    # every normal direction is at least as wide as round-off, and none is much narrower than others
    width = 2.2 * xp.maximum(error, 0.02 * xp.max(error)) + FACTOR_ROUND_OFF
    # the box is widened by the possible correction, and the bounds are computed once more
    fat = xp.abs(normal) @ width
    middle, radius, error = bounds(line + scale * fat)
    across, reach = middle @ normal, h * xp.abs(tangent) + fat  # Y H N, shape (nv, n, nv)
    turned = h * xp.abs(xp.einsum("ijk,j->ik", across, tangent))
    spread = xp.abs(xp.einsum("ijk,jl->ilk", across, normal))
    turned += xp.einsum("ilk,l->ik", spread, width)
    turned += xp.einsum("ijk,j->ik", radius @ xp.abs(normal), reach)
    image = error + turned @ width
    return Krawczyk(xp.all(image < width), xp.max(image / width), width)  # false for NaN, too


def growth(good, ratio):
    """Factor for the next step length. The ratio of image to box is 1/2 plus the contraction, which
    grows with h.
    """
    beyond = np.maximum(ratio - 0.5, 1e-3)
    shrunk = np.where(np.isnan(ratio), 0.3, np.clip(0.4 / beyond, 0.1, 0.7))
    return np.where(good, np.clip(0.35 / beyond, 0.5, 3.0), shrunk)


# --- rows and their derivatives about a configuration


def chart(dynamics: Dynamics, q0, y):
    """Coordinates at displacement `y` [velocity directions and t] from q0: an affine map, followed
    by the projection onto the manifold of coordinates (quaternions of unit length); shape (nq,).
    """
    system, t = dynamics.system, y[-1]
    q = affine_chart(dynamics, q0, y)
    if system.velocity_map is None and system.retract is None:
        return q
    return system.move(q, jnp.zeros(system.nv), t, dynamics.p)


def affine_chart(dynamics: Dynamics, q0, y):
    """`chart` without the projection onto the manifold; for a quaternion, its tangent plane."""
    return q0 + dynamics.system.along(q0, y[:-1], y[-1], dynamics.p)


def jacobian(dynamics: Dynamics, q0, y, place: Callable = chart):
    return jax.jacfwd(lambda y: _rows(dynamics, q0, y, place))(y)


def _rows(dynamics: Dynamics, q0, y, place: Callable = chart):
    return dynamics.constraints.position_residual(place(dynamics, q0, y), y[-1], dynamics.p)


@model_program
def point_at(dynamics: Dynamics, q0, y, scale):
    """q, φ and J in scaled directions at displacement y from q0."""
    return chart(dynamics, q0, y), _rows(dynamics, q0, y), jacobian(dynamics, q0, y) * scale


@model_program
def _second(dynamics: Dynamics, q0, y):
    return jax.jacfwd(lambda y: jacobian(dynamics, q0, y))(y)


@program
def _charts_differ(dynamics: Dynamics, q0, places):
    """The largest difference of the rows between both charts, and their largest value."""
    rows = lambda place: jax.vmap(lambda y: _rows(dynamics, q0, y, place))(places)
    on, off = rows(chart), rows(affine_chart)
    return jnp.max(jnp.abs(on - off)), jnp.max(jnp.abs(on))


@program
def bounds(place: Callable, dynamics: Dynamics, q0, lo, hi, scale) -> tuple[Array, Array]:
    """Midpoint and radius of the second derivatives in scaled directions over a box of y, in a loop
    over directions, because unrolled they would be some hundred thousand instructions for a
    mechanism in space.
    """

    def along(y, direction, q0):
        return jax.jvp(lambda y: jacobian(dynamics, q0, y, place), (y,), (direction,))[1]

    one = lambda direction: tuple(enclosure(along, Interval(lo, hi), direction, q0))
    low, high = (jnp.moveaxis(x, 0, -1) for x in over_rows(one)(jnp.eye(len(lo))))
    finite = jnp.isfinite(low) & jnp.isfinite(high)
    # an infinite bound rejects the box without producing NaN in others
    low, high = jnp.where(finite, low, 0.0), jnp.where(finite, high, 1e150)
    unit = scale[:, None] * scale
    return (low + high) / 2 * unit, (high - low) / 2 * unit


class FreedomError(Exception):
    """The configurations do not form a curve.

    Attributes:
        freedom: their dimension.
        free: a basis of the free directions, shape (freedom, nv + 1).
    """

    def __init__(self, freedom: int, free: np.ndarray):
        super().__init__(freedom)
        self.freedom, self.free = freedom, free


class LostError(Exception):
    """A corrector ended outside of its certified box."""


@dataclasses.dataclass
class Curve:
    """The curve of a model whose holonomic rows leave one free direction in (q, t).

    Attributes:
        dynamics: the model, its A⊕ dense.
        scale: length of one unit of each direction, shape (nv + 1,).
        bounded: True if the derivatives can be bounded over boxes; otherwise they are sampled, and
            nothing is certified.
        length: greatest length of each row so far; a row that vanishes at a singular configuration
            must not be scaled to unit length there.
        place: the chart in which rows are bounded; chosen automatically.
    """

    dynamics: Dynamics
    scale: np.ndarray
    bounded: bool = True
    length: np.ndarray | float = 0.0
    place: Callable | None = None

    def at(self, q0: np.ndarray, y: np.ndarray):
        """q, φ and J in scaled directions at displacement y from q0."""
        found = point_at(self.dynamics, np.asarray(q0), np.asarray(y), self.scale)
        return tuple(np.asarray(x) for x in found)

    def over(self, q0, lo, hi) -> tuple[np.ndarray, np.ndarray]:
        """Midpoint and radius of the second derivatives in scaled directions over a box of y,
        shape (rows, nv + 1, nv + 1).
        """
        if self.bounded:
            try:
                self.place = self.place or self._narrowest(q0, hi)
                middle, radius = bounds(self.place, self.dynamics, q0, lo, hi, self.scale)
                return np.asarray(middle), np.asarray(radius)
            except NoIntervalRuleError:
                # from here on bounds are estimates, and the path is reported as not certified
                self.bounded = False
        random, unit = np.random.default_rng(1994), self.scale[:, None] * self.scale
        # random points of the box at which the second derivatives are sampled
        places = lo + random.random((6, len(lo))) * (hi - lo)
        found = np.stack([np.asarray(_second(self.dynamics, q0, y)) for y in places])
        low, high = found.min(axis=0), found.max(axis=0)
        return (low + high) / 2 * unit, 0.75 * (high - low) * unit  # 1.5 times the sampled radius

    def _narrowest(self, q0: np.ndarray, y: np.ndarray) -> Callable:
        """The chart with the narrowest bounds: the affine one if there are no quaternions, or if
        the rows do not depend on the length of a quaternion, as with `rotation_matrix`.
        """
        system = self.dynamics.system
        if system.velocity_map is None and system.retract is None:
            return affine_chart
        # rows that differ between the charts do so almost everywhere; eight points are compared
        moved = np.random.default_rng(1840).uniform(-0.7, 0.7, (8, len(y)))
        moved[:, -1] = y[-1]
        apart, size = _charts_differ(self.dynamics, q0, moved)
        return affine_chart if float(apart) <= AGREEMENT * (1 + float(size)) else chart

    def unit_rows(self, J: np.ndarray) -> np.ndarray:
        """Rows of J divided by their greatest lengths so far."""
        self.length = np.maximum(self.length, np.linalg.norm(J, axis=1))
        return J / np.where(self.length > 0, self.length, 1.0)[:, None]

    def _measure_short(self, q: np.ndarray, y: np.ndarray, J: np.ndarray) -> None:
        """Measure rows that almost vanish at the first point by their lengths nearby, so that a row
        of round-off counts as absent, as in a mechanism that starts in line.
        """
        beside = lambda away: self.at(q, y + np.append(away, 0.0))[2]
        nearby = lengths_nearby(beside, len(y) - 1)
        own = np.linalg.norm(J, axis=1)
        # rows shorter than this fraction of their length nearby almost vanish
        self.length = np.where(own < ALL_BUT_ZERO * nearby, nearby, 0.0)

    def smallest(self, J: np.ndarray) -> float:
        """The nv-th singular value of J with rows divided by their greatest lengths."""
        return float(Decomposition(self.unit_rows(J)).singular_values[J.shape[1] - 2])

    def frame(self, q: np.ndarray, t: float, along: np.ndarray | None = None) -> Frame:
        """A point of the curve with its tangent, oriented along an earlier tangent or increasing t.

        Raises:
            FreedomError: if independent rows leave more or fewer than one direction free.
        """
        y = np.append(np.zeros(self.dynamics.system.nv), t)
        _, phi, J = self.at(q, y)
        if not np.any(self.length):
            self._measure_short(q, y, J)
        unit, n = self.unit_rows(J), J.shape[1] - 1
        rows = pivots(unit.T)
        if len(rows) != n:
            # with fewer independent rows, the solutions form a surface, not a curve
            raise FreedomError(n + 1 - len(rows), Decomposition(J[rows]).right.T[len(rows) :])
        split = split_by(np, J[rows], np.eye(1, n + 1, n)[0] if along is None else along)
        start = np.abs(split.inverse @ phi[rows])
        return Frame(self, np.asarray(q), float(t), rows, split, start, self.smallest(J))


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """A point of the curve, with coordinates `σ τ + N n` about it.

    Attributes:
        curve: the curve.
        q, t: coordinates, shape (nq,), and the parameter.
        rows: indices of the independent rows.
        split: τ, in scaled directions and oriented along the motion, N and Y.
        start: |Y G|.
        smallest: the nv-th singular value of J with rows at unit length, 0 where branches meet.
    """

    curve: Curve
    q: np.ndarray
    t: float
    rows: np.ndarray
    split: Split
    start: np.ndarray
    smallest: float

    @property
    def tangent(self) -> np.ndarray:
        """The unit tangent τ, shape (nv + 1,)."""
        return self.split.tangent

    def y(self, sigma, n) -> np.ndarray:
        """Unscaled directions and t at given coordinates of the frame."""
        y = self.curve.scale * (sigma * self.tangent + self.split.normal @ n)
        y[-1] += self.t
        return y

    def attempt(self, h: float) -> tuple[Segment | None, float]:
        """A certified segment of length h, or None; and the largest ratio of the width of the
        operator's image to the width of the box, below 1 on success.
        """

        def over(low, high):
            return tuple(x[self.rows] for x in self.curve.over(self.q, low, high))

        ahead = self.y(h / 2, np.zeros(len(self.start)))
        test = krawczyk(np, self.split, self.curve.scale, over, self.start, ahead, h)
        return (Segment(self, h, test.width) if test.good else None), float(test.ratio)


@dataclasses.dataclass(frozen=True)
class Segment:
    """A segment of the curve with exactly one point for every σ in [0, length].

    Attributes:
        frame: its first point.
        length: its length [1, in scaled directions].
        width: bounds of |n|, shape (nv,).
    """

    frame: Frame
    length: float
    width: np.ndarray

    def at(self, sigma: float) -> Frame:
        """The point of the curve at σ."""
        return self._found(lambda x: x[0] - sigma, np.eye(1, len(self.width) + 1), sigma)

    def at_parameter(self, t: float, guess: float) -> Frame:
        """The point of the curve at t, for a segment along which t is monotone, near σ = guess."""
        begin = self.frame
        last = np.append(begin.tangent[-1], begin.split.normal[-1])
        gradient = begin.curve.scale[-1] * last
        return self._found(lambda x: begin.t + gradient @ x - t, gradient[None], guess)

    def _found(self, equation, gradient: np.ndarray, guess: float) -> Frame:
        """Newton's iteration for σ and n on the rows and one additional equation."""
        frame, curve = self.frame, self.frame.curve
        x = np.append(guess, np.zeros(len(self.width)))
        basis = np.column_stack([frame.tangent, frame.split.normal])
        for _ in range(30):
            _, phi, J = curve.at(frame.q, frame.y(x[0], x[1:]))
            bordered = np.vstack([gradient, J[frame.rows] @ basis])
            step = solve_square(bordered, np.append(equation(x), phi[frame.rows]))
            x = x - step
            if not np.all(np.isfinite(x)):
                break
            # relative to x as well, because the round-off of a long segment is proportional to x
            if np.max(np.abs(step)) <= FACTOR_ROUND_OFF * (1 + np.max(np.abs(x))):
                break
        inside = -AGREEMENT <= x[0] <= self.length + AGREEMENT and np.all(
            np.abs(x[1:]) <= self.width + SOLUTION_ERROR
        )
        # by the certificate the box contains exactly one point; a solution outside it belongs to
        # another branch
        if not inside:
            raise LostError(f"the corrector left its box at {x}")
        y = frame.y(x[0], x[1:])
        q, _, J = curve.at(frame.q, y)
        return curve.frame(q, y[-1], carried(frame.split, J[frame.rows]))
