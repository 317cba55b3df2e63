"""One branch of equilibria: tangents, corrections orthogonal to them, and test functions of events.

| event | change of the eigenvalues | test function that passes through zero |
|---|---|---|
| Hopf point | a pair of complex eigenvalues crosses the imaginary axis | its real part |
| double eigenvalue | two real ones become a pair, or two pairs leave the axis | `(λ₁ − λ₂)²` |

A point at which two imaginary pairs meet and leave the axis is a Hamiltonian Hopf point, at which a
conservative system loses its stability by flutter. `(λ₁ − λ₂)²` is a smooth function of the
parameter; the eigenvalues themselves depend on its square root.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.rank import PLACED
from zwang.algebra.spectrum import eigenvalues, zeros_of_form
from zwang.analysis.balance_problem import Point, Problem
from zwang.analysis.constrained_state import ConstrainedState, solve
from zwang.analysis.linearize import generator_of_deviations
from zwang.equations.state import State, host_state
from zwang.errors import ModelError
from zwang.remedy import Remedy, advice
from zwang.thresholds import (
    AGREEMENT,
    ALL_BUT_ZERO,
    DERIVED,
    ROOT_OF_ROUND_OFF,
    SMALL_PART,
    SOLUTION_ERROR,
)

SLOPE_STEP = 1e-3
"""Step of the finite differences along a branch, of fourth order: truncation error and round-off
are both about 1e-12.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Place:
    """A point on a branch.

    Attributes:
        point, value: the point and the parameter there.
        tangent: unit tangent in (y, γ, s), in the metric of the branch.
        length: of the step that led to this place.
        eigenvalues: of the linearization, symmetries left out.
    """

    point: Point
    value: float
    tangent: np.ndarray
    length: float
    eigenvalues: np.ndarray

    @property
    def tangent_value(self) -> float:
        """Component of the tangent along the parameter."""
        return float(self.tangent[-1])


