"""Baumgarte stabilization in both conventions of the papers, and no treatment of drift.

A stabilized constraint obeys `φ̈ + (velocity gain) φ̇ + (position gain) φ = 0` instead of `φ̈ = 0`.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.dynamics.drift.base import (
    AbstractDrift,
    AbstractStabilization,
    ProjectedStep,
    renormalized,
)
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.inputs.call import misfits_named
from zwang.objects.record import field


class BaumgarteGains(AbstractStabilization):
    """Stabilization `b ← b − α ψ − β φ`, optionally with gains per row (scara paper, eq. 52).

    Attributes:
        alpha: velocity gain α [1/s], a number or shape (velocity rows,).
        beta: position gain β [1/s²], a number or shape (holonomic rows,).
    """

    alpha: Float[Array, "..."] | float
    beta: Float[Array, "..."] | float

    def gains(self):
        return jnp.asarray(self.alpha), jnp.asarray(self.beta)


class BaumgarteRates(AbstractStabilization):
    """Stabilization `b ← b − 2α ψ − β² φ`, critically damped for α = β (pseudoinverse paper, eq.
    32).

    Attributes:
        alpha: α [1/s].
        beta: β [1/s].
    """

    alpha: Float[Array, "..."] | float
    beta: Float[Array, "..."] | float

    def gains(self):
        return 2 * jnp.asarray(self.alpha), jnp.asarray(self.beta) ** 2


class Stabilized(AbstractDrift):
    """Stabilization of residuals by a term in b, without a projection of the state.

    Violations remain of the order of the integration error. For singular configurations use
    `Projection`, which accepts the same `stabilization` and combines both.

    Attributes:
        stabilization: `BaumgarteGains` or `BaumgarteRates`; None enforces only `φ̈ = 0`, so that
            round-off and the initial violation grow (linearly, `Φ(t) = Φ₀ + t Φ̇₀`).
    """

    stabilization: AbstractStabilization | None = field(
        default=None,
        metadata={"kind": AbstractStabilization, "example": "zw.methods.BaumgarteRates(5.0, 5.0)"},
    )

    def equation(self, dynamics: Dynamics, state: State, treated: bool = True):
        A, phi, psi = dynamics.linearized(state)
        gauss = dynamics.gauss(dynamics.mass(state, A), A)
        equation = dynamics.equation(state, gauss, self.term(dynamics, state))
        return phi, psi, equation

    def project_step(self, dynamics: Dynamics, state: State, error, target) -> ProjectedStep:
        state = renormalized(dynamics, state)
        size = dynamics.violation(dynamics.position_residual(state))
        # nothing is projected, but log det is needed to find crossings with every treatment
        return ProjectedStep(
            state,
            error,
            size,
            jnp.zeros(()),  # the velocity is left as it was integrated
            jnp.zeros(()),
            jnp.asarray(True),
            dynamics.gauss_at(state).log_det(),
        )


@misfits_named
def Baumgarte(alpha, beta) -> Stabilized:
    """Return the treatment `b ← b − 2α ψ − β² φ` (pseudoinverse paper, eq. 32); α, β in 1/s."""
    return Stabilized(BaumgarteRates(alpha, beta))


@misfits_named
def NoStabilization() -> Stabilized:
    """Return the treatment that enforces only `φ̈ = 0`."""
    return Stabilized(None)
