"""Results that equations define, as functions of parameters that JAX differentiates.

Of r(x, p) = 0 with a known solution x* at p*,

    x(p) = x* − J⁺ r(x*, p),    J = ∂r/∂x at x*, p*, held

has the exact value and first derivatives at p*, wherever p moves r within the range of J; rows may
be redundant. What J leaves free, as places along a symmetry, stays as near as possible.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.analysis.local_equations import (
    Generator,
    as_velocity,
    dynamic_residual,
    lifted,
)
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.thresholds import DERIVED

NEARLY_ZERO = 1e-4
"""The same at a special point, which is known to the root of round-off."""
LEFT_FREE = 1e-4
"""Largest entry of what J leaves free at an unknown that it determines."""


@dataclasses.dataclass(frozen=True, eq=False)
class Root:
    """A solution of equations, and how it moves.

    Attributes:
        x: the solution, polished.
        inverse: J⁺.
        free: what J leaves free, orthonormal rows.
    """

    x: np.ndarray
    inverse: np.ndarray
    free: np.ndarray

    def near(self, residual: Any) -> Any:
        """x at other parameters, from r(x*, p)."""
        return jnp.asarray(self.x) - jnp.asarray(self.inverse) @ residual

    def determines(self, i: int) -> bool:
        """Whether the equations determine an unknown."""
        return bool(np.all(np.abs(self.free[:, i]) < LEFT_FREE))


def with_slope(residual: Callable) -> Callable:
    """r and J at once, one program, as each operation would be one by itself otherwise."""
    return jax.jit(lambda x: (residual(x), jax.jacfwd(residual)(x)))


def root(both: Callable, x, steps: int = 2) -> Root:
    """The solution near x, by steps of Newton's iteration that make it exact to round-off.

    Args:
        both: x → r, J, as `with_slope` makes it.
    """
    x = np.asarray(x, float)
    unit = row_units(lambda x: np.asarray(both(x)[1]), x)
    for _ in range(steps + 1):
        r, J = (np.asarray(a) for a in both(x))
        U, sigma, Vt = np.linalg.svd(unit[:, None] * J)
        # singular values of J with rows of length one, relative to the largest, that count as zero
        rank = int(np.sum(sigma > DERIVED * np.max(sigma, initial=0.0)))
        inverse = (Vt[:rank].T / sigma[:rank]) @ (U[:, :rank].T * unit)
        before, x = x, x - inverse @ r
    return Root(before, inverse, Vt[rank:])


def row_units(jacobian: Callable, x: np.ndarray) -> np.ndarray:
    """One over the greatest length of each row of J here and nearby: at a special point a row may
    vanish, which must not be blown up to unit length.
    """
    random, length = np.random.default_rng(1839), 0.0
    for size in (0.0, 0.1, 0.1):
        own = np.linalg.norm(jacobian(x + size * random.standard_normal(len(x))), axis=1)
        length = np.fmax(length, np.where(np.isfinite(own), own, 0.0))
    return 1 / np.where(length > 0, length, np.inf)


def dead_point(value: Callable, q, t: float) -> Callable:
    """The equations of a dead point of a quantity as a function of the dynamics: of a place
    (ξ, t) on φ = 0 and of the direction (v, s) of the path there,

        φ = 0,    ∂φ v + ∂φ/∂t s = 0,    ∂x v + ∂x/∂t s = 0,    |(v, s)| = 1
    """

    def equations(dynamics: Dynamics) -> Callable:
        system, rows, p = dynamics.system, dynamics.constraints, dynamics.p

        def place(y):
            there = system.move(jnp.asarray(q), y[:-1], y[-1], p)
            x = jnp.reshape(value(there, y[-1], p), (1,))
            return jnp.concatenate([rows.position_residual(there, y[-1], p), x])

        def residual(z):
            y, along = jnp.split(z, 2)
            found, moved = jax.jvp(place, (y,), (along,))
            return jnp.concatenate([found[:-1], moved, jnp.stack([along @ along - 1.0])])

        return residual

    return equations


def dead_start(dynamics: Dynamics, q, t: float) -> np.ndarray:
    """(ξ, t, v, s) at a place of a path, its direction by the rows."""
    nv = dynamics.system.nv
    rows, p, still = dynamics.constraints, dynamics.p, jnp.zeros(dynamics.system.nv)
    A = np.asarray(rows.matrix(jnp.asarray(q), still, t, p))
    by_input = np.asarray(rows.velocity_residual(jnp.asarray(q), still, t, p))
    along = np.linalg.svd(np.column_stack([A, by_input]))[2][-1]
    return np.concatenate([np.zeros(nv), [t], along])


@dataclasses.dataclass(frozen=True, eq=False)
class Motion:
    """An equilibrium, or a motion along symmetries, as unknowns (ξ, γ, λ) about a state.

    Attributes:
        q, t: the configuration from which ξ moves, and the time.
        base, fields: generators of the symmetries; zero and none of them at rest.
    """

    q: np.ndarray
    t: float
    base: Generator
    fields: Generator

    @staticmethod
    def of(q, t: float, base: Generator | None, fields: Generator | None) -> Motion:
        nq = len(q)
        if base is None or fields is None:
            base = Generator(jnp.zeros(nq), jnp.zeros((nq, nq)))
            fields = Generator(jnp.zeros((0, nq)), jnp.zeros((0, nq, nq)))
        return Motion(np.asarray(q), float(t), base, fields)

    @property
    def k(self) -> int:
        return len(self.fields.c)

    def configuration(self, dynamics: Dynamics, x) -> Any:
        nv = dynamics.system.nv
        return dynamics.system.move(jnp.asarray(self.q), x[:nv], self.t, dynamics.p)

    def velocity(self, dynamics: Dynamics, x) -> Any:
        """v along the symmetries."""
        q, field = self.configuration(dynamics, x), self.field(dynamics, x)
        return as_velocity(dynamics.system, q, self.t, dynamics.p, field.c + field.B @ q)

    def gauge(self, dynamics: Dynamics, x) -> Any:
        """How the symmetries move ξ, shape (nv, k)."""
        system, p, q = dynamics.system, dynamics.p, self.configuration(dynamics, x)
        along = lambda c, B: as_velocity(system, q, self.t, p, c + B @ q)
        return jax.vmap(along)(self.fields.c, self.fields.B).reshape(-1, system.nv).T

    def residual(self, dynamics: Dynamics, x) -> Any:
        """What vanishes: `M v̇ − F − Aᵀλ`, φ, and ψ of nonholonomic rows."""
        system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
        t = jnp.asarray(self.t)
        q, v = self.configuration(dynamics, x), self.velocity(dynamics, x)
        w = lifted(system, self.field(dynamics, x), q, v, t, p)
        multipliers = x[system.nv + self.k : system.nv + self.k + rows.m]
        own = np.isin(rows.velocity_rows, rows.nonholonomic_rows)
        return jnp.concatenate(
            [
                dynamic_residual(dynamics, State(q, v, t), w, multipliers),
                rows.position_residual(q, t, p),
                rows.velocity_residual(q, v, t, p)[own],
            ]
        )

    def field(self, dynamics: Dynamics, x) -> Generator:
        """The symmetry that it moves along."""
        gamma = x[dynamics.system.nv : dynamics.system.nv + self.k]
        along = lambda a, b: a + jnp.tensordot(gamma, b, 1)
        return Generator(along(self.base.c, self.fields.c), along(self.base.B, self.fields.B))


def steady_root(motion: Motion, dynamics: Dynamics, gamma, multipliers) -> Root:
    """A steady motion as a root, its rates γ kept if the balance can be met by q alone."""
    nv, k = dynamics.system.nv, motion.k
    x = np.concatenate([np.zeros(nv), gamma, multipliers])
    found = root(with_slope(lambda x: motion.residual(dynamics, x)), x)
    jacobian = jax.jit(jax.jacfwd(lambda x: motion.residual(dynamics, x)))
    J, unit = np.asarray(jacobian(found.x)), row_units(jacobian, found.x)
    turning = np.arange(nv, nv + k)
    others = np.setdiff1d(np.arange(len(x)), turning)
    scaled = unit[:, None] * J
    first = np.linalg.pinv(scaled[:, others], rcond=DERIVED)
    rest = np.eye(len(J)) - scaled[:, others] @ first  # what q and λ leave to the rates
    left = rest @ scaled[:, turning]
    left[np.abs(left) < DERIVED] = 0.0  # round-off of rates that q alone makes up for
    rates = np.linalg.pinv(left, rcond=DERIVED) @ rest
    inverse = np.zeros((len(x), len(J)))
    inverse[turning] = rates
    inverse[others] = first - first @ scaled[:, turning] @ rates
    return dataclasses.replace(found, inverse=inverse * unit)


def critical_root(
    motion: Motion, at: Callable, x, value: float, held: np.ndarray, driven: int | None
) -> tuple[Root, Callable]:
    """A fold or branch point as a root, its parameter the first unknown, and the equations of it.

        r(x, s) = 0,    r_x n = 0,    n·n* = 1

    Args:
        at: `s` → the dynamics at that value of the parameter and the parameters of the result.
        x: (ξ, γ, λ) there; held: which of them stay.
        driven: the velocity that s is, or None where it is a parameter.
    """
    free = np.flatnonzero(~held)
    base = jnp.asarray(x)

    def whole(y):
        return base.at[free].set(y)

    def balance(at, y, s):
        dynamics = at(s)
        r = motion.residual(dynamics, whole(y))
        if driven is None:
            return r
        return jnp.append(r, motion.velocity(dynamics, whole(y))[driven] - s)

    here = lambda y: balance(at, y, jnp.asarray(value))
    start = np.asarray(x)[free]
    jacobian = jax.jit(jax.jacfwd(here))
    J = row_units(jacobian, start)[:, None] * np.asarray(jacobian(start))
    null = _critical_null(J, np.asarray(motion.gauge(at(jnp.asarray(value)), base)))

    def equations(at):
        def residual(z):
            s, y, n = z[0], z[1 : 1 + len(free)], z[1 + len(free) :]
            r, turned = jax.jvp(lambda y: balance(at, y, s), (y,), (n,))
            return jnp.concatenate([r, turned, jnp.stack([null @ n - 1.0])])

        return residual

    begin = np.concatenate([[value], start, null])
    return root(with_slope(equations(at)), begin), equations


def _critical_null(J: np.ndarray, gauge: np.ndarray) -> np.ndarray:
    """The direction of x that loses its stiffness: of those that J, its rows scaled, takes to zero
    the one that moves q most across the symmetries; multipliers of redundant rows move nothing.
    """
    _, sigma, Vt = np.linalg.svd(J)
    small = np.append(sigma, np.zeros(len(Vt) - len(sigma))) <= NEARLY_ZERO * max(
        np.max(sigma, initial=0.0), 1.0
    )
    null, nv = Vt[small], len(gauge)
    along, size, _ = np.linalg.svd(gauge, full_matrices=False)
    along = along[:, size > 1e-9 * np.max(size, initial=0.0)]
    across = null[:, :nv] - (null[:, :nv] @ along) @ along.T
    n = np.linalg.svd(across)[0][:, 0] @ null
    n[:nv] -= along @ (along.T @ n[:nv])
    return n / np.linalg.norm(n)
