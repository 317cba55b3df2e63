"""Step control: tolerances, the assessment of the error of a step, and the length of the next."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.stepping.manifold import Landing
from zwang.thresholds import AGREEMENT, RESOLVED, SMALL_PART, SOLUTION_ERROR

SHRINK, GROW = 0.2, 10.0
"""Limits of the ratio of one step to the previous one."""
FARTHEST = 1e3
"""Largest distance by which a projection may move q, relative to the tolerance of a step. The
projection removes the drift of one step, which is as small as its error. A constraint that jumps
within the step (a drive with a discontinuity or a pole) needs more, and a shorter step does not
need less.
"""
SMALLEST = SMALL_PART * RESOLVED
"""Smallest step relative to |t| + duration that time in float64 resolves."""


class Tolerances(NamedTuple):
    """Tolerances and limits of a step.

    Attributes:
        rtol, atol: error of one step, relative, and absolute of each entry of y, shape (n,).
        accept: largest remaining violation of a step [dimensionless].
        residual: residual of `A v̇ = b` at the start of a step, relative to the accelerations in
            it, above which the constraints count as contradictory and the motion ends; inf if the
            host examines the steps (`zwang.simulation.watch`).
        growth: limits of the ratio of a step to the previous one; (1, 1) for a fixed step.
        longest: the longest step [s].
        duration: duration of the run [s].
    """

    rtol: Float[Array, ""]
    atol: Float[Array, " n"]
    accept: Float[Array, ""]
    residual: Float[Array, ""]
    growth: tuple[Float[Array, ""], Float[Array, ""]]
    longest: Float[Array, ""]
    duration: Float[Array, ""]


def error_ratio(error, before, after, rtol, atol) -> Float[Array, ""]:
    """Return the root mean square of the errors of all entries, each relative to its tolerance; a
    step is accurate enough up to 1.
    """
    weight = atol + rtol * jnp.maximum(jnp.abs(after), jnp.abs(before))
    return jnp.sqrt(jnp.mean((error / weight) ** 2)) + 1e-30


def acceptable(landing: Landing, tolerances: Tolerances) -> Bool[Array, ""]:
    """Return whether the remaining φ and ψ of a step are small enough to continue."""
    # velocity residual that is always acceptable, relative to the velocities in it: damping near a
    # rank drop leaves up to 1e-10. Velocity constraints that contradict each other leave the
    # difference between them
    slow = landing.slip <= jnp.maximum(tolerances.accept, AGREEMENT)
    at_rest = landing.creep * tolerances.duration <= SOLUTION_ERROR
    return (landing.violation <= tolerances.accept) & (slow | at_rest)


def step_growth(order: int, ratio, before, kept, close, limits=(SHRINK, GROW)) -> Float[Array, ""]:
    """Return the ratio of the next step to this one by PI control of the error ratios of this step
    and the last. There is no growth if the error is too large, and the ratio is a quarter if the
    step is not acceptable.
    """
    low, high = limits
    # the previous error enters as well, which prevents oscillations at the limit of stability
    power = jnp.exp((0.4 * jnp.log(before) - 0.7 * jnp.log(ratio)) / order)
    # nine tenths of the step whose error would equal the tolerance
    growth = jnp.clip(0.9 * power, low, high)
    return jnp.where(
        kept, jnp.where(close, growth, jnp.minimum(growth, 1.0)), jnp.minimum(0.25, high)
    )
