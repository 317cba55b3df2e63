"""Sample times of a trajectory, and the steps of fixed length between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from zwang.arguments import number, real_array
from zwang.arrays import is_concrete
from zwang.errors import ModelError


def checked_times(times) -> Any:
    """Sample times, as they are if traced and as NumPy's if known, which a fixed step needs."""
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
    return times


def step_grid(times, step) -> tuple[np.ndarray, np.ndarray]:
    """Begin and length of each step, shape (intervals, steps of the longest); a shorter interval
    ends with steps of no length.
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