@dataclasses.dataclass(frozen=True, eq=False)
class BalanceBranch:
    """The settings by which one branch is followed.

    Attributes:
        problem: the equations; its last unknown is the parameter.
        scale: units of y, γ and the parameter, in which steps are measured.
        step: longest step, in these units.
        zeros: number of eigenvalues that are zero along the whole branch, as in a family of steady
            motions.
        rate: size of eigenvalues [1/s].
        first: direction at the start, (dq, change of the parameter).
    """

    problem: Problem
    scale: tuple[float, float, float]
    step: float
    zeros: int
    rate: float
    first: tuple

    @staticmethod
    def begin(
        problem: Problem, at: Point, over: str, limits, step: float, tangent
    ) -> BalanceBranch:
        low, high = limits
        value = at.mu[-1]
        # unknowns of different units are scaled by their typical sizes
        size = (1 + np.max(np.abs(at.q))) * np.sqrt(np.max(np.diag(at.metric)))
        scale = (size, 1 + np.max(np.abs(at.gamma), initial=0.0), max(high - low, 1e-12))
        if tangent is None:
            sign = 1.0 if high - value >= value - low else -1.0
            tangent = (np.zeros(len(at.q)), sign)
        branch = BalanceBranch(problem, scale, step, 0, 1.0, tangent)
        rate = float(np.max(np.abs(branch.linear(at)), initial=1e-300))
        return dataclasses.replace(branch, rate=rate)

    def knowing(self, places: list[Place]) -> BalanceBranch:
        """The same branch with the number of eigenvalues that are zero at all given places."""
        zeros = [int(np.sum(np.abs(x.eigenvalues) < ALL_BUT_ZERO * self.rate)) for x in places]
        return dataclasses.replace(self, zeros=min(zeros))

    def test(self, place: Place) -> float:
        """The lowest coefficient of the characteristic polynomial that is not zero along the whole
        branch; it changes sign where an eigenvalue passes through zero.
        """
        n = len(place.eigenvalues)
        return float(np.real(np.poly(place.eigenvalues / self.rate))[n - self.zeros]) if n else 0.0

    def sizes(self, at: Point) -> np.ndarray:
        """Scale of each unknown."""
        ny, k, n = at.Y.shape[1], len(at.gamma), len(at.mu)
        return np.repeat(self.scale, [ny, k, n])

    def place(self, at: Point, before: np.ndarray | None = None, length: float = 0.0) -> Place:
        eigenvalues = self.linear(at)
        if before is None:
            dq, ds = self.first
            y = at.Y.T @ at.metric @ Decomposition(at.local.N).solve(np.asarray(dq))
            before = np.concatenate([y, np.zeros(len(at.gamma)), [float(ds)]])
            before = before / self.sizes(at)
        tangent = self.tangent(at, before)
        return Place(at, float(at.mu[-1]), tangent, length, eigenvalues)

    def rows(self, at: Point) -> np.ndarray:
        """Derivative of the residual in scaled unknowns, with rows that fix the position along
        symmetries.
        """
        # in scaled unknowns, so that the length of a step is defined
        J = self.problem.jacobian(at) * self.sizes(at)
        kept = np.zeros((0, J.shape[1]))
        if self.problem.driven is None:  # rates of symmetries stay constant
            kept = np.eye(J.shape[1])[at.Y.shape[1] : at.Y.shape[1] + len(at.gamma)]
        return np.vstack([J, kept, self._gauge(at)])

    def _gauge(self, at: Point) -> np.ndarray:
        """Directions of symmetries in scaled unknowns, along which all solutions are equivalent."""
        width = at.Y.shape[1] + len(at.gamma) + len(at.mu)
        if self.problem.symmetric is None:
            return np.zeros((0, width))
        dynamics, t = self.problem.dynamics, self.problem.t
        state = host_state(at.q, at.v, t)
        found = self.problem.symmetric.directions(dynamics, _on_device(state), 0 * at.v)
        along = (at.Y.T @ at.metric @ found[: len(at.metric)]).T
        return np.hstack([along, np.zeros((len(along), width - along.shape[1]))]) * (
            self.sizes(at) / max(np.max(np.abs(along), initial=0.0), 1e-300)
        )

    def tangent(self, at: Point, before: np.ndarray) -> np.ndarray:
        """Unit tangent, oriented along the previous one."""
        null = self._kernel(at)[1]
        # at a crossing of two branches the kernel is a plane, and steady motions may form a family
        # with several parameters: continue in the previous direction, so that the other unknowns
        # change as little as possible
        direction = null.T @ (null @ before)
        if np.linalg.norm(direction) < ROOT_OF_ROUND_OFF:
            raise ModelError(
                "continuation: the branch does not move with the parameter from this start; "
                f"{advice(Remedy('give tangent=', options=()), Remedy('start elsewhere'))}."
            )
        return direction / np.linalg.norm(direction)

    def _kernel(self, at: Point) -> tuple[np.ndarray, np.ndarray]:
        """Rows that span the left and the right null space of the derivative of the residual."""
        split = Decomposition(self.rows(at), DERIVED, least=1.0)
        return split.left_kernel.T, split.kernel.T

    def following(self, place: Place) -> Place | None:
        """The next point; None if the branch cannot be followed."""
        length = min(self.step, 2 * place.length) if place.length else self.step
        for _ in range(14):
            new = self.corrected(place, length)
            # a step is accepted if the tangent turns by less than 0.3 rad; otherwise it is halved
            if new is not None and self._turn(place, new) < 0.3:
                return new
            # Newton's method failed or the tangent turned too far; a shorter step is more likely to
            # stay on this branch
            length *= 0.5
        return None

    def _turn(self, a: Place, b: Place) -> float:
        ahead = _carried(a.point, b.point, a.tangent * self.sizes(a.point)) / self.sizes(b.point)
        cosine = ahead @ b.tangent / max(np.linalg.norm(ahead), 1e-300)
        return float(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def corrected(self, place: Place, length: float) -> Place | None:
        """The point of the branch on the plane orthogonal to the tangent at distance `length`."""
        start, sizes = place.point, self.sizes(place.point)
        at = self.problem.moved(start, length * place.tangent * sizes)
        if at is None:
            return None
        for _ in range(12):
            r = self.problem.residual(at)
            # largest residual of a point on a branch
            if np.linalg.norm(r) < SOLUTION_ERROR:
                break
            ahead = _carried(start, at, place.tangent * sizes) / self.sizes(at)
            J = np.vstack([self.rows(at), ahead / np.linalg.norm(ahead)])
            right = np.concatenate([-r, np.zeros(len(J) - len(r))])
            step = Decomposition(J, PLACED).solve(right)
            # a correction longer than twice the step probably leads to another branch
            if np.linalg.norm(step) > 2 * self.step:
                return None
            new = self.problem.moved(at, step * self.sizes(at))
            if new is None:
                return None
            at = new
        else:
            if np.linalg.norm(self.problem.residual(at)) > 1e3 * SOLUTION_ERROR:
                return None
        before = _carried(start, at, place.tangent * sizes) / self.sizes(at)
        return self.place(at, before, length)

    def linear(self, at: Point) -> np.ndarray:
        """Eigenvalues of the linearization, without symmetries."""
        here = self.state(at)
        field = None
        if self.problem.symmetric is not None:
            field = self.problem.symmetric.combined(at.gamma)
        varied = here.varied(field)
        tangent = here.tangent_by(varied)
        A = tangent.project @ generator_of_deviations(here, varied) @ tangent.basis
        if self.problem.symmetric is not None:
            directions = self.problem.symmetric.directions(here.dynamics, here.state, here.w)
            # eigenvalues along symmetries are always zero and would hide others that pass through
            # zero
            across = Decomposition(tangent.project @ directions).left_kernel
            A = across.T @ A @ across
        return eigenvalues(A)

    def state(self, at: Point) -> ConstrainedState:
        """The point as a state with its acceleration."""
        dynamics = self.problem.with_parameters(at.mu)
        return solve(dynamics, _on_device(host_state(at.q, at.v, self.problem.t)))

    def slope(self, place: Place, eigenvalue: complex) -> complex | None:
        """Derivative of a simple eigenvalue by the parameter along the branch; None at a fold and
        near an end of the branch.
        """
        moved = np.zeros((2, 4), complex)
        for i, part in enumerate((-2, -1, 1, 2)):
            near = self.corrected(place, part * SLOPE_STEP)
            if near is None:
                return None
            found = near.eigenvalues
            moved[:, i] = near.value, found[np.argmin(np.abs(found - eigenvalue))]
        along, change = moved @ np.array([1.0, -8.0, 8.0, -1.0]) / (12 * SLOPE_STEP)
        # the branch turns round if the component of its tangent along the parameter is below this
        turned = abs(along) <= ALL_BUT_ZERO * self.scale[2]
        return None if turned else complex(change / along.real)

    def direction(self, place: Place, tangent: np.ndarray) -> tuple[np.ndarray, float]:
        """A tangent as (dq, change of the parameter), dq of length one unless it is zero."""
        at = place.point
        step = tangent * self.sizes(at)
        dq = at.local.N @ (at.Y @ step[: at.Y.shape[1]])
        size = np.linalg.norm(dq)
        size = size if size > AGREEMENT * abs(step[-1]) else abs(step[-1])
        return dq / size, float(step[-1] / size)

    def tangents(self, place: Place) -> tuple[tuple[np.ndarray, float], ...]:
        """Tangents of the branches that cross at a branch point: the roots of the quadratic form of
        the second derivative of r on the kernel of its first derivative.
        """
        at = place.point
        split = Decomposition(self.rows(at))
        plane, lefts = split.right.T[-2:], split.left[:, len(split.right) - 2 :].T
        n = len(self.problem.residual(at))
        forms = np.zeros((len(lefts), 2, 2))
        for i in range(2):
            slopes = []
            # central differences of the Jacobian, because its derivative is needed at only one
            # point of the branch
            for sign in (1.0, -1.0):
                moved = self.problem.moved(at, sign * SLOPE_STEP * plane[i] * self.sizes(at))
                if moved is None:
                    return (self.direction(place, place.tangent),)
                carried = [
                    _carried(at, moved, x * self.sizes(at)) / self.sizes(moved) for x in plane
                ]
                J = self.problem.jacobian(moved) * self.sizes(moved)
                slopes.append(np.array([lefts[:, :n] @ (J @ x) for x in carried]))
            forms[:, i] = (slopes[0] - slopes[1]).T / (2 * SLOPE_STEP)
        # redundant rows give left null vectors whose quadratic form is zero
        form = forms[np.argmax(np.linalg.norm(forms, axis=(1, 2)))]
        # a definite form shows no second branch; the first one is where the form is smallest
        found = zeros_of_form(form)
        found = found if len(found) else zeros_of_form(form, np.inf)
        return tuple(self.direction(place, x @ plane) for x in found)


def _carried(a: Point, b: Point, step: np.ndarray) -> np.ndarray:
    """A step of (y, γ, s) at a, expressed in the basis at b."""
    ny = a.Y.shape[1]
    y = b.Y.T @ (b.metric @ (a.Y @ step[:ny]))
    return np.concatenate([y, step[ny:]])


def _on_device(s: State) -> State:
    import jax.numpy as jnp

    return State(*(jnp.asarray(x, float) for x in (s.q, s.v, s.t)))


class Event(NamedTuple):
    """A kind of event, its test function, and the eigenvalue at the event."""

    kind: str
    measure: Callable[[np.ndarray], float]
    eigenvalue: Callable[[np.ndarray], complex]


class _Counts(NamedTuple):
    """The number of nonzero real eigenvalues, and of pairs to the left of, on, and to the right of
    the imaginary axis.
    """

    real: int
    left: int
    center: int
    right: int


def events(before: np.ndarray, after: np.ndarray, rate: float) -> list[Event]:
    """Events between two neighboring points of a branch, from the eigenvalues at both.

    Args:
        before, after: eigenvalues, shape (n,).
        rate: size of eigenvalues [1/s].
    """
    a, b = _counts(before, rate), _counts(after, rate)
    # the eigenvalue at one of the two points may lie on the axis itself
    if a.real == b.real and abs(a.center - b.center) <= 1 and abs(a.right - b.right) == 1:
        pair = lambda x: _crossing(x, rate)
        return [Event("Hopf point", lambda x: pair(x).real, lambda x: complex(0, pair(x).imag))]
    if abs(a.real - b.real) == 2 and a.center == b.center and _pairs(before, after, rate):
        two, mean = (lambda x: _real_pair(x, rate)), (lambda x: complex(np.mean(x).real))
    elif a.real == b.real and abs(a.center - b.center) == 2 and a.right != b.right:
        two = lambda x: _closest(_upper(x, rate))
        mean = lambda x: complex(0, np.mean(x).imag)
    else:
        return []
    # (λ₁ − λ₂)² is real for both kinds of pairs
    apart = lambda x: float(np.real(np.diff(two(x))[0] ** 2))
    return [Event("double eigenvalue", apart, lambda x: mean(two(x)))]


def _counts(values: np.ndarray, rate: float) -> _Counts:
    away = values[np.abs(values) > SMALL_PART * rate]
    pairs = away[np.imag(away) > ALL_BUT_ZERO * rate]
    sides = np.sign(np.where(np.abs(np.real(pairs)) > ALL_BUT_ZERO * rate, np.real(pairs), 0.0))
    real = int(np.sum(np.abs(np.imag(away)) <= ALL_BUT_ZERO * rate))
    return _Counts(real, *(int(np.sum(sides == side)) for side in (-1, 0, 1)))


def _upper(values: np.ndarray, rate: float) -> np.ndarray:
    return values[(np.imag(values) > ALL_BUT_ZERO * rate) & (np.abs(values) > SMALL_PART * rate)]


def _crossing(values: np.ndarray, rate: float) -> complex:
    """The pair nearest to the imaginary axis."""
    pairs = _upper(values, rate)
    return complex(pairs[np.argmin(np.abs(np.real(pairs)))])


def _closest(values: np.ndarray) -> np.ndarray:
    """The two values that are closest to each other."""
    apart = np.abs(values[:, None] - values) + np.where(np.eye(len(values)), np.inf, 0.0)
    return values[list(np.unravel_index(np.argmin(apart), apart.shape))]


def _pairs(before: np.ndarray, after: np.ndarray, rate: float) -> bool:
    """True if both points have pairs away from zero; a pair that emerges from zero is not an
    event.
    """
    return all(len(_choices(x, rate)) for x in (before, after))


def _real_pair(values: np.ndarray, rate: float) -> np.ndarray:
    """The two eigenvalues that are real on one side of the event and conjugate on the other: the
    closest two among conjugate pairs and neighbors on the real axis.
    """
    return min(_choices(values, rate), key=lambda pair: abs(pair[0] - pair[1]))


def _choices(values: np.ndarray, rate: float) -> list[np.ndarray]:
    """Conjugate pairs, and pairs of neighbors on the real axis."""
    away = values[np.abs(values) > SMALL_PART * rate]
    real = np.sort(np.real(away[np.abs(np.imag(away)) <= ALL_BUT_ZERO * rate]))
    pairs = away[np.imag(away) > ALL_BUT_ZERO * rate]
    choices = [np.array([x, np.conj(x)]) for x in pairs]
    return choices + [np.array([x, y], complex) for x, y in zip(real, real[1:], strict=False)]
