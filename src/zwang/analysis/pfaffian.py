"""Integrability of velocity constraints and the reachable set: Frobenius' theorem for any number of
Pfaffian forms, numerically.

The rows R (v, ṫ) = 0 of a model that are linear in v admit the directions Δ = ker R of (q, t). The
reachable set from a configuration is a manifold whose tangent space L is the smallest space that
contains Δ and all Lie brackets of fields in Δ. Forms that vanish on L are integrable; the model is
holonomic if L = Δ.

L is computed without nested brackets. Along a random motion q(s) in Δ with the derivative Φ(s) of
its flow, L is spanned by the directions Φ(s)⁻¹ Δ(q(s)), because their expansions in s contain the
brackets of all orders as coefficients. Rows that are not linear in v admit a set of velocities in
place of Δ; its fields are found by Newton's iteration from random velocities, at ṫ = 1.

References: Sussmann (1973), Trans. Amer. Math. Soc. 180, 171-188 (orbits); Sontag (1992), SIAM J.
Control Optim. 30, 1400-1426 (random motions are enough, with probability one, for analytic models);
Frobenius (1877).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition, independent, solve_square
from zwang.algebra.lapack import LU
from zwang.compile import program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import Holonomic
from zwang.equations.state import State
from zwang.stepping.explicit import equal_steps
from zwang.thresholds import AGREEMENT, ALIKE, SOLUTION_ERROR

STEPS = 96
"""Number of steps of the fourth-order Runge-Kutta method along a random motion."""
MOTIONS = 2
"""Number of random motions; a direction counts if any of them shows it."""


@dataclasses.dataclass(frozen=True)
class Reach:
    """The configurations that velocity constraints leave reachable.

    Attributes:
        dimension: of the reachable set of configurations at fixed t (the accessible dimension).
        directions: dimension of Δ at fixed t, the degrees of freedom of velocities.
        integrable: constraints of which all rows are integrable, given all others.
        rheonomic: integrable constraints whose integral depends on t.
        gap: ratio of the largest singular value that counts as zero to the smallest that does not;
            far below 1 if the decision is clear.
    """

    dimension: int
    directions: int
    integrable: tuple[str, ...]
    gap: float
    rheonomic: tuple[str, ...] = ()


def _forms(dynamics: Dynamics, rows: np.ndarray, q, t):
    """Rows of R: [A | ψ(q, 0, t)], shape (len(rows), nv + 1)."""
    c, p, still = dynamics.constraints, dynamics.p, jnp.zeros(dynamics.system.nv)
    A = c.matrix(q, still, t, p)[rows]
    return jnp.column_stack([A, c.velocity_by_row(q, still, t, p)[rows]])


def _direction(dynamics: Dynamics, rows: np.ndarray, scale, x, w):
    """A direction of (q, t) in Δ: w projected in scaled directions, then moved to coordinates."""
    q, t = x[:-1], x[-1]
    R = _forms(dynamics, rows, q, t) * scale
    # the rows are independent, so their product is invertible along a generic motion
    allowed = scale * (w - R.T @ LU(R @ R.T).solve(R @ w))
    moved = dynamics.system.along(q, allowed[:-1], t, dynamics.p)
    return jnp.append(moved, allowed[-1])


def _nonlinear_direction(dynamics: Dynamics, rows: np.ndarray, scale, x, w):
    """A velocity near w that satisfies all rows, as a direction of (q, t) with ṫ = 1."""
    q, t, c, p = x[:-1], x[-1], dynamics.constraints, dynamics.p

    def step(_, v):
        A = c.matrix(q, v, t, p)[rows] * scale[:-1]
        slip = c.velocity_by_row(q, v, t, p)[rows]
        return v - scale[:-1] * (A.T @ LU(A @ A.T).solve(slip))

    # 12 steps of Newton's iteration toward a velocity that satisfies the nonlinear rows
    v = jax.lax.fori_loop(0, 12, step, scale[:-1] * w[:-1])
    return jnp.append(dynamics.system.along(q, v, t, p), 1.0)


def _field(linear: bool) -> Callable:
    return _direction if linear else _nonlinear_direction


@program
def _motion(dynamics: Dynamics, rows, scale, x0, amplitude, phase, linear: bool):
    """Points and derivatives of the flow along a motion, shapes (steps, n), (steps, n, n)."""
    n, order = len(x0), jnp.arange(1, amplitude.shape[1] + 1)

    def rate(s, y):
        control = jnp.sum(amplitude * jnp.sin(2 * order * s + phase), axis=1)
        field = lambda x: _field(linear)(dynamics, rows, scale, x, control)
        along = jax.jacfwd(field)(y[:n]) @ y[n:].reshape(n, n)
        return jnp.append(field(y[:n]), along)

    # up to 1.5 m or rad in a typical coordinate
    found = equal_steps(rate, jnp.append(x0, jnp.eye(n)), 1.5, STEPS)
    return found[:, :n], found[:, n:].reshape(-1, n, n)


@program
def _allowed(dynamics: Dynamics, rows, scale, x, every, linear: bool):
    """Directions that span Δ at x, shape (n, len(every))."""
    field = _field(linear)
    return jax.vmap(lambda w: field(dynamics, rows, scale, x, w), out_axes=1)(every)


def _reachable(
    dynamics: Dynamics, rows: np.ndarray, s: State, scale, linear: bool = True
) -> tuple[np.ndarray, float]:
    """Orthonormal basis of L in coordinates (q, t), shape (n, dim L), and the gap."""
    random, n = np.random.default_rng(1877), len(s.q) + 1
    x0 = np.append(np.asarray(s.q), float(s.t))
    every = np.eye(len(scale)) if linear else random.standard_normal((2 * len(scale), len(scale)))
    found = [np.asarray(_allowed(dynamics, rows, scale, x0, every, linear))]
    for _ in range(MOTIONS):
        amplitude = random.standard_normal((len(scale), 3))
        phase = random.uniform(0, 2 * np.pi, amplitude.shape)
        places, flows = _motion(dynamics, rows, scale, x0, amplitude, phase, linear)
        for x, flow in zip(places[7::8], np.asarray(flows)[7::8], strict=True):
            if np.all(np.isfinite(flow)):
                there = np.asarray(_allowed(dynamics, rows, scale, x, every, linear))
                found.append(solve_square(np.asarray(flow), there))
    spanned = Decomposition(np.hstack([x / max(np.linalg.norm(x), 1e-300) for x in found]), ALIKE)
    dim, sigma = spanned.rank, spanned.singular_values
    below = sigma[dim] if dim < min(n, len(sigma)) else 0.0
    return spanned.range, float(below / sigma[dim - 1])


def reach(
    dynamics: Dynamics,
    s: State,
    linear: dict[str, slice],
    scale: np.ndarray,
    nonlinear: dict[str, slice] | None = None,
) -> Reach:
    """The reachable set under the holonomic constraints and the velocity constraints.

    Args:
        dynamics: the model.
        s: the state.
        linear: rows of the velocity constraints that are linear in v.
        scale: length of one unit of each velocity, shape (nv,).
        nonlinear: rows of the velocity constraints that are not linear in v.
    """
    c, every, bent = dynamics.constraints, np.append(scale, 1.0), nonlinear or {}
    R = np.asarray(_forms(dynamics, np.arange(c.m), s.q, s.t))
    owned = [*linear.values(), *bent.values()]
    wanted = np.concatenate([c.position_rows, *(np.arange(x.start, x.stop) for x in owned)])
    generic = R
    if bent:  # the gradient of such rows may vanish at rest
        v = scale * np.random.default_rng(1911).standard_normal(len(scale))
        A = np.asarray(c.matrix(s.q, jnp.asarray(v), s.t, dynamics.p))
        generic = np.column_stack([A, R[:, -1]])
    wanted = np.sort(wanted).astype(int)
    rows = wanted[independent(generic[wanted] * every)]
    basis, gap = _reachable(dynamics, rows, s, every, not bent)
    tangent = _velocities(dynamics, s, basis)
    size = np.linalg.norm(R * every, axis=1)
    value = np.abs(R * every @ (tangent / every[:, None]))
    vanishing = np.max(value, axis=1, initial=0.0) < ALIKE * np.maximum(size, 1e-300)
    integrable = tuple(name for name, x in linear.items() if np.all(vanishing[x]))
    moving = int(np.any(np.abs(tangent[-1]) > AGREEMENT))
    free = len(every) - len(rows) - moving
    rheonomic = tuple(x for x in integrable if _depends_on_time(dynamics, s, linear[x]))
    return Reach(basis.shape[1] - moving, free, integrable, gap, rheonomic)


def _depends_on_time(dynamics: Dynamics, s: State, rows: slice) -> bool:
    """True if forms have a component along dt, here or nearby."""
    random, own = np.random.default_rng(1895), np.arange(rows.start, rows.stop)
    for size in (0.0, 0.3, 0.3):
        away = jnp.asarray(size * random.standard_normal(dynamics.system.nv))
        q = dynamics.system.move(s.q, away, s.t, dynamics.p)
        R = np.asarray(_forms(dynamics, own, q, s.t + size))
        if np.any(np.abs(R[:, -1]) > SOLUTION_ERROR * np.max(np.abs(R), initial=0.0)):
            return True
    return False


def _velocities(dynamics: Dynamics, s: State, basis: np.ndarray) -> np.ndarray:
    """Directions of (q, t) as those of (v, ṫ)."""
    nv = dynamics.system.nv
    N = np.asarray(
        jax.vmap(lambda v: dynamics.system.along(s.q, v, s.t, dynamics.p), out_axes=1)(jnp.eye(nv))
    )
    return np.vstack([Decomposition(N).solve(basis[:-1]), basis[-1:]])


# --- integrals


def integral(
    dynamics: Dynamics, s: State, name: str, rows: slice, scale: np.ndarray
) -> Holonomic | None:
    """The position constraint equivalent to an integrable velocity constraint, zero at s; None if
    its rows are not integrable separately, or if q̇ is not v.

        h(q, t) = y(1),   A q′ + a t′ = 0 along q(τ) = q + τ (q₀ − q) + n y, t(τ) = t + τ (t₀ − t)

    n are fixed directions across the leaves, and a is the part along dt. By Frobenius' theorem, a
    path along a leaf from (q, t) ends on the line q₀ + n y at the same y for all points of the
    leaf.
    """
    system = dynamics.system
    if system.velocity_map is not None or system.offset is not None:
        return None
    R = np.asarray(_forms(dynamics, np.arange(dynamics.constraints.m), s.q, s.t))
    own = np.arange(rows.start, rows.stop)[independent(R[rows] * np.append(scale, 1.0))]
    basis, _ = _reachable(dynamics, own, s, np.append(scale, 1.0))
    if basis.shape[1] != len(scale) + 1 - len(own):
        return None
    across = Decomposition(R[own, :-1]).inverse
    start = np.asarray(s.q), float(s.t)
    return Holonomic(Integral(dynamics, own, *start, across), name=f"{name} integrated")


@dataclasses.dataclass(frozen=True)
class Integral:
    """`(q, t, p)` → h(q, t), shape (rows,); see `integral`."""

    dynamics: Dynamics
    rows: np.ndarray
    q0: np.ndarray
    t0: float
    across: np.ndarray

    def __repr__(self) -> str:
        return f"(q, t, p) → h(q, t), shape ({len(self.rows)},)"

    def __call__(self, q, t, p):
        given = dataclasses.replace(self.dynamics, p=p)

        def rate(tau, y):
            at = q + tau * (self.q0 - q) + self.across @ y
            R = _forms(given, self.rows, at, t + tau * (self.t0 - t))
            A, a = R[:, :-1], R[:, -1]
            along = A @ (self.q0 - q) + a * (self.t0 - t)
            return -LU(A @ self.across).solve(along)

        # 64 steps along the path that defines the integral
        return equal_steps(rate, jnp.zeros(len(self.rows)), 1.0, 64)[-1]
