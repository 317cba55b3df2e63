"""The watch for rows that vanish along a motion, so that no finite force can hold them.

A rod that shrinks to a point takes ever more force and ever shorter steps, without end; if it
shrinks straight on, one step comes out on the other side of the point, or back.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.metric import metric_of, rows_of
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State, host_state
from zwang.errors import Result
from zwang.simulation.results import Steps

SHRUNK, STANDING = 1e-3, 1e-3
"""A row that is this part of its length at the start vanishes, if the last steps are this part of
those so far: a motion that passes through such a point takes ordinary steps."""
LEAP = 0.5
"""Part of the largest velocity that changes within a step which a row that vanishes makes leap:
with no gradient it holds no velocity, and a projection next to it may turn one round."""
ENDLESS = (Result.STEP_TOO_SMALL, Result.TOO_MANY_STEPS)
"""How a motion ends before a row that vanishes."""


@dataclasses.dataclass(frozen=True)
class Contradiction:
    """Constraints that came to contradict each other, or that nothing can hold.

    Attributes:
        step: number of steps of the chunk that can be kept.
        sentence: which rows, by how much, and when.
        result: what the motion ends with.
    """

    step: int
    sentence: str
    result: Result = Result.INCONSISTENT


def vanishing(
    flow: ConstrainedVectorField,
    start: Steps,
    before: Steps,
    chunk: Steps,
    accepted: int,
    lengths: np.ndarray,
    result: int,
) -> Contradiction | None:
    """Whether a motion ends within a chunk because a row vanishes: it leaps there, or stands still
    before it.

    Args:
        flow: the motion's vector field.
        start: holds its first state.
        before, chunk: the steps up to the chunk's start, and those of the chunk.
        accepted: number of steps up to the chunk's end.
        lengths: of the last few steps up to there [s].
        result: how the chunk ended; a `Result`.
    """

    def gone(t, y: np.ndarray) -> str:
        ends = (start.t[0], start.y[0]), (t, y)
        first, here = (host_state(y[:nq], y[nq:], float(t)) for t, y in ends)
        return shrunk(flow.dynamics.passive, first, here)

    nq = flow.dynamics.system.nq
    for i in _leaping(start, before, chunk, nq):
        if found := gone(chunk.t[i], chunk.y[i]):
            return Contradiction(int(i), found, Result.VANISHING)
    t, y = (chunk.t[-1], chunk.y[-1]) if len(chunk.t) else (before.t[-1], before.y[-1])
    # one step may be short because a sample or a stop lies at its end, not so all of them
    so_far = (float(t) - float(start.t[0])) / max(accepted, 1)
    stands = len(lengths) > 0 and np.max(lengths) < STANDING * so_far
    if (stands or result in ENDLESS) and np.all(np.isfinite(y)) and (found := gone(t, y)):
        return Contradiction(len(chunk.t), found, Result.VANISHING)
    return None


def _leaping(start: Steps, before: Steps, chunk: Steps, nq: int) -> np.ndarray:
    """Steps of a chunk within which velocities leap next to rows that are nearly lost.

    A point where a row has no gradient leaves open how the motion goes on, on the other side or
    back.
    """
    y = np.vstack([before.y[-1:], chunk.y])
    # a motion that comes to rest, where such a row may vanish too, does not leap
    usual = max(np.max(np.abs(x)) for x in (y[:, nq:], start.y[:1, nq:]))
    leap = np.abs(np.diff(y[:, nq:], axis=0)).max(axis=1) > LEAP * usual
    heights = np.append(before.log_det, chunk.log_det)
    high = np.max(heights, initial=-np.inf, where=np.isfinite(heights))
    return np.flatnonzero(leap & (chunk.log_det < high + 2 * np.log(SHRUNK)))


def shrunk(dynamics: Dynamics, start: State, end: State, least: float = SHRUNK) -> str:
    """Which rows have all but vanished since the start, in words; empty if none have."""
    lengths = []
    for s in (start, end):
        at = evaluate(dynamics, s)
        lengths.append(metric_of(at.M, at.A, dynamics.singular_mass).lengths(rows_of(at.A)))
    rest = np.where(lengths[0] > 0, lengths[1] / np.where(lengths[0] > 0, lengths[0], 1.0), 1.0)
    found = {
        name: float(np.min(rest[rows], initial=1.0))
        for name, rows in dynamics.constraints.row_slices.items()
    }
    return ", ".join(
        f"{name!r} has {part:.0e} of the gradient that it had at the start"
        for name, part in found.items()
        if part < least
    )
