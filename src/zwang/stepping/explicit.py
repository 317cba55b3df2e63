"""Explicit Runge-Kutta steps: all stages in one loop, so that the equation of motion appears once
in the compiled program.
"""

from __future__ import annotations

import abc

import jax
import jax.numpy as jnp

from zwang.stepping.base import AbstractIntegrator, Step
from zwang.stepping.tableau import Tableau


class AbstractExplicit(AbstractIntegrator):
    """An explicit Runge-Kutta method given by its tableau.

    The first stage is always evaluated anew: the projection after a step moves the state, so that
    the last stage of the step before is not the first of this one.
    """

    @property
    @abc.abstractmethod
    def tableau(self) -> Tableau:
        """The method's coefficients."""

    def step(self, flow, t, y, h, weight):
        method = self.tableau
        a, c = jnp.asarray(method.matrix), jnp.asarray(method.c)
        b, b_error = jnp.asarray(method.b), jnp.asarray(method.b_error)

        def stage(i, carry):
            rates, first = carry
            rate, residual = flow.rate_and_residual(t + c[i] * h, y + h * (rates @ a[i]))
            return rates.at[:, i].set(rate), jnp.where(i == 0, residual, first)

        # stages last: of many motions side by side the sum over stages is then one product, without
        # moving anything
        start = (jnp.zeros((len(y), method.stages)), jnp.zeros(()))
        rates, residual = jax.lax.fori_loop(0, method.stages, stage, start)
        return Step(y + h * (rates @ b), h * (rates @ b_error), jnp.asarray(True), residual)
