"""Moreau's time stepping: steps of one length that meet all contacts by impulses at their end."""

from __future__ import annotations

import jax.numpy as jnp

from zwang.errors import ModelError
from zwang.remedy import advice
from zwang.stepping.base import AbstractIntegrator, Flow, Step
from zwang.stepping.rattle import STEP


class Moreau(AbstractIntegrator):
    """The projected time stepping of Moreau and Jean, for motions whose impacts are too dense to be
    located one by one:

        q½ = q + ½h v,    v₁ = v + h a(q½, v) + M⁻¹(AᵀΛ_A + GᵀΛ + TᵀΛ_T),    q₁ = q½ + ½h v₁,
        0 ≤ G v₁ + e G v ⊥ Λ ≥ 0   of gaps with g(q½) ≤ 0,    |Λ_T| ≤ μΛ against T v₁

    then q₁ and v₁ are brought onto the constraints that hold for good. Forces of contacts and their
    impacts are one impulse of each step, so that nothing is located: the error is of order 1 in the
    length of the step, and gaps are below zero by as much; without contacts it is of order 2, and 1
    where forces depend on velocities. Steps are of one length, `simulate(..., step=...)`. The law
    of impacts is Newton's, with the velocity before the step.

    Reference: Moreau (1999), Numerical aspects of the sweeping process, Comput. Methods Appl. Mech.
        Eng. 177, 329-349; Jean (1999), The non-smooth contact dynamics method, ibid. 235-257.
    """

    estimates = False
    impulsive = True

    @property
    def order(self) -> int:
        return 1

    def step(self, flow: Flow, t, y, h, weight):
        q, v = flow.split(y)

        def along(t, q, v):
            """q̇."""
            if flow.moves_by_velocity:
                return v
            return flow.split(flow.rate(t, jnp.concatenate([q, v])))[0]

        middle = q + 0.5 * h * along(t, q, v)
        acceleration = flow.split(flow.rate(t + 0.5 * h, jnp.concatenate([middle, v])))[1]
        after = v + h * acceleration
        end = middle + 0.5 * h * along(t + 0.5 * h, middle, after)
        nothing = jnp.zeros_like(y)
        return Step(jnp.concatenate([end, after]), nothing, jnp.asarray(True), jnp.zeros(()))

    def refuse(self, model, flow, state, instants, step):
        for wrong, why in (
            (step is None, f"takes steps of one length: {advice(STEP)} in seconds"),
            (not flow.drift.projects, "needs zw.methods.Projection()"),
            (flow.dynamics.structure.sparse, "takes no sparse rows"),
            (
                any(getattr(x, "impact", "") == "poisson" for x in model.constraints.members),
                'takes Newton\'s law of impacts, not impact="poisson"',
            ),
        ):
            if wrong:
                raise ModelError(
                    f"{model.name}: zw.methods.Moreau {why}; zw.methods.Dopri8() locates every "
                    "impact."
                )
