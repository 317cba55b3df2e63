"""A state on the constraints, found from one that is not."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.drift.base import corrections, renormalized
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


POLISH = 20
"""Most velocity corrections after the position is found; more than two only matter for constraints nonlinear in v."""


def place(dynamics: Dynamics, state: State, iterations: int = 100) -> Placement:
    """Move a state onto its constraints, least in the mass metric.

    Position: Newton steps `q ← q ⊖ A⊕φ`, halved while the violation does not fall, until round-off stops them. Velocity:
    `v ← v − A⊕ψ` along with them and on until it stays.
    """
    constraints, system, p, t = dynamics.constraints, dynamics.system, dynamics.p, state.t

    def newton(carry):
        q, v, step, length, size, trial, polish, i, _ = carry
        here = State(trial, v, t)
        A, phi, psi = dynamics.matrix(here), dynamics.position_residual(here), dynamics.velocity_residual(here)
        moving = dynamics.weighted(dynamics.mass(here, A), A, constraints.velocity_rows)
        dv, dq = corrections(dynamics, moving, A, psi, phi)
        size_here = dynamics.violation(phi)
        better, polishing = size_here < size, polish > 0
        used = better | polishing
        still = jnp.max(jnp.abs(dv), initial=0.0) <= 1e-14 * jnp.max(jnp.abs(v), initial=0.0)
        q, v = jnp.where(used, trial, q), jnp.where(used, v - dv, v)
        step, size = jnp.where(better, dq, step), jnp.where(better, size_here, size)
        length = jnp.where(better, 1.0, 0.5 * length)
        found = (~better & (size <= CONVERGED)) | (size == 0) | (length < 1e-4) | (i >= iterations)
        done = polishing & (still | (polish >= POLISH))
        polish = jnp.where(polishing | found, polish + 1, 0)
        trial = jnp.where(polish > 0, q, system.move(q, -length * step, t, p))
        return q, v, step, length, size, trial, polish, i + 1, done

    before = dynamics.violation(dynamics.position_residual(state))
    nothing, on_manifold, no = jnp.zeros_like(state.v), renormalized(dynamics, state).q, jnp.asarray(False)
    start = (state.q, state.v, nothing, jnp.asarray(1.0), jnp.asarray(jnp.inf), on_manifold, jnp.asarray(0), jnp.asarray(0), no)
    q, v, *_ = jax.lax.while_loop(lambda carry: ~carry[-1], newton, start)
    placed = State(q, v, t)
    after, velocity_violation = (
        dynamics.violation(dynamics.position_residual(placed)),
        scaled_velocity_violation(dynamics, placed),
    )
    return Placement(
        placed,
        jnp.max(jnp.abs(q - state.q), initial=0.0),
        jnp.max(jnp.abs(v - state.v), initial=0.0),
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
