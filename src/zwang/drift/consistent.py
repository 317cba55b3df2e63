"""A state on the constraints, found from one that is not."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.drift.projection import Projection
from zwang.dynamics import Dynamics
from zwang.mass import factor_mass
from zwang.state import State


class Placement(eqx.Module):
    """Where a state ended up on its constraints.

    Attributes:
        state: the consistent state.
        moved_q, moved_v: how far q and v were moved, largest entry.
        violation_before, violation_after: dimensionless position violation.
        velocity_violation: velocity residual that remains, relative to the speed.
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
VELOCITY_CONVERGED = 1e-9
"""Velocity residual, relative to the speed, that counts as zero."""


def place(dynamics: Dynamics, state: State, iterations: int = 100) -> Placement:
    """Move a state onto its constraints, least in the mass metric.

    Position: Newton steps `q ← q ⊖ A⊕φ`, halved while the violation does not fall; then, up to four times, the projection that
    ends every step of a run, `q ← q ⊖ A⊕φ` and `v ← v − A⊕ψ` (more than one only matters for constraints nonlinear in v).
    """
    rows = dynamics.constraints.position_rows

    def newton(carry):
        q, step, length, size, trial, i = carry
        here = State(trial, state.v, state.t)
        phi = dynamics.position_residual(here)
        size_here = dynamics.violation(phi)
        better = size_here < size
        A = dynamics.matrix(here)
        fresh = dynamics.weighted(dynamics.mass(here, A), A, rows).correct(phi)
        q, step = jnp.where(better, trial, q), jnp.where(better, fresh, step)
        length = jnp.where(better, 1.0, 0.5 * length)
        size = jnp.where(better, size_here, size)
        return q, step, length, size, dynamics.system.move(q, -length * step, state.t, dynamics.p), i + 1

    def improving(carry):
        _, _, length, size, _, i = carry
        return (i < iterations) & (length > 1e-4) & (size > CONVERGED)

    before = dynamics.violation(dynamics.position_residual(state))
    nothing = jnp.zeros_like(state.v)
    start = (state.q, nothing, jnp.asarray(1.0), jnp.asarray(jnp.inf), state.q, 0)
    q, *_ = jax.lax.while_loop(improving, newton, start)

    projection, no_error = Projection(iterations=3), (jnp.zeros_like(state.q), nothing)
    settled = jax.lax.fori_loop(
        0, 4, lambda _, s: projection.settle(dynamics, s, no_error, jnp.asarray(0.0)).state, State(q, state.v, state.t)
    )
    after = dynamics.violation(dynamics.position_residual(settled))
    velocity_violation = scaled_velocity_violation(dynamics, settled)
    return Placement(
        settled,
        jnp.max(jnp.abs(settled.q - state.q), initial=0.0),
        jnp.max(jnp.abs(settled.v - state.v), initial=0.0),
        before,
        after,
        velocity_violation,
        (after <= CONVERGED) & (velocity_violation <= VELOCITY_CONVERGED),
    )


def scaled_velocity_violation(dynamics: Dynamics, state: State) -> Float[Array, ""]:
    """‖ψ / row length‖ relative to the speed in the mass metric plus the speed that moving constraints impose."""
    rows = dynamics.constraints.velocity_rows
    M = factor_mass(jnp.asarray(dynamics.system.mass_matrix(state.q, state.t, dynamics.p)))
    assert dynamics.scales is not None
    length = jnp.where(dynamics.scales.row_length > 0, dynamics.scales.row_length, 1.0)[rows]
    residual = jnp.sqrt(jnp.sum((dynamics.velocity_residual(state) / length) ** 2))
    fixed = dynamics.velocity_residual(State(state.q, 0 * state.v, state.t)) / length
    speed = jnp.sqrt(jnp.abs(state.v @ M.apply(state.v))) + jnp.sqrt(jnp.sum(fixed**2))
    return jnp.where(residual > 0, residual / jnp.where(speed > 0, speed, 1.0), 0.0)
