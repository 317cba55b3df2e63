"""Work along a run: the integral of power over its samples."""

from __future__ import annotations

import numpy as np

from zwang.native.library import lapack_routines


def work_of(t: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ∫ P dt by a cubic spline over the samples, and its largest difference from that over
    every other sample, which shows how well the samples resolve the power; NaN if they are too few.
    """
    work, coarse = spline_integral(t, power), spline_integral(t[::2], power[::2])
    return work, float(np.max(np.abs(work[::2] - coarse))) if len(t) > 4 or not np.any(
        power
    ) else np.nan


def spline_integral(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ∫ y dt up to each t of the cubic spline through y whose third derivative is continuous
    at its second and last but one point.

    A cubic over an interval h has the integral `½ h (y₀ + y₁) + h² (s₀ − s₁) / 12` from its values
    and slopes.
    """
    return np.concatenate([np.zeros(1), np.cumsum(_cubics(np.diff(t), np.diff(y), y[:-1] + y[1:]))])


def _cubics(h: np.ndarray, rise: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return the integrals over the intervals from their lengths, and differences and sums of the
    values at their ends.
    """
    n, slope = len(h), rise / h
    if n < 3:  # a line, or a parabola
        bend = (slope[-1] - slope[0]) / np.sum(h) if n == 2 else 0.0
        return h * both / 2 - bend * h**3 / 6
    # of a tridiagonal matrix; SciPy's own spline would take half a second to import
    above = np.concatenate([[h[0] + h[1]], h[:-1]])
    diagonal = np.concatenate([h[1:2], 2 * (h[:-1] + h[1:]), h[-2:-1]])
    below = np.concatenate([h[1:], [h[-1] + h[-2]]])

    def end(h0, h1, d0, d1):
        return ((3 * h0 + 2 * h1) * h1 * d0 + h0**2 * d1) / (h0 + h1)

    inner = 3 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    right = np.concatenate([[end(*h[:2], *slope[:2])], inner, [end(*h[:-3:-1], *slope[:-3:-1])]])
    *_, slopes, _ = lapack_routines().dgtsv(below, diagonal, above, right)
    return h * both / 2 - h**2 * np.diff(slopes) / 12
