"""Explicit Runge-Kutta steps: all stages in one loop, so that the equation of motion appears once
in the compiled program.
"""

from __future__ import annotations

import abc

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
        rates, residual = flow.stages(method, t, y, h)
        end, error = end_of(method, y, h, rates), h * (rates @ jnp.asarray(method.weights[1]))
        return Step(end, error, jnp.asarray(True), residual)


def end_of(method: Tableau, y, h, rates):
    """Where a step ends, of the rates at its stages."""
    return y + h * (rates @ jnp.asarray(method.weights[0]))
