"""A motion on the servo constraints that stays bounded forward and backward in time: a two-point
boundary value problem on their manifold Z.

    x_{k+1} = Φ(x_k) on Z,     Φ: one step of order 8 of ẋ = f(x) + g(x) u(x)
    first node: no component along decaying directions;  last node: none along growing directions

Newton's iteration solves for all nodes at once. Each node has coordinates z in its tangent space, x
⊕ T z, and is projected onto Z after every iteration. Over one step the flow grows only by exp(λ h),
so the linear system stays well-conditioned for motions of any length.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.lapack import LU
from zwang.algebra.spectrum import eigenvectors
from zwang.compile.blocks import mapped
from zwang.dynamics import functions
from zwang.equations.state import State, host_state
from zwang.errors import ModelError
from zwang.servo.controller import Controller
from zwang.servo.zero_dynamics import GROWTH_MARGIN, beside, linearized_on_z, off_servo, speed_of
from zwang.stepping.dopri8 import TABLEAU
from zwang.stepping.explicit import explicit_step
from zwang.thresholds import RESOLVED, SOLUTION_ERROR

MOST_ITERATIONS = 40
"""Largest number of Newton iterations for all nodes, and for the projection of the nodes onto Z."""


@dataclasses.dataclass(frozen=True)
class RestOnZ:
    """An equilibrium of the zero dynamics.

    Attributes:
        q, v: the state.
        tangent: T, an orthonormal basis of directions (N⁺ δq, δv) along Z, shape (2 nv, n).
        eigenvalues: of the zero dynamics [1/s].
        decaying, growing: rows L; L z, with z = T⁺ δx, is the component of a deviation along the
            directions that decay, or grow.
    """

    q: np.ndarray
    v: np.ndarray
    tangent: np.ndarray
    eigenvalues: np.ndarray
    decaying: np.ndarray
    growing: np.ndarray


@dataclasses.dataclass(frozen=True)
class Nodes:
    """A motion at its nodes.

    Attributes:
        t, q, v: shapes (nodes,), (nodes, nq), (nodes, nv).
        error: the largest error of a step relative to the size of the motion, estimated by the
            embedded method.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    error: float = np.inf

    def at(self, t: np.ndarray) -> Nodes:
        """The interpolated motion at other times, as an initial guess for more nodes."""
        q, v = (np.stack([np.interp(t, self.t, x) for x in y.T], axis=1) for y in (self.q, self.v))
        return Nodes(t, q, v)


def rest_on(bound: Controller, q, v, t: float, name: str) -> RestOnZ:
    """The equilibrium of the zero dynamics nearest to a given state.

    Raises:
        ModelError: if there is none, or if a direction neither decays nor grows.
    """
    q, v = np.asarray(q, float), np.asarray(v, float)
    for _ in range(MOST_ITERATIONS):
        residual, D, J, rate = (np.asarray(x) for x in linearized_on_z(bound, host_state(q, v, t)))
        step = -Decomposition(np.vstack([D, J])).solve(np.concatenate([residual, rate]))
        moved = beside(bound.dynamics, host_state(q, v, t), jnp.asarray(step))
        q, v = np.asarray(moved.q), np.asarray(moved.v)
        if np.max(np.abs(step), initial=0.0) <= SOLUTION_ERROR * (
            1 + np.max(np.abs(q), initial=0.0)
        ):
            break
    off = max(np.max(np.abs(x), initial=0.0) for x in (residual, rate))
    if not off <= RESOLVED * (1 + np.max(np.abs(J), initial=0.0)):
        raise ModelError(
            f"stable_inversion: at t = {t:g} s no state at rest meets the servo constraints "
            f"(nearest: rate {off:.2g}); the motion that is asked for has to begin and to end at "
            "rest, and its path has to stay where it is before and after."
        )
    T = Decomposition(D).kernel
    reduced = T.T @ J @ T
    if not T.shape[1]:
        none = np.zeros((0, 0))
        return RestOnZ(q, v, T, np.zeros(0), none, none)
    values, left, _ = eigenvectors(reduced)
    real = np.real(values)
    if np.min(np.abs(real)) <= GROWTH_MARGIN * np.max(np.abs(values)):
        raise ModelError(
            f"stable_inversion: the zero dynamics neither decay nor grow at {name} of the motion "
            "(an eigenvalue on the imaginary axis), so that the bounded motion is not unique; add "
            "damping to the model."
        )

    def rows(chosen):
        both = np.concatenate([np.real(left[:, chosen]), np.imag(left[:, chosen])], axis=1)
        return Decomposition(both).range.T if np.any(chosen) else np.zeros((0, len(reduced)))

    return RestOnZ(q, v, T, values, rows(real < 0), rows(real > 0))


