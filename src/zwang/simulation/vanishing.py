"""The watch for rows that vanish along a motion, so that no finite force can hold them.

A rod that shrinks to a point takes ever more force and ever shorter steps, without end; if it
shrinks straight on, one step comes out on the other side of the point, or back.
"""

from __future__ import annotations

import numpy as np

from zwang.algebra.metric import metric_of, rows_of
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.equations.state import State, host_state
from zwang.errors import Result
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.simulation.results import Steps
from zwang.thresholds import SMALL_PART

ENDLESS = (Result.STEP_TOO_SMALL, Result.TOO_MANY_STEPS)
"""How a motion ends before a row that vanishes."""


class VanishingRows(AbstractMonitor):
    """Ends a motion whose row vanishes: it leaps there, or stands still before it.

    Attributes:
        standing: part of the length of the steps so far that the last ones have in a motion that
            stands still.
        leap: part of the largest velocity that changes within a step that leaps: with no gradient a
            row holds no velocity, and a projection next to it may turn one round.
    """

    standing, leap = SMALL_PART, 0.5

    def inspect(self, run: RunState, chunk: Chunk) -> bool:
        start, before, steps = run.start, chunk.before, chunk.steps
        assert start is not None
        nq = run.model.system.nq

        def gone(t, y: np.ndarray) -> str:
            ends = (start.t[0], start.y[0]), (t, y)
            first, here = (host_state(y[:nq], y[nq:], float(t)) for t, y in ends)
            return shrunk(run.flow.dynamics.passive, first, here)

        for i in _leaping(start, before, steps, nq, self.leap):
            if found := gone(steps.t[i], steps.y[i]):
                run.end_within(chunk, int(i), Result.VANISHING, found)
        t, y = (steps.t[-1], steps.y[-1]) if len(steps.t) else (before.t[-1], before.y[-1])
        # one step may be short because a sample or a stop lies at its end, not so all of them
        lengths = run.recent_lengths(steps)
        so_far = (float(t) - float(start.t[0])) / max(int(run.here.accepted), 1)
        stands = len(lengths) > 0 and np.max(lengths) < self.standing * so_far
        ends = stands or int(run.here.result) in ENDLESS
        if ends and np.all(np.isfinite(y)) and (found := gone(t, y)):
            run.end_within(chunk, len(steps.t), Result.VANISHING, found)
        return False


def _leaping(start: Steps, before: Steps, chunk: Steps, nq: int, part: float) -> np.ndarray:
    """Steps of a chunk within which velocities leap by a part of the usual ones, next to rows that
    are nearly lost.

    A point where a row has no gradient leaves open how the motion goes on, on the other side or
    back.
    """
    y = np.vstack([before.y[-1:], chunk.y])
    # a motion that comes to rest, where such a row may vanish too, does not leap
    usual = max(np.max(np.abs(x)) for x in (y[:, nq:], start.y[:1, nq:]))
    leap = np.abs(np.diff(y[:, nq:], axis=0)).max(axis=1) > part * usual
    heights = np.append(before.log_det, chunk.log_det)
    high = np.max(heights, initial=-np.inf, where=np.isfinite(heights))
    return np.flatnonzero(leap & (chunk.log_det < high + 2 * np.log(SMALL_PART)))


def shrunk(dynamics: Dynamics, start: State, end: State, least: float = SMALL_PART) -> str:
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
