"""Servo constraints with an initial error that no gain reduces.

A servo constraint without a gain only enforces `φ̈ = 0`, so an error persists, `φ(t) = φ₀ + ψ₀ t`.
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
"""A residual up to this size in its own unit is not examined further, because that needs
compilation and nearly all initial states are accurate to round-off.
"""


def kept_errors(
    servo: Servo, passive: Dynamics, s: State, reach: np.ndarray, speed: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Initial `|φ|` and `|ψ|` of each servo constraint that has an error there and no gain; zero
    for a residual that is round-off, or that does not exist.

    Args:
        s: the initial state.
        reach, speed: the largest absolute values of all coordinates and velocities in the motion,
            shapes (nq,) and (nv,).
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
        # relative to its change along the motion, as for the initial residuals of passive
        # constraints
        scale = np.abs(np.asarray(jax.jacfwd(residual)(at))) @ reached + beside()
        return float(np.max(np.where(value > ACCEPTED_VIOLATION * scale, value, 0.0), initial=0.0))

    imposed = lambda: np.abs(np.asarray(rate(jnp.zeros_like(s.v))))
    phi = size(place, s.q, reach) if c.level.has_phi else 0.0
    return phi, size(rate, s.v, speed, imposed)
