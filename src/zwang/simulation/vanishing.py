"""Detection of rows that vanish along a motion, so that no finite force satisfies them.

A rod that shrinks to a point takes ever larger forces and ever shorter steps, without end. If it
shrinks along a straight line, one step may end on the other side of the point, or reverse.
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
"""Results of a motion that ends before a vanishing row."""


class VanishingRows(AbstractMonitor):
    """Ends a motion whose row vanishes: the motion jumps there, or comes to a standstill before it.

    Attributes:
        standing: a motion is at a standstill if its last steps are shorter than this part of the
            mean step so far.
        leap: a step jumps if the velocity changes within it by this part of the largest velocity:
            without a gradient a row does not constrain the velocity, and a projection next to such
            a state may reverse it.
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
        # a single step may be short because a sample or a stop lies at its end, but not all of them
        lengths = run.recent_lengths(steps)
        so_far = (float(t) - float(start.t[0])) / max(int(run.here.accepted), 1)
        stands = len(lengths) > 0 and np.max(lengths) < self.standing * so_far
        ends = stands or int(run.here.result) in ENDLESS
        if ends and np.all(np.isfinite(y)) and (found := gone(t, y)):
            run.end_within(chunk, len(steps.t), Result.VANISHING, found)
        return False


def _leaping(start: Steps, before: Steps, chunk: Steps, nq: int, part: float) -> np.ndarray:
    """Return the steps of a chunk within which velocities jump by this part of the usual ones, next
    to rows that have almost vanished.

    At a point where a row has no gradient the further motion is undetermined: it continues on the
    other side or reverses.
    """
    y = np.vstack([before.y[-1:], chunk.y])
    # a motion that comes to rest, where such a row may vanish too, does not jump
    usual = max(np.max(np.abs(x)) for x in (y[:, nq:], start.y[:1, nq:]))
    leap = np.abs(np.diff(y[:, nq:], axis=0)).max(axis=1) > part * usual
    heights = np.append(before.log_det, chunk.log_det)
    high = np.max(heights, initial=-np.inf, where=np.isfinite(heights))
    return np.flatnonzero(leap & (chunk.log_det < high + 2 * np.log(SMALL_PART)))


def shrunk(dynamics: Dynamics, start: State, end: State, least: float = SMALL_PART) -> str:
    """Return a list of the rows that have almost vanished since the start, in words; empty if none
    have.
    """
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
        f"the gradient of {name!r} has shrunk to {part:.0e} of its size at the start"
        for name, part in found.items()
        if part < least
    )
