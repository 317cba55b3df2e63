"""One rule for the rank of rows: which singular values count as zero.

Rows are brought to unit length in the metric of M⁻¹ first, so that the rule knows no units; a row
that is absent (`zwang.algebra.judgement.ABSENT`) is zero and counts for nothing.
"""

from __future__ import annotations

import numpy as np

from zwang.inputs.arrays import AnyArray
from zwang.thresholds import RESOLVED, ROOT_OF_ROUND_OFF, SMALL_PART

DEPENDENT_ROWS = ROOT_OF_ROUND_OFF
"""Rows depend on each other along a direction whose singular value is at most this part of the
largest one. Redundant rows leave 1e-16 to 1e-13, nearly parallel ones that a model means to be two
1e-7 and more: rows at a smaller angle cannot be distinguished from the round-off of their
derivatives."""
PLACED = RESOLVED
"""The same while a start is moved onto its constraints, where rows that are about to become
parallel must still be met, and for the verdict on it."""

NEARLY_PARALLEL = SMALL_PART
"""Rows with a singular value below this are nearly parallel: the sweeps of `Proximal` (μ = 1e-10,
three of them) leave 1e-12 of a component along 1e-3, 1e-6 along 1e-4 and all of it below 1e-5."""


def rank_of(
    sigma: AnyArray,
    threshold: float = DEPENDENT_ROWS,
    beside: float | None = None,
    least: float = 0.0,
) -> int:
    """How many singular values count, the largest first or not.

    Args:
        sigma: singular values.
        threshold: part of a size below which they are zero.
        beside: that size; by default the largest of them, and at least `least`.
    """
    size = np.max(sigma, initial=least) if beside is None else beside
    return int(np.sum(sigma > threshold * size))
