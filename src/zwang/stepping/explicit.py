"""Explicit Runge-Kutta steps: all stages in one loop, so that the equation of motion appears once
in the compiled program.
"""

from __future__ import annotations

import abc

from zwang.arithmetic import xp
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
        b, b_error = xp.asarray(method.b), xp.asarray(method.b_error)
        return Step(y + h * (rates @ b), h * (rates @ b_error), xp.asarray(True), residual)
