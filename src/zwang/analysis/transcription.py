"""One phase of an optimal control problem on a grid as a nonlinear program."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.analysis.control_pieces import halves
from zwang.analysis.nonlinear_program import NonlinearProgram, Pattern
from zwang.analysis.optimal_interval import (
    Between,
    Problem,
    Variables,
    between,
    limits,
    outcome_of,
)
from zwang.compile.blocks import mapped
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.thresholds import LAST_DIGIT, SMALL_PART

PHASE_DURATION, PHASE_BEGIN = 0, 1
"""Indices of the duration and the initial time of the phase in w."""
CHANGE = LAST_DIGIT ** (1 / 3)
"""Relative step of the finite differences of Jacobians for the Hessian. The error of the Hessian is
the square of this, 1e-10; that of the Jacobian is round-off.
"""


def slopes(of: Problem, tau, z, beside):
    """The results of an interval in one array, their derivatives by z, and the error of its
    step.
    """

    def values(z):
        found, error = outcome_of(of, tau, _split(of, z), beside)
        found = jnp.concatenate(found)
        return found, (found, error)

    J, (found, error) = jax.jacfwd(values, has_aux=True)(z)
    return found, J, error


def _split(of: Problem, z) -> Variables:
    """The variables of an interval, unpacked from one array."""
    nx = of.flow.dynamics.system.nq + of.flow.dynamics.system.nv
    return Variables(z[:nx], z[nx:-2].reshape(of.degree + 1, -1), z[-2], z[-1])


def _volume(flow: ConstrainedVectorField, t, x) -> Array:
    """Logarithm of the squared volume of the rows of unit length."""
    return flow.dynamics.gauss_at(flow.state(t, x)).log_det()


def _between(of: Problem, tau, z, part, beside) -> tuple:
    return between(of, tau, _split(of, z), part, beside)


def _off(flow: ConstrainedVectorField, t, x) -> Array:
    """The norm of φ and ψ together."""
    phi, psi = flow.dynamics.residuals(flow.state(t, x))
    return jnp.sqrt(jnp.sum(phi**2) + jnp.sum(psi**2))


def curvature(slopes: Callable, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`Σ y ∇²f` at several points, by differences of Jacobians, shape (points, n, n).

    Args:
        slopes: (indices of points, arguments) → Jacobians there, shape (any, rows, n).
        z: arguments, shape (points, n).
        y: weights of the rows, shape (points, rows).
    """
    count, n = z.shape
    size = np.maximum(1.0, np.max(np.abs(z), axis=0))
    # rounded, so that exactly the added step is divided by
    step = (size + CHANGE * size) - size
    moved = np.stack([z[:, None] + s * np.diag(step) for s in (1, -1)], axis=1)
    J = slopes(np.repeat(np.arange(count), 2 * n), moved.reshape(-1, n))
    g = np.einsum("ksjab,ka->ksjb", J.reshape(count, 2, n, -1, n), y)
    H = (g[:, 0] - g[:, 1]) / (2 * step[:, None])
    return 0.5 * (H + np.swapaxes(H, 1, 2))


class Goal(NamedTuple):
    """The conditions on the last state: `held @ x = at`, with rows that are independent along the
    constraints; `x` is a state that satisfies them.
    """

    held: np.ndarray
    at: np.ndarray
    x: np.ndarray

    @classmethod
    def nothing(cls, x: np.ndarray) -> Goal:
        """A goal without conditions, for a last state near x."""
        return cls(np.zeros((0, len(x))), np.zeros(0), x)


