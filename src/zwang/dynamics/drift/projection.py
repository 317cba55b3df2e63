"""Projection onto the constraints at every stage and after every step, the default treatment."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from zwang.dynamics.drift.base import (
    AbstractDrift,
    AbstractStabilization,
    ProjectedStep,
    corrections,
    renormalized,
)
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.objects.record import field
from zwang.thresholds import MARGIN, ROUND_OFF


class Projection(AbstractDrift):
    """Projection of stages, steps and errors with A⊕, in the mass metric:

        stage:  v ← v − A⊕ψ   before b is formed
        step:   q ← q ⊖ A⊕φ   until φ is round-off, then  v ← v − A⊕ψ
        error:  e ← (I − A⊕A) e   what the projection removes is no error of the step;
                                 that of q by holonomic rows alone, as rolling holds no coordinate

    These projections make it possible to cross singular configurations. At a state that is off the
    constraints by ε, A demands a velocity ε/σ in a direction whose singular value σ is about to
    vanish. This velocity, and not the pseudoinverse, is the reason why an adaptive integrator fails
    near a loss of rank. The threshold of the rank decision at a stage is therefore not smaller than
    the violation of the stage (`AbstractPseudoinverse.relaxed`).

    Attributes:
        iterations: maximum number of projection iterations after a step (default 8). Each computes
            one factor and corrects q once and v twice; one iteration usually suffices.
        velocity_corrections: minimum number of velocity corrections if a constraint is
            nonholonomic, because it may be nonlinear in v (default 3).
        stabilization: a Baumgarte term to be used at the stages as well, or None.
    """

    iterations: int = field(static=True, default=8, metadata={"least": 1})
    velocity_corrections: int = field(static=True, default=3)
    stabilization: AbstractStabilization | None = field(
        default=None,
        metadata={"kind": AbstractStabilization, "example": "zw.methods.BaumgarteRates(5.0, 5.0)"},
    )
    projects = True

    def equation(self, dynamics: Dynamics, state: State, treated: bool = True):
        A, phi, psi = dynamics.linearized(state)
        mass = dynamics.mass(state, A)
        uncertainty = dynamics.uncertainty(phi)
        gauss = dynamics.gauss(mass, A, violation=uncertainty)
        if treated:
            rows = dynamics.constraints.velocity_rows
            moving = gauss if len(rows) == len(A) else dynamics.gauss(mass, A, rows, uncertainty)
            state = State(state.q, state.v - moving.refine(psi, state.v), state.t)
        equation = dynamics.equation(state, gauss, self.term(dynamics, state))
        return phi, psi, equation

    def project_step(self, dynamics: Dynamics, state: State, error, target) -> ProjectedStep:
        constraints, system = dynamics.constraints, dynamics.system
        nonholonomic = len(constraints.position_rows) < len(constraints.velocity_rows)
        least = -(-self.velocity_corrections // 2) if nonholonomic else 1
        identity_map = system.velocity_map is None

        def correct(carry):
            state, (error_q, error_v), _, _, _, i, _, _ = carry
            A, phi, psi = dynamics.linearized(state)
            moving = dynamics.gauss(dynamics.mass(state, A), A, constraints.velocity_rows)
            before = dynamics.violation(phi)
            held = [(A @ error_q)[constraints.position_rows]] if identity_map else []
            (dv, forbidden_v), (dq, *forbidden_q) = corrections(
                dynamics, moving, A, [psi, moving.A @ error_v], [phi, *held]
            )
            q = jnp.where(before > target, dynamics.move(state, -dq), state.q)

            # the move has rotated A by the angle `before`, which leaves a residual ψ of this order;
            # the same factor removes it up to the square of the angle
            moved = State(q, state.v - dv, state.t)
            phi, psi = dynamics.residuals(moved)
            size = dynamics.violation(phi)
            dv = moving.correct(psi)
            # the residual that damping leaves near a loss of rank, and the square of the move a row
            # that is absent, which no correction reaches, counts by the longest one's length
            unit = moving.units()
            slip = jnp.linalg.norm(unit * (psi - moving.A @ dv))
            square = before * jnp.linalg.norm(moving.scale * psi)
            speed = moving.mass.size(state.v)
            # largest velocity residual after a projection, rows at unit length and relative to the
            # speed; the projection is repeated if damping leaves more
            tangent = slip + square <= ROUND_OFF * speed
            # relative to the velocities whose sum is ψ, including those of drives
            imposed = jnp.linalg.norm(unit * (psi - moving.A @ moved.v))
            beside = jnp.maximum(speed + imposed, slip)
            creep = slip * dynamics.inverse_length
            slip = slip / jnp.where(slip > 0, beside, 1.0)

            stagnant = ((i >= 1) & (size > 0.5 * before)) | (
                (before**2 <= target) & (size <= MARGIN * target)
            )
            done = (stagnant | ~(size > target)) & tangent & (i + 1 >= least)
            done = done | (i + 1 >= self.iterations) | ~jnp.isfinite(size)
            worse = done & (size > before)
            state = State(
                jnp.where(worse, state.q, q), jnp.where(worse, moved.v, moved.v - dv), state.t
            )
            error = error_q - sum(forbidden_q), error_v - forbidden_v
            size = jnp.where(worse, before, size)
            return state, error, size, slip, creep, i + 1, moving.log_det(), done

        start = (
            renormalized(dynamics, state),
            error,
            jnp.asarray(jnp.inf),
            jnp.zeros(()),
            jnp.zeros(()),
            0,
            jnp.zeros(()),
            jnp.asarray(False),
        )
        state, error, size, slip, creep, _, log_det, _ = jax.lax.while_loop(
            lambda carry: ~carry[-1], correct, start
        )
        # without a length the violation cannot be assessed
        creep = jnp.where(dynamics.inverse_length > 0, creep, jnp.inf)
        return ProjectedStep(state, error, size, slip, creep, jnp.isfinite(size), log_det)
