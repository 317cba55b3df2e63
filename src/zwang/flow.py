"""A model's motion as the flow that an integrator steps along: y = (q, v) as one vector."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.drift import AbstractDrift
from zwang.dynamics import Dynamics
from zwang.integrate.loop import Landing
from zwang.law import AbstractSampler
from zwang.state import State


class MotionFlow(eqx.Module):
    """`ẏ = f(t, y)` with its constraint manifold (`zwang.integrate.loop.ManifoldFlow`).

    Attributes:
        dynamics: the equation of motion, with its scales measured.
        drift: how drift is treated.
        target: violation that counts as zero after a projection.
        sampler: what changes the control at instants, or None.
    """

    dynamics: Dynamics
    drift: AbstractDrift
    target: Float[Array, ""]
    sampler: AbstractSampler | None = None

    def holding(self, u: Float[Array, " nu"]) -> MotionFlow:
        """The flow while a sampler holds the control u."""
        return self if self.sampler is None else eqx.tree_at(lambda f: f.dynamics.law, self, self.sampler.holding(u))

    def applied(self, memory) -> Float[Array, " nu"]:
        """The control that a sampler holds; empty without one."""
        return jnp.zeros(0) if self.sampler is None else self.sampler.applied(memory)

    def next(self, memory) -> Float[Array, ""]:
        """When the flow changes next [s]."""
        return jnp.asarray(jnp.inf) if self.sampler is None else self.sampler.next(memory)

    def updated(self, due, t, y, memory):
        """The memory from (t, y) on, if a change is due."""
        if self.sampler is None:
            return memory
        return jax.lax.cond(due, lambda m: self.sampler.updated(self.state(t, y), m), lambda m: m, memory)  # type: ignore

    def split(self, y: Float[Array, " n"]) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        nq = self.dynamics.system.nq
        return y[:nq], y[nq:]

    def state(self, t: Float[Array, ""], y: Float[Array, " n"]) -> State:
        return State(*self.split(y), t)

    def rate(self, t, y):
        return jnp.concatenate(self.drift.rate(self.dynamics, self.state(t, y)))

    def settle(self, t, y, error) -> Landing:
        landed = self.drift.settle(self.dynamics, self.state(t, y), self.split(error), self.target)
        state = landed.state
        return Landing(
            jnp.concatenate([state.q, state.v]),
            jnp.concatenate(landed.error),
            landed.violation,
            landed.converged,
            landed.volume,
        )

    def missed(self, t, y) -> Float[Array, ""]:
        """Relative part of A outside the structure that the run goes by."""
        return self.dynamics.missed(self.state(t, y))

    def linearization(self, t, y):
        """`J_q = P M⁻¹ F_q`, `J_v = P M⁻¹ F_v` with `P = I − A⊕A`, and N."""
        dynamics, s = self.dynamics, self.state(t, y)
        A = dynamics.matrix(s)
        mass = dynamics.mass(s, A)
        weighted = dynamics.weighted(mass, A)
        F_q, F_v = jax.jacfwd(lambda q, v: dynamics.applied_force(State(q, v, t)), argnums=(0, 1))(s.q, s.v)
        tangent = jax.vmap(lambda column: weighted.tangent(mass.solve(column)), in_axes=1, out_axes=1)
        system = dynamics.system
        N = None if system.velocity_map is None else system.velocity_map(s.q, t, dynamics.p)
        return tangent(F_q), tangent(F_v), N


class Events(eqx.Module):
    """The stop conditions' functions as one vector-valued function of (t, y)."""

    functions: tuple
    p: object
    nq: int

    def __call__(self, t, y):
        if not self.functions:
            return np.zeros(0)
        q, v = jnp.asarray(y[: self.nq]), jnp.asarray(y[self.nq :])
        return jnp.stack([jnp.asarray(f(q, v, t, self.p), jnp.float64).reshape(()) for f in self.functions])
