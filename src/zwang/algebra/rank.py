"""Rule for the rank of rows: the threshold below which singular values count as zero.

Rows are first scaled to unit length in the metric of M⁻¹, so that the rule does not depend on
units. An absent row (`zwang.algebra.judgement.ABSENT`) is zero and does not count.
"""

from __future__ import annotations

import numpy as np

from zwang.inputs.arrays import AnyArray
from zwang.thresholds import RESOLVED, ROOT_OF_ROUND_OFF, SMALL_PART

DEPENDENT_ROWS = ROOT_OF_ROUND_OFF
"""Rows are dependent along a direction whose singular value is at most this fraction of the largest
one. Redundant rows have 1e-16 to 1e-13, nearly parallel rows that a model intends as independent
have 1e-7 and more: rows at a smaller angle cannot be distinguished from the round-off of their
derivatives.
"""
PLACED = RESOLVED
"""Threshold while an initial state is projected onto its constraints, where rows that are about to
become parallel must still be satisfied, and for the check of the result.
"""

NEARLY_PARALLEL = SMALL_PART
"""Rows with a singular value below this are nearly parallel: the sweeps of `Proximal` (μ = 1e-10,
three of them) leave 1e-12 of a residual component with singular value 1e-3, 1e-6 with 1e-4, and all
of it below 1e-5.
"""


def rank_of(
    sigma: AnyArray,
    threshold: float = DEPENDENT_ROWS,
    beside: float | None = None,
    least: float = 0.0,
) -> int:
    """Return the number of singular values that are not zero, in any order.

    Args:
        sigma: singular values.
        threshold: fraction of a size below which they count as zero.
        beside: this size; by default the largest of them, and at least `least`.
    """
    size = np.max(sigma, initial=least) if beside is None else beside
    return int(np.sum(sigma > threshold * size))
