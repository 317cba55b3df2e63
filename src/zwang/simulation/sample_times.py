"""Sample times of a run and of a trajectory, and the grid of steps of fixed length between them."""

from __future__ import annotations

import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import count, number, real_array
from zwang.inputs.arrays import is_concrete
from zwang.thresholds import LARGEST_SIZE, LEAST_SIZE, RESOLVED


def run_times(duration, times, samples, t0: float) -> np.ndarray:
    """Return the sample times of a run that begins at t0: `times` as given, or `samples` over
    `duration`.
    """
    if (duration is None) == (times is None):
        raise ModelError(
            "simulate needs either duration (s) or times (increasing instants, s), and not both."
        )
    if times is None:
        duration = number(duration, "duration", above=0, most=LARGEST_SIZE, unit="s")
        # maximum number of sample times; the states of more samples would not fit into memory
        samples = count(samples, "samples", least=2, most=100_000_000)
        return _resolved(t0, t0 + np.linspace(0.0, duration, samples))
    times = np.asarray(real_array(times, "times", "instants [s]"))
    if (
        times.ndim != 1
        or not len(times)
        or not np.all(np.isfinite(times))
        or np.any(np.diff(times) <= 0)
        or times[0] < t0
    ):
        raise ModelError(
            f"times must be finite, increasing and not before t0 = {t0}; got "
            f"{np.array2string(times, threshold=6)}."
        )
    if times[-1] == t0:
        raise ModelError("times holds only the start; give at least one later instant.")
    return _resolved(t0, times)


def _resolved(t0: float, instants: np.ndarray) -> np.ndarray:
    """Return the instants if float64 resolves the steps between them."""
    farthest, duration = float(np.max(np.abs(instants))), float(instants[-1] - t0)
    if not duration > RESOLVED * farthest or np.any(np.diff(instants) <= 0):
        raise ModelError(
            f"t0 is {t0:g} s and the run ends at {instants[-1]:g} s: time cannot be resolved there "
            "in float64, expected a duration or interval of samples above "
            f"{RESOLVED * farthest:.1g} s; count time from an instant nearer to the start."
        )
    if duration < LEAST_SIZE:
        raise ModelError(
            f"the run lasts {duration:g} s, expected at least {LEAST_SIZE:g} s, whose square "
            "float64 can hold; count time in a smaller unit."
        )
    return instants


def checked_times(times):
    """Return sample times as NumPy's if they are concrete, which a fixed step needs, or traced."""
    times = real_array(times, "times", "instants [s]")
    times = np.asarray(times) if is_concrete(times) else times
    if times.ndim != 1 or len(times) < 2:
        raise ModelError(
            f"times has shape {times.shape}, expected at least two instants: the start and a "
            "sample."
        )
    if is_concrete(times) and not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
        raise ModelError(
            f"times must be finite and increasing; got {np.array2string(times, threshold=6)}."
        )
    return _resolved(float(times[0]), times) if is_concrete(times) else times


def step_grid(times, step) -> tuple[np.ndarray, np.ndarray]:
    """Return begin and length of each step, shape (intervals, steps of the longest); a shorter
    interval ends with steps of length zero.
    """
    step = number(step, "step", above=0, unit="s")
    if not (is_concrete(times) and is_concrete(step)):
        raise ModelError(
            "a fixed step needs times and step that are known when the program is compiled, not "
            "traced ones."
        )
    spans = np.diff(times)
    counts = np.maximum(np.ceil(spans * (1 - 1e-12) / float(step)).astype(int), 1)[:, None]
    parts, length = np.arange(counts.max())[None, :], spans[:, None] / counts
    return times[:-1, None] + np.minimum(parts, counts) * length, np.where(
        parts < counts, length, 0.0
    )