@dataclasses.dataclass(eq=False)
class Transcription:
    """The nonlinear program of a phase on a grid.

    Attributes:
        problem: the problem.
        tau: ends of the intervals as fractions of the duration, shape (intervals + 1,).
        start: x_0, or None if the previous phase determines it.
        goal: the conditions on x_N.
        limits: lowest and highest "T", "begin", "x", "c" and "limited"; "limited first" and
            "limited last" where these differ at the ends of the phase.
        joined: True if the control is continuous.
        singular: mask of the nodes at which rows lose rank, shape (intervals + 1,).
    """

    problem: Problem
    tau: np.ndarray
    start: np.ndarray | None
    goal: Goal
    limits: dict[str, tuple[np.ndarray, np.ndarray]]
    joined: bool
    singular: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, bool))

    def __post_init__(self):
        if not len(self.singular):
            self.singular = np.zeros(len(self.tau), bool)
        N, nx = len(self.tau) - 1, len(self.goal.x)
        d, nu = self.problem.degree, len(self.limits["c"][0])
        own = d if self.joined else d + 1  # coefficients that are not shared with the next
        block = nx + own * nu
        first = 2 + block * np.arange(N + 1)
        self.x_at = first[:, None] + np.arange(nx)
        c_at = (first[:N, None] + nx + np.arange(own * nu)).reshape(N, own, nu)
        self.size = int(first[N] + nx)
        if self.joined:
            # the last coefficient of a continuous control is the first of the next interval
            last = self.size + np.arange(nu)
            after = np.concatenate([c_at[1:, 0], last[None]])
            c_at, self.size = np.concatenate([c_at, after[:, None]], axis=1), self.size + nu
        self.c_at = c_at
        whole = np.tile([PHASE_DURATION, PHASE_BEGIN], (N, 1))
        self.z_at = np.hstack([self.x_at[:N], c_at.reshape(N, -1), whole])
        self.spans = np.stack([self.tau[:-1], self.tau[1:]], axis=1)
        self._known = np.zeros(0), ()

    def packed(self, x: np.ndarray, c: np.ndarray, T: float, begin: float) -> np.ndarray:
        """w from states (N + 1, nx), coefficients (N, degree + 1, nu), duration and initial time
        [s].
        """
        w = np.zeros(self.size)
        w[PHASE_DURATION], w[PHASE_BEGIN], w[self.x_at], w[self.c_at] = T, begin, x, c
        return w

    def times(self, w: np.ndarray) -> np.ndarray:
        """Times of the nodes [s]."""
        return w[PHASE_BEGIN] + self.tau * w[PHASE_DURATION]

    def between(self, w: np.ndarray, part: float, chosen: slice | np.ndarray = slice(None)):
        """The motion at a fraction of some intervals."""
        k = np.arange(len(self.spans))[chosen]
        z = w[self.z_at[k]]
        t, x, u, multipliers = self._limits(_between, k, z, np.full(len(z), part))
        return Between(t, x, u, multipliers, mapped(_off, (self.problem.flow,), t, x))

    def _limits(self, f: Callable, k: np.ndarray, *args: np.ndarray) -> tuple:
        """Apply a function to some intervals; `limits` at an end at which rows lose rank."""
        ends = self.singular[:-1] | self.singular[1:]
        return limits(f, (self.problem,), ends[k], self.spans[k], *args)

    def singular_at(self, w: np.ndarray) -> np.ndarray:
        """Mask of the nodes at which rows lose rank, now or before, shape (intervals + 1,)."""
        flow, x = self.problem.flow, w[self.x_at]
        if not flow.dynamics.constraints.m:
            return self.singular.copy()
        volume = np.asarray(mapped(_volume, (flow,), self.times(w), x))
        # a node that is marked unnecessarily is also computed correctly, by six steps in place of
        # one
        lost = ~(volume > np.nanmax(volume, initial=-np.inf) + 2 * np.log(SMALL_PART))
        return self.singular | (lost & np.all(np.isfinite(x), axis=1))

    def evaluated(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`slopes` of all intervals, computed once for each w."""
        if not np.array_equal(self._known[0], w):
            self._known = w.copy(), self._slopes(np.arange(len(self.spans)), w[self.z_at])
        return self._known[1]  # pyright: ignore[reportReturnType]

    def _slopes(self, k: np.ndarray, z: np.ndarray) -> tuple:
        return self._limits(slopes, k, z)

    def divided(self, w: np.ndarray, parts: np.ndarray) -> tuple[Transcription, np.ndarray]:
        """The same motion with intervals divided into 1 or 2: the grid, and w on it."""
        if not len(chosen := np.flatnonzero(parts == 2)):
            return self, w
        tau = np.insert(self.tau, chosen + 1, np.mean(self.spans, axis=1)[chosen])
        x = np.insert(w[self.x_at], chosen + 1, self.between(w, 0.5, chosen).x, axis=0)
        whole = w[self.c_at]
        c = [y for k, own in enumerate(whole) for y in (halves(own) if parts[k] == 2 else [own])]
        singular = np.insert(self.singular, chosen + 1, False)
        made = dataclasses.replace(self, tau=tau, singular=singular)
        return made, made.packed(x, np.array(c), w[PHASE_DURATION], w[PHASE_BEGIN])

    def program(self) -> NonlinearProgram:
        """The nonlinear program, with exact first derivatives; second derivatives by their
        differences.

        Its constraints are Φ − x and the limited quantities of each interval, interval by interval,
        followed by those of the end.
        """
        N, nx, nz = len(self.tau) - 1, len(self.goal.x), self.z_at.shape[1]
        low, high = self._bounds()
        each, ends = len(low) // N, len(self.goal.at)
        rows = np.arange(N * each).reshape(N, each)
        last = N * each + np.arange(ends)
        pattern = [
            (np.repeat(rows, nz), np.tile(self.z_at, (1, each)).ravel()),
            (rows[:, :nx].ravel(), self.x_at[1:].ravel()),
            (np.repeat(last, nx), np.tile(self.x_at[N], ends)),
        ]
        a, b = (self.z_at[:, i].ravel() for i in self._pairs)
        box = []
        for side in (0, 1):
            at = {k: x[side] for k, x in self.limits.items()}
            x = np.tile(at["x"], (N + 1, 1))
            x[0] = x[0] if self.start is None else self.start
            c = np.broadcast_to(at["c"], self.c_at.shape)
            box.append(self.packed(x, c, float(at["T"]), float(at["begin"])))
        return NonlinearProgram(
            lambda w: float(np.sum(self.evaluated(w)[0][:, -1])),
            self._gradient,
            self._constraints,
            self._jacobian,
            self._hessian,
            Pattern.of(
                (N * each + ends, self.size), *map(np.concatenate, zip(*pattern, strict=True))
            ),
            Pattern.of((self.size, self.size), np.minimum(a, b), np.maximum(a, b)),
            np.concatenate([low, self.goal.at]),
            np.concatenate([high, self.goal.at]),
            *box,
        )

    def _bounds(self) -> list[np.ndarray]:
        """Lowest and highest values of the rows of all intervals."""
        N, nx, found = len(self.tau) - 1, len(self.goal.x), []
        for side in (0, 1):
            usual, first, last = (
                self.limits.get(k, self.limits["limited"])[side]
                for k in ("limited", "limited first", "limited last")
            )
            rows = np.tile(np.concatenate([np.zeros(nx), usual, usual]), (N, 1))
            rows[0, nx : nx + len(usual)], rows[-1, nx + len(usual) :] = first, last
            found.append(rows.ravel())
        return found

    def _constraints(self, w: np.ndarray) -> np.ndarray:
        x, found = w[self.x_at], self.evaluated(w)[0][:, :-1].copy()
        found[:, : x.shape[1]] -= x[1:]
        return np.concatenate([found.ravel(), self.goal.held @ x[-1]])

    def _jacobian(self, w: np.ndarray) -> np.ndarray:
        own = self.evaluated(w)[1][:, :-1]
        return np.concatenate([own.ravel(), -np.ones(self.x_at[1:].size), self.goal.held.ravel()])

    def described(self, row: int, names: tuple[str, ...], states: list[str]) -> str:
        """A constraint of the program in words.

        Args:
            row: its index.
            names: of the quantities that are limited at both ends of an interval.
            states: names of q and v.
        """
        nx = len(self.goal.x)
        k, i = divmod(row, nx + 2 * len(names))
        if k == len(self.tau) - 1:
            return f"the end of {states[int(np.argmax(np.abs(self.goal.held[i])))]!r}"
        about = f"from {self.tau[k]:.3g} to {self.tau[k + 1]:.3g} of the duration"
        if i < nx:
            return f"the equation of motion of {states[i]!r} {about}"
        return f"the bound of {names[(i - nx) % len(names)]!r} {about}"

    @functools.cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of variables of an interval."""
        return np.triu_indices(self.z_at.shape[1])

    def _gradient(self, w: np.ndarray) -> np.ndarray:
        return np.bincount(self.z_at.ravel(), self.evaluated(w)[1][:, -1].ravel(), self.size)

    def _hessian(self, w: np.ndarray, of_cost: float, multipliers: np.ndarray) -> np.ndarray:
        N = len(self.tau) - 1
        y = multipliers[: len(multipliers) - len(self.goal.at)].reshape(N, -1)
        y = np.hstack([y, np.full((N, 1), of_cost)])
        at = lambda k, z: self._slopes(k, z)[1]
        i, j = self._pairs
        return curvature(at, w[self.z_at], y)[:, i, j].ravel()
