"""Steps whose projection carries a derivative."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.drift.base import (
    AbstractStabilization,
    ProjectedStep,
    corrections,
    renormalized,
)
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.inputs.arrays import without_derivative
from zwang.objects.record import field


class Differentiable(AbstractDrift):
    """Drift treatment whose result has the derivative of the state to which its iteration
    converges.

    A projection is an iteration, which is not differentiated. One more correction at its result, `q
    ⊖ A⊕φ`, `v − A⊕ψ`, moves nothing and carries the derivative: φ and ψ are zero there, and only
    their derivatives contribute.

    With a variable step length, stages stay away from singular configurations, where derivatives
    lose their digits first.

    Attributes:
        stabilization: that of the treatment.
        drift: the treatment.
        corrections: number of corrections in place of the iteration, or None. With a number,
            control flow does not depend on data: forward and reverse mode both work, and
            accelerators are efficient.
    """

    stabilization: AbstractStabilization | None
    drift: AbstractDrift
    corrections: int | None = field(static=True, default=None)

    def __init__(self, drift: AbstractDrift, corrections: int | None = None):
        self.stabilization, self.drift, self.corrections = drift.stabilization, drift, corrections

    @property
    def projects(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.drift.projects

    @property
    def keeps_clear(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.corrections is None

    def equation(self, dynamics: Dynamics, state: State, treated: bool = True):
        return self.drift.equation(dynamics, state, treated)

    def project_step(self, dynamics: Dynamics, state: State, error, target) -> ProjectedStep:
        if self.corrections is None or not self.projects:
            constant = without_derivative
            found = self.drift.project_step(constant(dynamics), constant(state), error, target)
            change = lambda name: constant(getattr(found.state, name) - getattr(state, name))
            s = State(state.q + change("q"), state.v + change("v"), state.t)
            return found._replace(state=corrected(dynamics, s) if self.projects else s)
        # nothing iterates until convergence here, so that reverse mode is possible
        s = renormalized(dynamics, state)
        # a loop, so that the model's functions are compiled once for all corrections
        again = lambda _, s: corrected(dynamics, s)
        s = jax.lax.fori_loop(0, self.corrections, again, s)
        none = jnp.zeros(())
        return ProjectedStep(
            s, error, position_violation(dynamics, s), none, none, jnp.asarray(True), none
        )


def corrected(dynamics: Dynamics, s: State) -> State:
    """Return a state after one correction, `q ← q ⊖ A⊕φ`, `v ← v − A⊕ψ`, both with A at the given
    state.
    """
    if not dynamics.constraints.m:
        return s
    A = dynamics.matrix(s)
    moving = dynamics.gauss(dynamics.mass(s, A), A, dynamics.constraints.velocity_rows)
    (dv,), (dq,) = corrections(
        dynamics, moving, A, [dynamics.velocity_residual(s)], [dynamics.position_residual(s)]
    )
    return State(dynamics.system.move(s.q, -dq, s.t, dynamics.p), s.v - dv, s.t)


def position_violation(dynamics: Dynamics, s: State) -> Float[Array, ""]:
    """Return the position violation [dimensionless] without its derivative, which does not exist at
    zero.
    """
    return without_derivative(dynamics.violation(dynamics.position_residual(s)))
