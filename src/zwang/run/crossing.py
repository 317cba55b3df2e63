"""Where a run passes a singular configuration: when, how many ranks are lost, and which rows depend on each other there.

The loop records the log-determinant of the rows at unit length after every step; it dips wherever the rank drops. Each dip is
then refined by minimizing the smallest singular value that matters over time, on states interpolated between the steps and
projected onto the constraints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

PROMINENCE = 1.0
"""A dip of the log-determinant shallower than this is no candidate; losing one rank dips by 2 log(distance), e.g. 5 at a step's
distance of 0.1."""
CROSSING_THRESHOLD = 1e-5
"""A direction counts as lost where its singular value, rows at unit length, falls below this; the minimum over time is found to
about 1e-7."""

PRECISION = 1e-9
"""A crossing's time is found to this fraction of the run's duration."""
INSTANTS = 17
"""Instants that a dip is looked at in one round; each round narrows it down eight times."""


@dataclasses.dataclass(frozen=True)
class Crossing:
    """A passage through a singular configuration.

    Attributes:
        time: when [s].
        rank_before, rank, rank_after: rank of the constraint matrix before, at and after it.
        rows: labels of the constraint rows that depend on each other there and not before.
        constraints: the names of their constraints.
        smallest: the singular value reached [1], rows at unit length.
    """

    time: float
    rank_before: int
    rank: int
    rank_after: int
    rows: tuple[str, ...]
    constraints: tuple[str, ...]
    smallest: float

    def __str__(self) -> str:
        return (
            f"t = {self.time:.6f} s: rank {self.rank_before} → {self.rank} → {self.rank_after} "
            f"({', '.join(self.constraints) or 'no single constraint'})"
        )


def find_crossings(
    t: np.ndarray, volume: np.ndarray, scaled_rows: Callable[[np.ndarray], np.ndarray], labels: list[tuple[str, str]]
) -> list[Crossing]:
    """Crossings along a run.

    Args:
        t, volume: accepted steps and their log-determinants, shape (steps,).
        scaled_rows: times (k,) → rows at unit length in the metric of M⁻¹, shape (k, m, nv), on the constraints.
        labels: (constraint, row) of every row.
    """
    dips = _dips(volume) if len(t) >= 3 and len(labels) else np.zeros(0, int)
    if not len(dips):
        return []
    rows_before, rows_after = scaled_rows(t[dips - 1]), scaled_rows(t[dips + 1])
    before, after = _rank(rows_before), _rank(rows_after)
    generic = np.maximum(before, after)
    times = _bottoms(t[dips - 1], t[dips + 1], scaled_rows, generic, PRECISION * max(t[-1] - t[0], 1e-3))
    rows_at = scaled_rows(times)
    rank, smallest = _rank(rows_at), _last_singular_value(rows_at, generic)
    found = []
    for i in np.flatnonzero(rank < generic):
        lost = np.flatnonzero(_null_share(rows_at[i]) - _null_share(rows_before[i]) > 0.05)
        found.append(
            Crossing(
                float(times[i]), int(before[i]), int(rank[i]), int(after[i]), tuple(labels[k][1] for k in lost),
                tuple(dict.fromkeys(labels[k][0] for k in lost)), float(smallest[i]),
            )
        )  # fmt: skip
    return found


def _dips(volume: np.ndarray) -> np.ndarray:
    """Steps where the log-determinant dips."""
    from scipy.signal import find_peaks  # takes as long to import as all the rest of the library

    return find_peaks(-volume, prominence=PROMINENCE)[0]


def _bottoms(low: np.ndarray, high: np.ndarray, scaled_rows, generic: np.ndarray, precision: float) -> np.ndarray:
    """Where between `low` and `high` the last singular value of each dip is least; all dips are narrowed down together, each time
    to the neighbors of the best of a few instants."""
    fractions, dip = np.linspace(0.0, 1.0, INSTANTS), np.arange(len(low))
    while True:
        times = low[:, None] + (high - low)[:, None] * fractions
        values = _last_singular_value(scaled_rows(times.ravel()), np.repeat(generic, INSTANTS)).reshape(times.shape)
        best = np.argmin(values, axis=1)
        if np.max(high - low) <= precision:
            return times[dip, best]
        low, high = times[dip, np.maximum(best - 1, 0)], times[dip, np.minimum(best + 1, INSTANTS - 1)]


def _last_singular_value(rows: np.ndarray, generic: np.ndarray) -> np.ndarray:
    """The singular value that vanishes where the rank falls below `generic`, shape (k,)."""
    return np.linalg.svd(rows, compute_uv=False)[np.arange(len(rows)), generic - 1]


def _rank(rows: np.ndarray) -> np.ndarray:
    return np.sum(np.linalg.svd(rows, compute_uv=False) > CROSSING_THRESHOLD, axis=-1)


def _null_share(rows: np.ndarray) -> np.ndarray:
    """How much of each row's unit vector lies in the left null space: 0 for an independent row, up to 1."""
    U, sigma, _ = np.linalg.svd(rows)
    return np.sum(U[:, int(np.sum(sigma > CROSSING_THRESHOLD)) :] ** 2, axis=1)
