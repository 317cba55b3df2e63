"""Explicit Runge-Kutta steps: all stages in one loop, so that the equation of motion appears once
in the compiled program.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.compile.engine import is_native
from zwang.stepping.base import AbstractIntegrator, Step
from zwang.stepping.tableau import CLASSICAL, Tableau


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
        end, error, residual = explicit_step(flow.rate_and_residual, self.tableau, t, y, h)
        return Step(end, error, jnp.asarray(True), residual)


def explicit_step(rate: Callable, method: Tableau, t, y, h):
    """Where a step ends, its error, and what `rate` gives beside ẏ at the first stage.

    Args:
        rate: as of `stage_rates`.
    """
    rates, first = stage_rates(rate, method, t, y, h)
    return end_of(method, y, h, rates), h * (rates @ jnp.asarray(method.weights[1])), first


def stage_rates(rate: Callable, method: Tableau, t, y, h):
    """ẏ at the stages, shape (n, s), and what `rate` gives beside it at the first.

    Args:
        rate: (t, y, first) → ẏ, and a number that is 0 but at the first stage.
    """
    a, c = jnp.asarray(method.matrix), jnp.asarray(method.c)

    def stage(i, carry):
        rates, first = carry
        slope = a[i] @ rates if is_native() else rates @ a[i]
        found, beside = rate(t + c[i] * h, y + h * slope, i == 0)
        kept = rates.at[i].set(found) if is_native() else rates.at[:, i].set(found)
        return kept, first + beside

    # stages last: of many motions side by side the sum over stages is then one product, without
    # moving anything; native code has members in lanes, and a stage side by side
    shape = (method.stages, len(y)) if is_native() else (len(y), method.stages)
    rates, first = jax.lax.fori_loop(0, method.stages, stage, (jnp.zeros(shape), jnp.zeros(())))
    return (rates.T if is_native() else rates), first


def end_of(method: Tableau, y, h, rates):
    """Where a step ends, of the rates at its stages."""
    return y + h * (rates @ jnp.asarray(method.weights[0]))


def equal_steps(rate: Callable, y, length, steps: int) -> Float[Array, "steps n"]:
    """y at the ends of equal steps of the classical method, from t = 0 to a length.

    Args:
        rate: (t, y) → ẏ.
    """
    h, beside = length / steps, jnp.zeros(())

    def step(y, t):
        end = explicit_step(lambda t, y, _: (rate(t, y), beside), CLASSICAL, t, y, h)[0]
        return end, end

    return jax.lax.scan(step, y, h * jnp.arange(steps))[1]
