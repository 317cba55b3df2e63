"""Kværnø, order 5(4), diagonally implicit: for stiff systems."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from zwang.objects.record import field
from zwang.stepping.base import AbstractIntegrator, Flow, Step
from zwang.stepping.tableau import Tableau
from zwang.thresholds import ROUND_OFF

GAMMA = 0.26
_LAST = (
    0.13659751177640291,
    0,
    -0.05496908796538376,
    -0.04118626728321046,
    0.62993304899016403,
    0.06962479448202728,
    GAMMA,
)
_EMBEDDED = (
    0.13855640231268224,
    0,
    -0.04245337201752043,
    0.02446657898003141,
    0.61943039072480676,
    GAMMA,
    0,
)

TABLEAU = Tableau(
    c=(0, 0.52, 1.230333209967908, 0.8957659843500759, 0.43639360985864756, 1.0, 1.0),
    a=(
        (0,),
        (GAMMA, GAMMA),
        (0.13, 0.84033320996790809, GAMMA),
        (0.22371961478320505, 0.47675532319799699, -0.06470895363112615, GAMMA),
        (
            0.16648564323248321,
            0.10450018841591720,
            0.03631482272098715,
            -0.13090704451073998,
            GAMMA,
        ),
        _EMBEDDED,
        _LAST,
    ),
    b=_LAST,
    b_error=tuple(x - y for x, y in zip(_LAST, _EMBEDDED, strict=True)),
)


class Kvaerno5(AbstractIntegrator):
    """ESDIRK method of order 5 with an embedded error estimate: A- and L-stable, stiffly accurate,
    7 stages, 6 of them implicit.

    A stage solves `k = f(y + hγ k)` by Newton steps on a matrix that uses the structure of
    mechanics (`zwang.dynamics.vector_field.ConstrainedVectorField.newton`), computed once per
    stage. The matrix omits the curvature of the constraints and n of `q̇ = N v + n`, which costs
    iterations but no accuracy. The error estimate is the difference of the two solutions without a
    filter, because a stiff filter underestimated the error.

    Attributes:
        tolerance: fraction of the acceptable error below which the Newton step of a stage must
            fall; 1e-2.
        iterations: maximum number of Newton steps per stage, after which the step is rejected; 20.

    Reference: Kværnø (2004), BIT 44, 489-502.
    """

    tolerance: float = 1e-2
    iterations: int = field(default=20, metadata={"least": 1})
    implicit: ClassVar[bool] = True

    @property
    def order(self) -> int:
        return 5

    def step(self, flow: Flow, t, y, h, weight):
        a, c, step = jnp.asarray(TABLEAU.matrix), jnp.asarray(TABLEAU.c), h * GAMMA
        first, residual = flow.rate_and_residual(t, y)

        def stage(i, carry):
            rates, solved = carry
            base = y + h * ((a[i] * (jnp.arange(TABLEAU.stages) < i)) @ rates)
            rate = lambda k: flow.rate(t + c[i] * h, base + step * k)
            # a Newton step that is round-off of the terms of a stage cannot be reduced; without
            # this bound rtol = 1e-12 never converges
            small = lambda k: (
                weight + ROUND_OFF * (jnp.abs(base) + jnp.abs(step * k)) / self.tolerance
            )
            size = lambda k, dk: jnp.sqrt(jnp.mean((step * dk / small(k)) ** 2))
            # the rate of the previous stage is the initial guess; one matrix for the whole step is
            # too inaccurate where stiff directions rotate: an elastic pendulum took four times the
            # steps
            guess = rates[i - 1]
            solve = flow.newton(t + c[i] * h, base + step * guess, step)
            k, ok = self._solve(rate, solve, size, guess)
            return rates.at[i].set(k), solved & ok

        start = jnp.zeros((TABLEAU.stages, len(y))).at[0].set(first), jnp.asarray(True)
        rates, solved = jax.lax.fori_loop(1, TABLEAU.stages, stage, start)
        return Step(
            y + h * (jnp.asarray(TABLEAU.b) @ rates),
            h * (jnp.asarray(TABLEAU.b_error) @ rates),
            solved,
            residual,
        )

    def _solve(self, rate, solve, size, guess):
        """Solve `k = rate(k)` by Newton steps `solve(rate(k) − k)` from a guess. Return k, and
        whether the `size` of a step became as small as the tolerance.
        """

        def newton(carry):
            k, _, i = carry
            dk = solve(rate(k) - k)
            found = size(k, dk)
            return k + dk, jnp.where(jnp.isfinite(found), found, jnp.inf), i + 1

        def unsolved(carry):
            _, found, i = carry
            return (
                (found > self.tolerance) & (i < self.iterations) & ((i == 0) | jnp.isfinite(found))
            )

        start = guess, jnp.asarray(jnp.inf), 0
        k, found, _ = jax.lax.while_loop(unsolved, newton, start)
        return k, found <= self.tolerance
