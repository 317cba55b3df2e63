"""How far a run is, as its progress says it."""

from __future__ import annotations

import time

import numpy as np


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


WINDOW = 5.0
"""Seconds of the latest steps, at least, that a speed is measured over."""


class Clock:
    """Measures how fast a run goes.

    Args:
        start, end: of the run [s].
        here: where this process begins [s], which is later in a run that is resumed.
    """

    def __init__(self, start: float, end: float, here: float):
        self.start, self.end = start, end
        self._violation = 0.0
        # (clock, simulated time) that the speed is measured from, and that it will be next
        self._marks = [(time.perf_counter(), here)] * 2
        self._first = True

    def reached(self, t: float, violation: np.ndarray) -> Reached:
        """What there is to say at a time t [s], after steps with these violations."""
        self._violation = max(self._violation, float(np.max(violation, initial=0.0)))
        now = time.perf_counter()
        (since, at), (latest, _) = self._marks
        speed = (t - at) / max(now - since, 1e-9)
        # what was compiled before the first steps says nothing of the others
        if self._first or now > latest + WINDOW:
            self._marks = [(now, t)] * 2 if self._first else [self._marks[1], (now, t)]
            self._first = False
        left = (self.end - t) / speed if speed > 0 else np.nan if t < self.end else 0.0
        fraction = (t - self.start) / (self.end - self.start)
        return Reached(fraction, t, speed, self._violation, left)
