"""How exactly a step is taken: its tolerances, the judgement of its error and the next length."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.stepping.manifold import Landing
from zwang.thresholds import AGREEMENT, RESOLVED, SMALL_PART, SOLUTION_ERROR

SHRINK, GROW = 0.2, 10.0
"""Limits of one change of the step."""
FARTHEST = 1e3
"""Most that a projection may move q, in errors that a step may have. It takes back the drift of
one step, which is as small as its error; a constraint that jumps within the step (a drive with a
step in it, or with a pole) asks for more, and no shorter step asks for less."""
SMALLEST = SMALL_PART * RESOLVED
"""A step below this times |t| + duration cannot be resolved by time in float64."""


class Tolerances(NamedTuple):
    """What a step may leave, and how long it may be.

    Attributes:
        rtol, atol: error of one step, relative, and absolute of each entry of y, shape (n,).
        accept: violation [dimensionless] that a step may leave.
        residual: residual of `A v̇ = b` at the start of a step, relative to the accelerations in
            it, beyond which the constraints count as contradictory and the motion ends; inf where
            the host looks closer at the steps (`zwang.simulation.watch`).
        growth: limits of a step over the one before; (1, 1) for a fixed step.
        longest: the longest step [s].
        duration: of the run [s].
    """

    rtol: Float[Array, ""]
    atol: Float[Array, " n"]
    accept: Float[Array, ""]
    residual: Float[Array, ""]
    growth: tuple[Float[Array, ""], Float[Array, ""]]
    longest: Float[Array, ""]
    duration: Float[Array, ""]


def error_ratio(error, before, after, rtol, atol) -> Float[Array, ""]:
    """Root mean square of the entries' errors, each over the one it may have; a step is close
    enough up to 1.
    """
    weight = atol + rtol * jnp.maximum(jnp.abs(after), jnp.abs(before))
    return jnp.sqrt(jnp.mean((error / weight) ** 2)) + 1e-30


def acceptable(landing: Landing, tolerances: Tolerances) -> Bool[Array, ""]:
    """Whether what a step leaves of φ and ψ is small enough to go on from."""
    # velocity residual that a step may always leave, relative to the velocities in it: damping near
    # a rank drop leaves up to 1e-10. Velocity constraints that contradict each other leave their
    # own disagreement
    slow = landing.slip <= jnp.maximum(tolerances.accept, AGREEMENT)
    at_rest = landing.creep * tolerances.duration <= SOLUTION_ERROR
    return (landing.violation <= tolerances.accept) & (slow | at_rest)


def step_growth(order: int, ratio, before, kept, close, limits=(SHRINK, GROW)) -> Float[Array, ""]:
    """Next step over this one: PI control on the error ratios of this step and the last, no growth
    where the error is too large, a quarter where the step cannot be kept.
    """
    low, high = limits
    # the error before acts as well, which keeps the step from swinging at the bounds of stability
    power = jnp.exp((0.4 * jnp.log(before) - 0.7 * jnp.log(ratio)) / order)
    # nine tenths of the step that would just be acceptable
    growth = jnp.clip(0.9 * power, low, high)
    return jnp.where(
        kept, jnp.where(close, growth, jnp.minimum(growth, 1.0)), jnp.minimum(0.25, high)
    )
