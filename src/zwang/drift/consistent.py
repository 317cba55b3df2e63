"""A state on the constraints, found from one that is not."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.drift.projection import Projection
from zwang.dynamics import Dynamics
from zwang.state import State


class Placement(eqx.Module):
    """Where a state ended up on its constraints.

    Attributes:
        state: the consistent state.
        moved_q, moved_v: how far q and v were moved, largest entry.
        violation_before, violation_after: dimensionless position violation.
        converged: whether position and velocity residuals are round-off now.
    """

    state: State
    moved_q: Float[Array, ""]
    moved_v: Float[Array, ""]
    violation_before: Float[Array, ""]
    violation_after: Float[Array, ""]
    velocity_violation: Float[Array, ""]
    converged: Bool[Array, ""]


CONVERGED = 1e-11
"""Dimensionless violation (an angle) that counts as on the constraints after Newton's iteration has stopped improving: round-off
of φ in coordinates up to 1e4 times the size of the mechanism."""


def place(dynamics: Dynamics, state: State, iterations: int = 50) -> Placement:
    """Move a state onto its constraints: q by damped Newton steps `q ← q ⊖ A⊕φ`, then v by `v ← v − A⊕ψ`, least in the mass metric."""
    before = dynamics.violation(dynamics.position_residual(state))

    def newton(carry):
        q, size, i, _ = carry
        here = State(q, state.v, state.t)
        A = dynamics.matrix(here)
        rows = dynamics.constraints.position_rows
        weighted = dynamics.weighted(dynamics.mass(here, A), A, rows)
        step = weighted.correct(dynamics.position_residual(here))

        def shorter(trial):
            length, _, _ = trial
            q_new = dynamics.system.move(q, -0.5 * length * step, state.t, dynamics.p)
            return 0.5 * length, q_new, dynamics.violation(dynamics.position_residual(State(q_new, state.v, state.t)))

        length, q_new, size_new = jax.lax.while_loop(
            lambda trial: ~(trial[2] < size) & (trial[0] > 1e-3), shorter, (jnp.asarray(2.0), q, jnp.asarray(jnp.inf))
        )
        better = size_new < size
        stop = ~better | ((size_new > 0.5 * size) & (size_new < CONVERGED))
        return jnp.where(better, q_new, q), jnp.where(better, size_new, size), i + 1, stop

    start = (state.q, before, 0, before == 0)
    q, after, _, _ = jax.lax.while_loop(lambda carry: (carry[2] < iterations) & ~carry[3], newton, start)
    exact = Projection(iterations=2)
    zero = (jnp.zeros_like(q), jnp.zeros_like(state.v))
    settled = exact.settle(dynamics, State(q, state.v, state.t), zero, jnp.asarray(0.0)).state
    for _ in range(3):  # constraints nonlinear in v from far away
        settled = exact.settle(dynamics, settled, zero, jnp.asarray(jnp.inf)).state
    velocity_violation = scaled_velocity_violation(dynamics, settled)
    after = dynamics.violation(dynamics.position_residual(settled))
    return Placement(
        settled,
        jnp.max(jnp.abs(settled.q - state.q), initial=0.0),
        jnp.max(jnp.abs(settled.v - state.v), initial=0.0),
        before,
        after,
        velocity_violation,
        (after <= CONVERGED) & (velocity_violation <= 1e-9),
    )


def scaled_velocity_violation(dynamics: Dynamics, state: State) -> Float[Array, ""]:
    """‖ψ / row length‖ relative to the velocity's own length in the mass metric plus the residual's; 0 at rest on scleronomic constraints."""
    rows = dynamics.constraints.velocity_rows
    A = dynamics.matrix(state)
    mass = dynamics.mass(state, A)
    assert dynamics.scales is not None
    length = jnp.where(dynamics.scales.row_length > 0, dynamics.scales.row_length, 1.0)[rows]
    residual = jnp.sqrt(jnp.sum((dynamics.velocity_residual(state) / length) ** 2))
    fixed = dynamics.velocity_residual(State(state.q, 0 * state.v, state.t)) / length
    speed = jnp.sqrt(jnp.abs(state.v @ mass.apply(state.v))) + jnp.sqrt(jnp.sum(fixed**2))
    return jnp.where(residual > 0, residual / jnp.where(speed > 0, speed, 1.0), 0.0)
