"""Reduction of the points of a curve on the page, and their text as path data."""

from __future__ import annotations

import numpy as np

MOST_POINTS = 800
"""Number of points of a curve over time; a longer one keeps the smallest and the largest of each
interval, so that no peak is lost.
"""
STEP, MOST_STAIRS = 0.5, 4000
"""Distance along a path between the points that are kept [point], and about their largest number.
"""
ON_THE_LINE, THINNINGS = 0.02, 12
"""Distance from the line through its neighbors below which a point is left out [point], and the
number of passes over half of the points: a tenth of a smooth curve remains.
"""
OFF = 1e4
"""Distance from the picture at which farther points are drawn [point]: programs that show SVG
compute in single precision.
"""


def path(x: np.ndarray, y: np.ndarray) -> str:
    """Path data of the line through points, with a gap at NaN."""
    there = np.isfinite(x) & np.isfinite(y)
    after_gap = ~np.r_[False, there[:-1]]
    commands = np.where(after_gap, "M%.2f %.2f", "L%.2f %.2f")[there]
    return "".join(commands) % tuple(np.column_stack([x, y])[there].clip(-OFF, OFF).ravel())


def lone(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return which points are isolated between gaps, without a line, shape (n,)."""
    missing = np.r_[True, ~(np.isfinite(x) & np.isfinite(y)), True]
    return ~missing[1:-1] & missing[:-2] & missing[2:]


def fewer(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the points of a curve [point] to those that its picture needs."""
    if len(x) > MOST_POINTS:
        x, y = thinned(x, y) if np.all(np.diff(x) >= 0) else spaced(x, y)
    return bent(x, y)


def bent(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out points without which the line looks the same."""
    for turn in range(THINNINGS):
        i = np.arange(1 + turn % 2, len(x) - 1, 2)
        across, up = x[i + 1] - x[i - 1], y[i + 1] - y[i - 1]
        right, over = x[i] - x[i - 1], y[i] - y[i - 1]
        length = np.hypot(across, up)
        on_the_way = (right * across + over * up >= 0) & (np.hypot(right, over) <= length)
        flat = on_the_way & (np.abs(across * over - up * right) <= ON_THE_LINE * length)
        x, y = np.delete(x, i[flat]), np.delete(y, i[flat])
    return x, y


def thinned(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce a curve over time to about `MOST_POINTS` points.

    The smallest and largest value of each interval are kept.
    """
    if len(t) <= MOST_POINTS:
        return t, y
    edges = np.linspace(0, len(t), MOST_POINTS // 2 + 1).astype(int)
    low, high = np.where(np.isnan(y), np.inf, y), np.where(np.isnan(y), -np.inf, y)
    spans = list(zip(edges[:-1], edges[1:], strict=True))
    index = [a + int(np.argmin(low[a:b])) for a, b in spans] + [
        a + int(np.argmax(high[a:b])) for a, b in spans
    ]
    index = np.unique([0, *index, len(t) - 1])
    return t[index], y[index]


def spaced(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep points of a path at about equal distances, its ends, and those next to a gap."""
    steps = np.hypot(np.diff(x), np.diff(y))
    length = np.r_[0.0, np.cumsum(np.nan_to_num(steps))]
    turn = np.floor(length / max(STEP, length[-1] / MOST_STAIRS))
    beside = np.isnan(np.r_[np.nan, steps]) | np.isnan(np.r_[steps, np.nan])
    kept = beside | (np.diff(turn, prepend=-1.0) > 0)
    return x[kept], y[kept]