def bounded_motion(bound: Controller, start: RestOnZ, end: RestOnZ, guess: Nodes) -> Nodes:
    """The motion from one equilibrium to another, at given times.

    Args:
        bound: the servo and the system it acts on.
        start, end: the equilibria at the beginning and the end.
        guess: initial guess at the nodes.

    Raises:
        ModelError: if the iteration does not converge.
    """
    nodes, size = guess, np.inf
    for _ in range(MOST_ITERATIONS):
        nodes, tangents = _projected(bound, nodes)
        defects, slopes, error = _intervals(bound, nodes, tangents)
        dz = _corrections(start, end, nodes, tangents, defects, slopes, bound)
        before, size = size, float(np.max(np.abs(dz), initial=0.0))
        if not np.isfinite(size):
            break
        # far from the solution a full step would leave the region where the linearization is valid
        scale = 1 + np.max(np.abs(nodes.q)) + np.max(np.abs(nodes.v))
        share = min(1.0, 0.5 * scale / max(size, 1e-300)) if size > before else 1.0
        steps = share * np.einsum("kij,kj->ki", tangents, dz)
        q, v = map(np.asarray, mapped(_moved, (bound,), nodes.q, nodes.v, nodes.t, steps))
        nodes = Nodes(nodes.t, q, v, error / scale)
        # Newton's iteration converges quadratically, so the next change would be round-off
        if size <= RESOLVED * scale:
            return dataclasses.replace(_projected(bound, nodes)[0], error=error / scale)
    raise ModelError(
        "stable_inversion: the bounded motion is not found by Newton's iteration; ask for a slower "
        "motion first, or give more nodes."
    )


def control_along(bound: Controller, nodes: Nodes) -> np.ndarray:
    """u at the nodes, shape (nodes, nu)."""
    return np.asarray(mapped(_control, (bound,), nodes.q, nodes.v, nodes.t))


def first_guess(bound: Controller, start: RestOnZ, t: np.ndarray) -> Nodes:
    """An initial guess: each node is the state on Z nearest to the previous node, at zero
    velocity.
    """
    q = [start.q]
    for time in t[1:]:
        alone = Nodes(np.array([time]), q[-1][None], np.zeros((1, len(start.v))))
        q.append(_projected(bound, alone)[0].q[0])
    return Nodes(t, np.array(q), np.zeros((len(t), len(start.v))))


def _projected(bound: Controller, nodes: Nodes) -> tuple[Nodes, np.ndarray]:
    """The nodes projected onto Z, and a basis of the tangent space at each, shape (nodes, 2 nv,
    n).
    """
    q, v = nodes.q, nodes.v
    for _ in range(MOST_ITERATIONS):
        residual, D = map(np.asarray, mapped(_off, (bound,), q, v, nodes.t))
        split = [Decomposition(x) for x in D]
        size = 1 + np.max(np.abs(q)) + np.max(np.abs(v))
        if np.max(np.abs(residual), initial=0.0) <= SOLUTION_ERROR * size:
            break
        steps = -np.array([x.solve(r) for x, r in zip(split, residual, strict=True)])
        q, v = map(np.asarray, mapped(_moved, (bound,), q, v, nodes.t, steps))
    return dataclasses.replace(nodes, q=q, v=v), np.array([x.kernel for x in split])


