"""Projection onto the constraints, at every stage and after every step: the default."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zwang.drift.base import AbstractDrift, Settled, renormalized, volume
from zwang.drift.baumgarte import AbstractStabilization
from zwang.dynamics import Dynamics
from zwang.state import State


class Projection(AbstractDrift):
    """Crosses singular configurations by three projections with A⊕, all in the mass metric:

        stage:  v ← v − A⊕ψ   before b is formed
        step:   q ← q ⊖ A⊕φ   until φ is round-off, then  v ← v − A⊕ψ
        error:  e ← (I − A⊕A) e   what the projection removes is no error of the step

    Off the constraints by ε, A demands the velocity ε/σ in a direction that is about to vanish; that, and not the
    pseudoinverse, ruins the step of an adaptive integrator near a rank drop. The rank decision at a stage is made no finer than
    the stage's own violation (`AbstractPseudoinverse.relaxed`).

    Attributes:
        iterations: most position corrections after one step; 5, of which two are needed as a rule.
        velocity_corrections: velocity corrections with one factor where a constraint is nonlinear in v; 3.
        stabilization: a Baumgarte term to be used at the stages as well, or None.
    """

    iterations: int = eqx.field(static=True, default=5)
    velocity_corrections: int = eqx.field(static=True, default=3)
    stabilization: AbstractStabilization | None = None

    def rate(self, dynamics: Dynamics, state: State):
        A = dynamics.matrix(state)
        mass = dynamics.mass(state, A)
        phi = dynamics.position_residual(state)
        weighted = dynamics.weighted(mass, A, violation=dynamics.violation(phi))
        rows = dynamics.constraints.velocity_rows
        moving = weighted if len(rows) == len(A) else dynamics.weighted(mass, A, rows, dynamics.violation(phi))
        v = state.v - moving.correct(dynamics.velocity_residual(state))
        tangent = State(state.q, v, state.t)
        extra = 0.0 if self.stabilization is None else self.stabilization.term(dynamics, tangent)
        acceleration = dynamics.acceleration(dynamics.equation(tangent, weighted), extra)
        return dynamics.system.rate(state.q, v, state.t, dynamics.p), acceleration

    def settle(self, dynamics: Dynamics, state: State, error, target) -> Settled:
        constraints, system = dynamics.constraints, dynamics.system
        mixed = len(constraints.position_rows) < len(constraints.velocity_rows)
        identity_map = system.velocity_map is None

        def correct(carry):
            state, (error_q, error_v), before, i, _, _ = carry
            A = dynamics.matrix(state)
            mass = dynamics.mass(state, A)
            moving = dynamics.weighted(mass, A, constraints.velocity_rows)
            phi, psi = dynamics.position_residual(state), dynamics.velocity_residual(state)
            size = dynamics.violation(phi)
            stagnant = (i >= 2) & (size > 0.5 * before)
            done = ~(size > target) | stagnant | (i >= self.iterations)  # a NaN is done

            residuals = [
                psi,
                moving.A @ error_v,
                *([moving.A @ error_q] if identity_map else []),
                *([] if mixed else [phi]),
            ]
            corrections = jax.vmap(moving.correct, in_axes=1)(jnp.stack(residuals, axis=1))
            v, error_v = state.v - corrections[0], error_v - corrections[1]
            error_q = error_q - corrections[2] if identity_map else error_q
            for _ in range(self.velocity_corrections - 1 if mixed else 0):
                v = v - moving.correct(dynamics.velocity_residual(State(state.q, v, state.t)))
            dq = dynamics.weighted(mass, A, constraints.position_rows).correct(phi) if mixed else corrections[-1]
            q = jnp.where(done, state.q, system.move(state.q, -dq, state.t, dynamics.p))
            return State(q, v, state.t), (error_q, error_v), size, i + 1, moving.C.C, done

        rows = jnp.zeros((len(constraints.velocity_rows), system.nv))
        start = (renormalized(dynamics, state), error, jnp.asarray(jnp.inf), 0, rows, jnp.asarray(False))
        state, error, size, _, rows, _ = jax.lax.while_loop(lambda carry: ~carry[-1], correct, start)
        return Settled(state, error, size, jnp.isfinite(size), volume(rows))
