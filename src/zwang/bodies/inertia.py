"""Which inertias a rigid body can have."""

from __future__ import annotations

import numpy as np

TRIANGLE = 1e-3
"""How far the largest principal moment may exceed the sum of the two others, relative to itself:
files round moments to three digits, and a disk or a rod has nothing to spare.
"""
NEGATIVE = 1e-12
"""How far the least principal moment may be below zero, relative to the largest: round-off."""


def impossible(inertia: np.ndarray) -> np.ndarray | None:
    """Principal moments of an inertia that no rigid body has, or None.

    The moments A ≤ B ≤ C of any distribution of mass are not negative and obey C ≤ A + B.

    Args:
        inertia: about the center of mass [kg·m²], shape (3, 3).
    """
    moments = np.linalg.eigvalsh(inertia)
    least, middle, most = moments
    too_much = most - least - middle > TRIANGLE * abs(most)
    return moments if too_much or least < -NEGATIVE * abs(most) else None
