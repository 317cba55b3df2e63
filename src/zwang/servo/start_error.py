"""Servo constraints that start with an error which nothing reduces.

Without a gain a servo enforces `φ̈ = 0` alone, so that an error stays, `φ(t) = φ₀ + ψ₀ t`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.state import State
from zwang.thresholds import ACCEPTED_VIOLATION

if TYPE_CHECKING:
    from zwang.servo.servo import Servo

CLEAN = 1e-13
"""A residual that is no larger in its own unit is not looked at: it would have to be compiled for,
and nearly all starts are good to round-off."""


def kept_errors(
    servo: Servo, passive: Dynamics, s: State, reach: np.ndarray, speed: np.ndarray
) -> dict[str, tuple[float, float]]:
    """`|φ|` and `|ψ|` at a start of each servo constraint that is off there and has no gain; zero
    where one of them is round-off, or does not exist.

    Args:
        s: the start.
        reach, speed: the largest sizes of all coordinates and velocities in the motion, shapes
            (nq,) and (nv,).
    """
    found = {}
    for c in servo.constraints:
        if c.name in servo.gains or not c.level.has_psi:
            continue
        off = _off(c, passive, s, reach, speed)
        if any(off):
            found[c.name] = off
    return found


def _off(
    c: AbstractConstraint, passive: Dynamics, s: State, reach: np.ndarray, speed: np.ndarray
) -> tuple[float, float]:
    system, p = passive.system, passive.p
    place = lambda q: c.position_residual(system, q, s.t, p)
    rate = lambda v: c.velocity_residual(system, s.q, v, s.t, p)

    def size(residual, at, reached, beside=lambda: 0.0) -> float:
        value = np.abs(np.asarray(residual(at)))
        if not np.any(value > CLEAN):
            return 0.0
        # beside what the motion changes it by, as a start's passive constraints are judged
        scale = np.abs(np.asarray(jax.jacfwd(residual)(at))) @ reached + beside()
        return float(np.max(np.where(value > ACCEPTED_VIOLATION * scale, value, 0.0), initial=0.0))

    imposed = lambda: np.abs(np.asarray(rate(jnp.zeros_like(s.v))))
    phi = size(place, s.q, reach) if c.level.has_phi else 0.0
    return phi, size(rate, s.v, speed, imposed)
