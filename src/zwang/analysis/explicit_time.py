"""Dependence of a model's equations on time, near a state at rest."""

from __future__ import annotations

import enum

import jax.numpy as jnp
import numpy as np

from zwang.analysis.constrained_state import ConstrainedState, solve
from zwang.equations.state import State
from zwang.thresholds import AGREEMENT

LATER_TIMES = (0.11, 1.37, 17.3)
"""Later times [s] at which the equations are compared with those of the instant: without a common
period."""


class Time(enum.Enum):
    """What of the equations changes with time."""

    NOTHING = "nothing"
    LOADS = "loads"
    COEFFICIENTS = "coefficients"


def explicit_time(here: ConstrainedState) -> Time:
    """Compare a state's equations with those of later instants, at the same (q, v), v̇ and λ: loads
    alone leave constraints and all derivatives as they are.
    """
    own, found = here.variation, Time.NOTHING
    nv, s = here.dynamics.system.nv, here.state
    for wait in LATER_TIMES:
        there = solve(here.dynamics, State(s.q, s.v, s.t + jnp.asarray(wait)))
        then = ConstrainedState(
            here.dynamics, there.state, there.local, here.w, here.multipliers
        ).variation
        slopes = zip(own[:4], then[:4], strict=True)
        if any(_differ(a[:, : 2 * nv], b[:, : 2 * nv]) for a, b in slopes):
            return Time.COEFFICIENTS
        if any(
            _differ(getattr(here.local, x), getattr(there.local, x)) for x in ("phi", "psi", "b")
        ):
            return Time.COEFFICIENTS
        if _differ(here.local.F, there.local.F):
            found = Time.LOADS
    return found


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays differ by more than round-off; a value that is no number differs."""
    size = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0))
    # a residual of zero is known to the round-off of coordinates of size one
    # largest change, relative to the size of an equation's terms, that counts as none
    return not bool(np.max(np.abs(a - b), initial=0.0) <= AGREEMENT * size + 1e-13)
