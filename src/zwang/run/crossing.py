"""Where a run passes a singular configuration: when, how many ranks are lost, and which rows depend on each other there.

The loop records the log-determinant of the rows at unit length after every step; it dips wherever the rank drops. Each dip is
then refined by minimizing the smallest singular value that matters over time, on states interpolated between the steps and
projected onto the constraints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import find_peaks

PROMINENCE = 1.0
"""A dip of the log-determinant shallower than this is no candidate; losing one rank dips by 2 log(distance), e.g. 5 at a step's
distance of 0.1."""
CROSSING_THRESHOLD = 1e-5
"""A direction counts as lost where its singular value, rows at unit length, falls below this; the minimum over time is found to
about 1e-7."""


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


def find_crossings(t: np.ndarray, volume: np.ndarray, scaled_rows: Callable[[float], np.ndarray], labels: list[tuple[str, str]]):
    """Crossings along a run.

    Args:
        t, volume: accepted steps and their log-determinants, shape (steps,).
        scaled_rows: time → rows at unit length in the metric of M⁻¹, shape (m, nv), on the constraints.
        labels: (constraint, row) of every row.
    """
    if len(t) < 3 or not len(labels):
        return []
    found = []
    for i in find_peaks(-volume, prominence=PROMINENCE)[0]:
        before, after = _rank(scaled_rows(float(t[i - 1]))), _rank(scaled_rows(float(t[i + 1])))
        generic = max(before, after)

        def smallest(time, generic=generic):
            return np.log(np.linalg.svd(scaled_rows(time), compute_uv=False)[generic - 1] + 1e-16)

        best: Any = minimize_scalar(
            smallest, bounds=(t[i - 1], t[i + 1]), method="bounded", options={"xatol": 1e-9 * max(t[-1], 1e-3)}
        )
        rows = scaled_rows(best.x)
        rank = _rank(rows)
        if rank >= generic:
            continue
        lost = np.flatnonzero(_null_share(rows) - _null_share(scaled_rows(float(t[i - 1]))) > 0.05)
        found.append(
            Crossing(
                float(best.x), before, rank, after, tuple(labels[k][1] for k in lost),
                tuple(dict.fromkeys(labels[k][0] for k in lost)), float(np.exp(best.fun)),
            )
        )  # fmt: skip
    return found


def _rank(rows: np.ndarray) -> int:
    return int(np.sum(np.linalg.svd(rows, compute_uv=False) > CROSSING_THRESHOLD))


def _null_share(rows: np.ndarray) -> np.ndarray:
    """How much of each row's unit vector lies in the left null space: 0 for an independent row, up to 1."""
    U, sigma, _ = np.linalg.svd(rows)
    return np.sum(U[:, int(np.sum(sigma > CROSSING_THRESHOLD)) :] ** 2, axis=1)
