"""Explicit Runge-Kutta steps. All stages are computed in one loop, so that the equation of motion
occurs once in the compiled program.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.compile.engine import is_native
from zwang.stepping.base import AbstractIntegrator, Step
from zwang.stepping.tableau import CLASSICAL, Tableau
from zwang.thresholds import AGREEMENT, LAST_DIGIT


class AbstractExplicit(AbstractIntegrator):
    """Explicit Runge-Kutta method given by its tableau.

    The first stage is always evaluated: the projection after a step moves the state, so the last
    stage of the previous step is not the first stage of this one.
    """

    @property
    @abc.abstractmethod
    def tableau(self) -> Tableau:
        """Coefficients of the method."""

    def step(self, flow, t, y, h, weight):
        end, error, beside = explicit_step(flow.rate_and_residual, self.tableau, t, y, h)
        clear = clear_lengths(self.tableau, beside[1:]) if flow.keeps_clear else None
        return Step(end, error, jnp.asarray(True), beside[0], clear)


def explicit_step(rate: Callable, method: Tableau, t, y, h):
    """Return the end of a step, its error, and the numbers that `rate` returns with ẏ at the
    stages, shape (s,).

    Args:
        rate: as of `stage_rates`.
    """
    rates, beside = stage_rates(rate, method, t, y, h)
    return end_of(method, y, h, rates), h * (rates @ jnp.asarray(method.weights[1])), beside


def stage_rates(rate: Callable, method: Tableau, t, y, h):
    """Return ẏ at the stages, shape (n, s), and the numbers that `rate` returns with it, shape
    (s,).

    Args:
        rate: (t, y, first) → ẏ, and a number.
    """
    a, c = jnp.asarray(method.matrix), jnp.asarray(method.c)

    def stage(i, carry):
        rates, numbers = carry
        slope = a[i] @ rates if is_native() else rates @ a[i]
        found, beside = rate(t + c[i] * h, y + h * slope, i == 0)
        kept = rates.at[i].set(found) if is_native() else rates.at[:, i].set(found)
        return kept, numbers.at[i].set(beside)

    # stages last: the sum over stages of a batch is then one product without a transposition;
    # native code has batch elements in lanes, and the entries of a stage contiguous
    shape = (method.stages, len(y)) if is_native() else (len(y), method.stages)
    begun = jnp.zeros(shape), jnp.zeros(method.stages)
    rates, beside = jax.lax.fori_loop(0, method.stages, stage, begun)
    return (rates.T if is_native() else rates), beside


def clear_lengths(method: Tableau, least: Float[Array, " later"]) -> Float[Array, "2"]:
    """Return two lengths that keep the stages of a step away from a singular configuration,
    relative to this step: that of the step that passes it, and that of a step to take before,
    infinite if there is none. Both are infinite if the stages are far enough away or cannot be
    moved farther away.

    At a stage whose smallest singular value is σ, a derivative has an error of ε/σ³, where ε is the
    round-off. The configuration should lie halfway between two neighboring stages of a shorter step
    from the same start, or of a step of the same length that begins later, whichever distance is
    larger.

    Args:
        least: σ at the stages after the first.
    """
    nodes = np.unique(method.c)
    middles, room = (nodes[1:] + nodes[:-1]) / 2, np.diff(nodes) / 2
    # σ is proportional to the distance from the configuration, and σ² a parabola
    a, b, d = jnp.asarray(np.polyfit(method.c[1:], np.eye(len(least)), 2)) @ least**2
    at = -b / (2 * jnp.where(a > 0, a, jnp.inf))
    # distance also to the stages of the next step, if that has the same length
    apart = jnp.min(jnp.abs(np.append(nodes, 1 + nodes) - at))
    least_there = a * apart**2 + jnp.maximum(d + b * at / 2, 0.0)
    later = at - middles
    length = jnp.where(later > 0, 1.0, at / middles)
    found = jnp.where(later < 1, room * length, 0.0)
    best = jnp.argmax(found)
    # at least 1.5 times the distance, because each new length costs a step
    near = (at > 0) & (least_there**1.5 < LAST_DIGIT / AGREEMENT) & (found[best] > 1.5 * apart)
    lengths = jnp.stack([length[best], jnp.where(later > 0, later, jnp.inf)[best]])
    return jnp.where(near, lengths, jnp.inf)


def end_of(method: Tableau, y, h, rates):
    """Return the end of a step from the rates at its stages."""
    return y + h * (rates @ jnp.asarray(method.weights[0]))


def equal_steps(rate: Callable, y, length, steps: int) -> Float[Array, "steps n"]:
    """Return y at the ends of equal steps of the classical Runge-Kutta method, from t = 0 to
    `length`.

    Args:
        rate: (t, y) → ẏ.
    """
    h, beside = length / steps, jnp.zeros(())

    def step(y, t):
        end = explicit_step(lambda t, y, _: (rate(t, y), beside), CLASSICAL, t, y, h)[0]
        return end, end

    return jax.lax.scan(step, y, h * jnp.arange(steps))[1]
