"""How far a run is, as its progress says it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.errors import Result
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState


class Reached(float):
    """The part of a run that is done, from 0 to 1, and what else there is to say of it.

    Attributes:
        time: simulated time that was reached [s].
        speed: simulated time per second of this process, lately.
        violation: largest dimensionless position violation that a step has left so far.
        left: seconds that the rest takes at this speed; NaN before it is known.
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
    """Tells a function how far the run is, after each chunk of steps.

    Args:
        progress: called with a `Reached`.

    Attributes:
        window: time of the latest steps, at least, that a speed is measured over [s].
    """

    window = 5.0

    def __init__(self, progress: Callable[[Reached], None]):
        self.progress, self._violation = progress, 0.0

    def begin(self, run: RunState) -> None:
        # (clock, simulated time) that the speed is measured from, and that it will be next; a run
        # that is resumed is at a later time than its start
        self._marks = [(time.perf_counter(), run.t)] * 2
        self._first = True

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        self._violation = max(self._violation, float(np.max(chunk.steps.violation, initial=0.0)))
        assert run.start is not None
        t, start, end, now = run.t, run.start.t0, float(run.instants[-1]), time.perf_counter()
        (since, at), (latest, _) = self._marks
        speed = (t - at) / max(now - since, 1e-9)
        # what was compiled before the first steps says nothing of the others
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
