"""One-parameter families of configurations as a curve `G(q, t) = φ(q, t) = 0`, and steps along it
that are certified.

Steps are those of `certified_step.py`: each encloses exactly one point of the curve for every place
along it, so that what a corrector finds there lies on the branch that it started from.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from zwang.algebra.decomposition import Decomposition, pivots, solve_square
from zwang.analysis.certified_step import Split, carried, krawczyk, split_by
from zwang.analysis.interval import Interval, NoIntervalRuleError, enclosure
from zwang.analysis.sensitivity import lengths_nearby
from zwang.compile import model_program, program
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, FACTOR_ROUND_OFF

BOX_SAMPLES = 6
"""Random places of a box at which J is evaluated where it cannot be bounded."""
CHART_SAMPLES = 8
"""Random places at which rows of two charts are compared."""


def chart(dynamics: Dynamics, q0, y):
    """Coordinates at `y` [velocity directions and t] from q0: affine, put back onto the manifold
    of coordinates (quaternions at unit length); shape (nq,).
    """
    system, t = dynamics.system, y[-1]
    q = affine_chart(dynamics, q0, y)
    if system.velocity_map is None and system.retract is None:
        return q
    return system.move(q, jnp.zeros(system.nv), t, dynamics.p)


def affine_chart(dynamics: Dynamics, q0, y):
    """`chart` before it is put back onto the manifold: of a quaternion, its tangent plane."""
    return q0 + dynamics.system.along(q0, y[:-1], y[-1], dynamics.p)


def _rows(dynamics: Dynamics, q0, y, place: Callable = chart):
    return dynamics.constraints.position_residual(place(dynamics, q0, y), y[-1], dynamics.p)


def jacobian(dynamics: Dynamics, q0, y, place: Callable = chart):
    return jax.jacfwd(lambda y: _rows(dynamics, q0, y, place))(y)


def second_derivatives(dynamics: Dynamics, q0, y, place: Callable = chart):
    return jax.jacfwd(lambda y: jacobian(dynamics, q0, y, place))(y)


@model_program
def _second(dynamics: Dynamics, q0, y):
    return second_derivatives(dynamics, q0, y)


def _charts_differ(dynamics: Dynamics, q0, places):
    """By how much rows differ in both charts, and their largest value."""
    rows = lambda place: jax.vmap(lambda y: _rows(dynamics, q0, y, place))(places)
    on, off = rows(chart), rows(affine_chart)
    return jnp.max(jnp.abs(on - off)), jnp.max(jnp.abs(on))


@model_program
def _at(dynamics: Dynamics, q0, y):
    return (
        chart(dynamics, q0, y),
        _rows(dynamics, q0, y),
        jacobian(dynamics, q0, y),
    )


@functools.cache
def quickly(function: Callable) -> Callable:
    """A function compiled quickly rather than well, as suits a long program of few uses."""
    return program(function)


def bounds(place: Callable, dynamics: Dynamics, q0, lo, hi) -> tuple[Array, Array]:
    """Bounds of the second derivatives over a box of y, in a loop over directions: written out,
    those of a mechanism in space would be some hundred thousand instructions.
    """

    def along(y, direction, q0):
        return jax.jvp(lambda y: jacobian(dynamics, q0, y, place), (y,), (direction,))[1]

    one = lambda direction: tuple(enclosure(along, Interval(lo, hi), direction, q0))
    low, high = over_rows(one)(jnp.eye(len(lo)))
    return jnp.moveaxis(low, 0, -1), jnp.moveaxis(high, 0, -1)


@dataclasses.dataclass(frozen=True)
class Point:
    """A point of the curve.

    Attributes:
        q, t: coordinates, shape (nq,), and the parameter.
        tangent: unit tangent in scaled directions, shape (nv + 1,), oriented along the motion.
        smallest: the nv-th singular value of J with rows at unit length, 0 where branches meet.
    """

    q: np.ndarray
    t: float
    tangent: np.ndarray
    smallest: float


class FreedomError(Exception):
    """The configurations are no curve.

    Attributes:
        freedom: their dimension.
        free: a basis of the directions in which they may move, shape (freedom, nv + 1).
    """

    def __init__(self, freedom: int, free: np.ndarray):
        super().__init__(freedom)
        self.freedom, self.free = freedom, free


@dataclasses.dataclass
class Curve:
    """The curve of a model whose holonomic rows leave one freedom together with t.

    Attributes:
        dynamics: the model, its A⊕ dense.
        scale: length of one unit of each direction, shape (nv + 1,).
        bounded: whether J can be bounded over boxes; otherwise it is sampled, and nothing is
            certified.
        length: greatest length that each row was met with; a row that vanishes at a singular
            configuration must not be blown up to unit length there.
        place: the chart in which rows are bounded; found by itself.
    """

    dynamics: Dynamics
    scale: np.ndarray
    bounded: bool = True
    length: np.ndarray | float = 0.0
    place: Callable | None = None

    def at(self, q0: np.ndarray, y: np.ndarray):
        """q, φ and J in scaled directions at y from q0."""
        q, phi, J = _at(self.dynamics, np.asarray(q0), np.asarray(y))
        return np.asarray(q), np.asarray(phi), np.asarray(J) * self.scale

    def over(self, q0, lo, hi) -> tuple[np.ndarray, np.ndarray]:
        """Midpoint and radius of the second derivatives in scaled directions over a box of y,
        shape (rows, nv + 1, nv + 1).
        """
        unit = self.scale[:, None] * self.scale
        if self.bounded:
            try:
                self.place = self.place or self._narrowest(q0, hi)
                found = quickly(bounds)(self.place, self.dynamics, q0, lo, hi)
                low, high = (np.asarray(x) for x in found)
                finite = np.isfinite(low) & np.isfinite(high)
                # an infinite bound refuses the box without spoiling others by NaN
                low, high = np.where(finite, low, 0.0), np.where(finite, high, 1e150)
                return (low + high) / 2 * unit, (high - low) / 2 * unit
            except NoIntervalRuleError:
                # from here on bounds are estimates, and the path is reported as not certified
                self.bounded = False
        random = np.random.default_rng(1994)
        places = lo + random.random((BOX_SAMPLES, len(lo))) * (hi - lo)
        found = np.stack([np.asarray(_second(self.dynamics, q0, y)) for y in places])
        low, high = found.min(axis=0), found.max(axis=0)
        return (low + high) / 2 * unit, 0.75 * (high - low) * unit  # half more than was seen

    def _narrowest(self, q0: np.ndarray, y: np.ndarray) -> Callable:
        """The chart whose bounds are narrowest: the affine one if rows do not see the length of a
        quaternion, as those of `rotation_matrix`, or if there are no quaternions.
        """
        system = self.dynamics.system
        if system.velocity_map is None and system.retract is None:
            return affine_chart
        # rows that differ in the two charts do so at almost every place
        moved = np.random.default_rng(1840).uniform(-0.7, 0.7, (CHART_SAMPLES, len(y)))
        moved[:, -1] = y[-1]
        apart, size = quickly(_charts_differ)(self.dynamics, q0, moved)
        return affine_chart if float(apart) <= AGREEMENT * (1 + float(size)) else chart

    def unit_rows(self, J: np.ndarray) -> np.ndarray:
        """Rows of J over their greatest lengths so far."""
        self.length = np.maximum(self.length, np.linalg.norm(J, axis=1))
        return J / np.where(self.length > 0, self.length, 1.0)[:, None]

    def _measure_short(self, q: np.ndarray, y: np.ndarray, J: np.ndarray) -> None:
        """Take rows that all but vanish at the first place by their lengths nearby, as a row of
        round-off is none: of a mechanism that starts in line.
        """
        beside = lambda away: self.at(q, y + np.append(away, 0.0))[2]
        nearby = lengths_nearby(beside, len(y) - 1)
        own = np.linalg.norm(J, axis=1)
        # length of a row, over that nearby, below which it all but vanishes
        self.length = np.where(own < ALL_BUT_ZERO * nearby, nearby, 0.0)

    def smallest(self, J: np.ndarray) -> float:
        """The nv-th singular value of J, rows over their greatest lengths."""
        return float(Decomposition(self.unit_rows(J)).singular_values[J.shape[1] - 2])

    def frame(self, q: np.ndarray, t: float, along: np.ndarray | None = None) -> Frame:
        """The curve's tangent and complement at a point, along an earlier tangent or increasing t.

        Raises:
            FreedomError: where independent rows leave more or less than one direction.
        """
        y = np.append(np.zeros(self.dynamics.system.nv), t)
        _, phi, J = self.at(q, y)
        if not np.any(self.length):
            self._measure_short(q, y, J)
        unit, n = self.unit_rows(J), J.shape[1] - 1
        rows = pivots(unit.T)
        if len(rows) != n:
            # fewer independent rows than unknowns less one: the solutions are a surface, not a
            # curve
            raise FreedomError(n + 1 - len(rows), Decomposition(J[rows]).right.T[len(rows) :])
        split = split_by(np, J[rows], np.eye(1, n + 1, n)[0] if along is None else along)
        point = Point(np.asarray(q), float(t), split.tangent, self.smallest(J))
        return Frame(self, point, rows, split.normal, split.inverse, J[rows], phi[rows])


@dataclasses.dataclass(frozen=True)
class Frame:
    """Coordinates `σ τ + N n` about a point of the curve.

    Attributes:
        curve, point: where.
        rows: indices of the independent rows.
        normal: N, shape (nv + 1, nv).
        inverse: Y = (J N)⁻¹.
        J, phi: of the rows at the point.
    """

    curve: Curve
    point: Point
    rows: np.ndarray
    normal: np.ndarray
    inverse: np.ndarray
    J: np.ndarray
    phi: np.ndarray

    def y(self, sigma, n) -> np.ndarray:
        """Unscaled directions and t at coordinates of the frame."""
        y = self.curve.scale * (sigma * self.point.tangent + self.normal @ n)
        y[-1] += self.point.t
        return y

    @cached_property
    def start(self) -> np.ndarray:
        return np.abs(self.inverse @ self.phi)

    def attempt(self, h: float) -> tuple[Segment | None, float]:
        """A certified segment of length h, or None; and the largest ratio of what the operator
        maps the box to and its width, below 1 for a success.
        """

        def over(low, high):
            return tuple(x[self.rows] for x in self.curve.over(self.point.q, low, high))

        ahead = self.y(h / 2, np.zeros(len(self.inverse)))
        split = Split(self.point.tangent, self.normal, self.inverse)
        test = krawczyk(np, split, self.curve.scale, over, self.start, ahead, h)
        return (Segment(self, h, test.width) if test.good else None), float(test.ratio)


@dataclasses.dataclass(frozen=True)
class Segment:
    """A part of the curve in which there is one point for every σ in [0, length].

    Attributes:
        frame: where it begins.
        length: of it [1, in scaled directions].
        width: bounds of |n|, shape (nv,).
    """

    frame: Frame
    length: float
    width: np.ndarray

    def at(self, sigma: float) -> Point:
        """The point of the curve at σ."""
        return self._found(
            lambda sigma_n: sigma_n[0] - sigma, np.eye(1, len(self.width) + 1), sigma
        )

    def at_parameter(self, t: float, guess: float) -> Point:
        """The point of the curve at t, for a segment along which t is monotone, near σ = guess."""
        frame = self.frame
        gradient = frame.curve.scale[-1] * np.append(frame.point.tangent[-1], frame.normal[-1])
        return self._found(lambda x: frame.point.t + gradient @ x - t, gradient[None], guess)

    def _found(self, equation, gradient: np.ndarray, guess: float) -> Point:
        """Newton's iteration for σ and n on the rows and one equation more."""
        frame, curve = self.frame, self.frame.curve
        x = np.append(guess, np.zeros(len(self.width)))
        tangent = frame.point.tangent
        basis = np.column_stack([tangent, frame.normal])
        for _ in range(30):
            q, phi, J = curve.at(frame.point.q, frame.y(x[0], x[1:]))
            J = J[frame.rows]
            step = solve_square(
                np.vstack([gradient, J @ basis]), np.append(equation(x), phi[frame.rows])
            )
            x = x - step
            if not np.all(np.isfinite(x)):
                break
            # relative to x as well, since a long segment has no smaller round-off
            if np.max(np.abs(step)) <= FACTOR_ROUND_OFF * (1 + np.max(np.abs(x))):
                break
        inside = -1e-9 <= x[0] <= self.length + 1e-9 and np.all(np.abs(x[1:]) <= self.width + 1e-12)
        # the certificate says that the box holds one point: a solution outside of it belongs to
        # another branch
        if not inside:
            raise LostError(f"the corrector left its box at {x}")
        y = frame.y(x[0], x[1:])
        q, phi, J = curve.at(frame.point.q, y)
        return curve.frame(q, y[-1], along=carried(tangent, frame.normal, J[frame.rows])).point


class LostError(Exception):
    """A corrector ended outside of its certified box."""
