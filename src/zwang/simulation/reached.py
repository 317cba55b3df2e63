"""Progress of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.errors import Result
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState


class Reached(float):
    """The completed fraction of a run, from 0 to 1, with further values.

    Attributes:
        time: simulated time so far [s].
        speed: recent simulated time per second of wall-clock time.
        violation: largest dimensionless position violation after a step so far.
        left: estimated remaining wall-clock time at this speed [s]; NaN while it is unknown.
    """

    time: float
    speed: float
    violation: float
    left: float

    def __new__(cls, fraction: float, time: float, speed: float, violation: float, left: float):
        made = super().__new__(cls, fraction)
        made.time, made.speed, made.violation, made.left = time, speed, violation, left
        return made


class Clock(AbstractMonitor):
    """Reports the progress of the run to a function after each chunk of steps.

    Args:
        progress: called with a `Reached`.

    Attributes:
        window: shortest wall-clock time of latest steps over which the speed is measured [s].
    """

    window = 5.0

    def __init__(self, progress: Callable[[Reached], None]):
        self.progress, self._violation = progress, 0.0

    def begin(self, run: RunState) -> None:
        # (clock, simulated time) from which the speed is measured, and from which it will be
        # measured next; a resumed run begins at a later time than its start
        self._marks = [(time.perf_counter(), run.t)] * 2
        self._first = True

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        self._violation = max(self._violation, float(np.max(chunk.steps.violation, initial=0.0)))
        assert run.start is not None
        t, start, end, now = run.t, run.start.t0, float(run.instants[-1]), time.perf_counter()
        (since, at), (latest, _) = self._marks
        speed = (t - at) / max(now - since, 1e-9)
        # the first steps include compilation, which is not representative
        if self._first or now > latest + self.window:
            self._marks = [(now, t)] * 2 if self._first else [self._marks[1], (now, t)]
            self._first = False
        left = (end - t) / speed if speed > 0 else np.nan if t < end else 0.0
        self.progress(Reached((t - start) / (end - start), t, speed, self._violation, left))
        return result

    def memory(self) -> dict[str, Any]:
        return {"violation": self._violation}

    def recall(self, memory: dict[str, Any]) -> None:
        self._violation = memory["violation"]