def _intervals(bound: Controller, nodes: Nodes, tangents: np.ndarray):
    """The difference between the end of each step and the next node, in the tangent coordinates of
    that node, shape (steps, n); its derivatives by the coordinates of the node before; and the
    largest error of a step.
    """
    h = np.diff(nodes.t)
    q, v, t = nodes.q, nodes.v, nodes.t
    given = q[:-1], v[:-1], t[:-1], tangents[:-1], q[1:], v[1:], h
    ends, slopes, errors = map(np.asarray, mapped(_interval, (bound,), *given))
    back = np.swapaxes(tangents[1:], 1, 2)
    defects = np.einsum("kij,kj->ki", back, ends)
    return defects, back @ slopes, float(np.max(errors))


def _corrections(start, end, nodes, tangents, defects, slopes, bound) -> np.ndarray:
    """dz of every node, shape (nodes, n), from one linear system for all nodes."""
    count, n = len(nodes.t), tangents.shape[2]
    if not n:
        return np.zeros((count, 0))
    matrix, right = np.zeros((count * n, count * n)), np.zeros(count * n)
    steps = [(start, start.decaying, 0), (end, end.growing, count - 1)]
    row = 0
    for rest, L, k in steps:
        away = np.asarray(_away(bound, rest, nodes, k))
        onto = L @ rest.tangent.T
        matrix[row : row + len(L), k * n : (k + 1) * n] = onto @ tangents[k]
        right[row : row + len(L)] = -onto @ away
        row += len(L)
    if row != n:
        raise ModelError(
            f"stable_inversion: {len(start.decaying)} directions decay at the start and "
            f"{len(end.growing)} grow at the end, expected {n} together: the zero dynamics change "
            "their kind along the motion."
        )
    for k in range(count - 1):
        rows = slice(row + k * n, row + (k + 1) * n)
        matrix[rows, k * n : (k + 1) * n] = slopes[k]
        matrix[rows, (k + 1) * n : (k + 2) * n] = -np.eye(n)
        right[rows] = -defects[k]
    return np.asarray(LU(jnp.asarray(matrix)).solve(jnp.asarray(right))).reshape(count, n)


def _away(bound: Controller, rest: RestOnZ, nodes: Nodes, k: int) -> np.ndarray:
    """The deviation of a node from an equilibrium, in directions (N⁺ δq, δv)."""
    system, p = bound.dynamics.system, bound.dynamics.p
    dq = functions.as_velocity(system, jnp.asarray(rest.q), nodes.t[k], p, nodes.q[k] - rest.q)
    return np.concatenate([np.asarray(dq), nodes.v[k] - rest.v])


def _off(bound: Controller, q, v, t):
    s = State(q, v, t)
    residual = lambda step: off_servo(bound, beside(bound.dynamics, s, step))
    zero = jnp.zeros(2 * len(v))
    return residual(zero), jax.jacfwd(residual)(zero)


def _moved(bound: Controller, q, v, t, step):
    nv, dynamics = len(v), bound.dynamics
    return dynamics.system.move(q, step[:nv], t, dynamics.p), v + step[nv:]


def _control(bound: Controller, q, v, t):
    return bound.choose(bound.dynamics.equation_at(State(q, v, t))).u


def _interval(bound: Controller, q, v, t, T, q_end, v_end, h):
    """The end of a step relative to the next node, its derivatives by z, and its error."""
    system, p = bound.dynamics.system, bound.dynamics.p
    back = lambda dq: functions.as_velocity(system, q_end, t + h, p, dq)

    def end(z):
        s = beside(bound.dynamics, State(q, v, t), T @ z)
        q1, v1, error = _stepped(bound, s, h)
        apart = jnp.concatenate([back(q1 - q_end), v1 - v_end])
        return apart, error

    zero = jnp.zeros(T.shape[1])
    apart, error = end(zero)
    return apart, jax.jacfwd(lambda z: end(z)[0])(zero), jnp.max(jnp.abs(error))


def _stepped(bound: Controller, s: State, h):
    """One step of the closed loop, and its error."""
    nq = len(s.q)

    def rate(t, y, _):
        return jnp.concatenate(speed_of(bound, State(y[:nq], y[nq:], t))), jnp.zeros(())

    end, error, _ = explicit_step(rate, TABLEAU, s.t, jnp.concatenate([s.q, s.v]), h)
    return end[:nq], end[nq:], error
