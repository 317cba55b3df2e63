"""How far a run is, as its progress says it."""

from __future__ import annotations

import time

import numpy as np


class Reached(float):
    """The part of a run that is done, from 0 to 1, and what else there is to say of it.

    Attributes:
        time: simulated time that was reached [s].
        speed: simulated time per second of this process.
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


class Clock:
    """Measures how fast a run goes.

    Args:
        start, end: of the run [s].
        here: where this process begins [s], which is later in a run that is resumed.
    """

    def __init__(self, start: float, end: float, here: float):
        self.start, self.end, self.here = start, end, here
        self._begun, self._violation = time.perf_counter(), 0.0

    def reached(self, t: float, violation: np.ndarray) -> Reached:
        """What there is to say at a time t [s], after steps with these violations."""
        self._violation = max(self._violation, float(np.max(violation, initial=0.0)))
        spent = max(time.perf_counter() - self._begun, 1e-9)
        speed = (t - self.here) / spent
        left = (self.end - t) / speed if speed > 0 else np.nan
        fraction = (t - self.start) / (self.end - self.start)
        return Reached(fraction, t, speed, self._violation, left)
