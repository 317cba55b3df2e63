"""An equilibrium or a steady motion as a differentiable function of parameters.

The state of a linearization depends on the parameters as a root of its equations
(`sensitivity.py`), and so does the critical parameter at a fold or branch point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.algebra.rank import PLACED
from zwang.analysis.local_equations import (
    Generator,
    departures,
    dynamic_residual,
    lifted,
)
from zwang.analysis.sensitivity import (
    LEFT_FREE,
    Root,
    held,
    root,
    row_units,
    with_slope,
)
from zwang.compile import program
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import replace
from zwang.thresholds import DERIVED

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization
    from zwang.analysis.symmetry import Symmetries


class Balance(NamedTuple, Generic[AnyArray]):
    """Residuals of a motion along a generator, which determines v and w; or their derivatives with
    respect to (ξ, γ, μ).
    """

    phi: AnyArray
    psi: AnyArray
    dynamic: AnyArray
    v: AnyArray
    q: AnyArray


@dataclasses.dataclass(frozen=True, eq=False)
class Motion:
    """An equilibrium, or a motion along symmetries, as unknowns (ξ, γ, λ) about a state.

    Attributes:
        q, t: the configuration from which ξ moves, and the time.
        base, fields: generators of the symmetries; at rest a zero generator and no fields.
    """

    q: np.ndarray
    t: float
    base: Generator
    fields: Generator

    @staticmethod
    def of(q, t: float, base: Generator | None, fields: Generator | None) -> Motion:
        nq = len(q)
        if base is None or fields is None:
            base, fields = Generator.still(nq), Generator.still(nq, 0)
        return Motion(np.asarray(q), float(t), base, fields)

    @property
    def k(self) -> int:
        return len(self.fields.c)

    def configuration(self, dynamics: Dynamics, x) -> Array:
        nv = dynamics.system.nv
        return dynamics.system.move(jnp.asarray(self.q), x[:nv], self.t, dynamics.p)

    def velocity(self, dynamics: Dynamics, x) -> Array:
        """v along the symmetries."""
        q, field = self.configuration(dynamics, x), self.field(dynamics, x)
        return field.velocity(dynamics.system, q, self.t, dynamics.p)

    def gauge(self, dynamics: Dynamics, x) -> Array:
        """Directions of ξ under the symmetries, shape (nv, k)."""
        system, p, q = dynamics.system, dynamics.p, self.configuration(dynamics, x)
        along = lambda field: field.velocity(system, q, self.t, p)
        return jax.vmap(along)(self.fields).reshape(-1, system.nv).T

    def balance(self, dynamics: Dynamics, x) -> Balance:
        """Residuals, with the acceleration that follows from the symmetries."""
        system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
        t = jnp.asarray(self.t)
        q, v = self.configuration(dynamics, x), self.velocity(dynamics, x)
        w = lifted(system, self.field(dynamics, x), q, v, t, p)
        multipliers = x[system.nv + self.k : system.nv + self.k + rows.m]
        return Balance(
            rows.position_residual(q, t, p),
            rows.velocity_residual(q, v, t, p),
            dynamic_residual(dynamics, State(q, v, t), w, multipliers),
            v,
            q,
        )

    def residual(self, dynamics: Dynamics, x) -> Array:
        """The residual: `M v̇ − F − Aᵀλ`, φ, and ψ of nonholonomic rows."""
        at, rows = self.balance(dynamics, x), dynamics.constraints
        own = np.isin(rows.velocity_rows, rows.nonholonomic_rows)
        return jnp.concatenate([at.dynamic, at.phi, at.psi[own]])

    def field(self, dynamics: Dynamics, x) -> Generator:
        """The symmetry along which it moves."""
        nv = dynamics.system.nv
        return self.base.plus(self.fields, x[nv : nv + self.k])


@program
def balance(
    dynamics: Dynamics, q, t, base: Generator, fields: Generator, multipliers, directions, rates
) -> tuple[Balance, Balance]:
    """Residuals of the motion along `base + Σ γ fields`, and their derivatives with respect to
    (ξ, γ, μ), μ along `directions` of the parameters.
    """
    motion, nv, k = Motion(q, t, base, fields), dynamics.system.nv, len(fields.c)
    inputs = 0 if directions is None else len(jax.tree_util.tree_leaves(directions)[0])

    def residuals(step):
        p, (y, gamma, mu) = dynamics.p, jnp.split(step, (nv, nv + k))
        if directions is not None:
            change = lambda x, d: x + jnp.tensordot(mu, d, 1)
            p = jax.tree_util.tree_map(change, p, directions)
        return motion.balance(
            replace(dynamics, p=p), jnp.concatenate([y, rates + gamma, multipliers])
        )

    zero = jnp.zeros(nv + k + inputs)
    return residuals(zero), jax.jacfwd(residuals)(zero)


class MovingState(NamedTuple, Generic[AnyArray]):
    """A balance of forces, at rest or along a symmetry.

    Attributes:
        dynamics: the equations, with the parameters.
        state: q, v and t.
        w: v̇; multipliers: λ.
        along: the generator of its motion, zero at rest.
    """

    dynamics: Dynamics
    state: State
    w: AnyArray
    multipliers: AnyArray
    along: Generator


def balanced(motion: Motion, dynamics: Dynamics, gamma, multipliers) -> Root:
    """An equilibrium or a steady motion as a root. Its rates γ are kept if q alone can satisfy the
    balance.
    """
    nv, k = dynamics.system.nv, motion.k
    x = np.concatenate([np.zeros(nv), gamma, multipliers])
    both = with_slope(lambda x: motion.residual(dynamics, x))
    found = root(both, x)
    if not k:
        return found
    jacobian = lambda x: np.asarray(both(x)[1])
    unit = row_units(jacobian, found.x)
    scaled = unit[:, None] * jacobian(found.x)
    turning = np.arange(nv, nv + k)
    others = np.setdiff1d(np.arange(len(x)), turning)
    first = held(x, scaled[:, others], np.ones(len(unit))).inverse
    rest = np.eye(len(scaled)) - scaled[:, others] @ first  # the part for the rates
    left = rest @ scaled[:, turning]
    left[np.abs(left) < DERIVED] = 0.0  # round-off of rates that q alone can balance
    rates = held(gamma, left, np.ones(len(unit))).inverse @ rest
    inverse = np.zeros((len(x), len(scaled)))
    inverse[turning] = rates
    inverse[others] = first - first @ scaled[:, turning] @ rates
    return dataclasses.replace(found, inverse=inverse * unit)


def balance_at(
    dynamics: Dynamics, q, t, multipliers, found: Symmetries | None = None, rates=()
) -> tuple[Motion, Root]:
    """The equations of a balance, at rest or along symmetries at given rates, and their
    solution.
    """
    base, fields = (None, None) if found is None else (found.base, found.fields)
    with outside_of_programs():
        motion = Motion.of(q, t, base, fields)
        return motion, balanced(motion, dynamics, np.asarray(rates, float), multipliers)


def near_balance(
    motion: Motion, found: Root, dynamics: Dynamics, v: ArrayLike | None = None
) -> MovingState:
    """A balance at other parameters, and at velocities near v if they are given; the rates of its
    symmetries are then fitted to v.
    """
    nv, k = dynamics.system.nv, motion.k
    x = jnp.asarray(found.x)
    if v is not None:
        along = jax.lax.stop_gradient(motion.gauge(dynamics, x))
        towards = Pseudoinverse(SVD(PLACED), along)
        x = x.at[nv : nv + k].add(towards.solve(jnp.asarray(v) - motion.velocity(dynamics, x)))
    x = x - jnp.asarray(found.inverse) @ motion.residual(dynamics, x)
    q, v = motion.configuration(dynamics, x), motion.velocity(dynamics, x)
    field, t, p = motion.field(dynamics, x), jnp.asarray(motion.t), dynamics.p
    w = lifted(dynamics.system, field, q, v, t, p)
    return MovingState(dynamics, State(q, v, t), w, x[nv + k :], field)


def moving_state(
    linear: Linearization, dynamics: Dynamics, v: ArrayLike | None = None
) -> MovingState:
    """The state of a linearization at other parameters.

    Raises:
        ModelError: for a moving state, and for velocities at rest.
    """
    name = linear.model.name
    if linear.kind == "moving state":
        raise ModelError(
            f"{name}: derivatives are those about an equilibrium or a steady motion; this is a "
            "moving state."
        )
    if linear.kind == "equilibrium" and v is not None:
        raise ModelError(f"{name}: v is that of a steady motion, and this is an equilibrium.")
    return near_balance(*linear.balance, dynamics, None if v is None else jnp.asarray(v))


def varied(at: MovingState) -> Callable:
    """`departures` of a state as a function of (ξ, δv), shape (2 nv,)."""
    s, p = at.state, at.dynamics.p

    def residuals(step):
        step = jnp.append(step, 0.0)
        return departures(at.dynamics, s, at.w, at.multipliers, at.along, step, p)

    return residuals


# --- folds of a branch of balances over a parameter


def branch_equations(motion: Motion, x, free: np.ndarray, driven: int | None) -> Callable:
    """The residual along a branch. The result maps `at`, a function from a value s of the parameter
    to dynamics, to a function of y, the free entries of (ξ, γ, λ), and s.

    Args:
        driven: index of the velocity with the value s, or None if s is a parameter.
    """
    base = jnp.asarray(x)

    def equations(at: Callable) -> Callable:
        def balance(y, s):
            dynamics, x = at(s), base.at[free].set(y)
            r = motion.residual(dynamics, x)
            return r if driven is None else jnp.append(r, motion.velocity(dynamics, x)[driven] - s)

        return balance

    return equations


def critical_direction(
    motion: Motion, balance: Callable, dynamics: Dynamics, x, free: np.ndarray, value: float
) -> np.ndarray:
    """The direction of y that loses its stiffness at a special point."""
    jacobian = jax.jit(jax.jacfwd(lambda y: balance(y, jnp.asarray(value))))
    y = np.asarray(x)[free]
    J = row_units(jacobian, y)[:, None] * np.asarray(jacobian(y))
    gauge = np.asarray(motion.gauge(dynamics, jnp.asarray(x)))
    null, nv = Decomposition(J, LEFT_FREE, least=1.0).kernel.T, len(gauge)
    # the vector in the null space of J that moves q most across the symmetries; multipliers of
    # redundant rows do not move q
    along = Decomposition(gauge).range
    across = null[:, :nv] - (null[:, :nv] @ along) @ along.T
    n = Decomposition(across).left[:, 0] @ null
    n[:nv] -= along @ (along.T @ n[:nv])
    return n / np.linalg.norm(n)
