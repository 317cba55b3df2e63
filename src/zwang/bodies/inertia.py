"""Which inertias a rigid body can have."""

from __future__ import annotations

import numpy as np

from zwang.algebra.spectrum import principal

TRIANGLE = 1e-3
"""How far the largest principal moment may exceed the sum of the two others, relative to itself:
files round moments to three digits, and a disk or a rod has nothing to spare.
"""
NOTHING = 1e-12
"""Moments up to this, relative to the largest or for each kilogram [m²], are round-off of zero:
files have point masses with −5e-20.
"""
NO_BODY = "no body has such principal moments of inertia, which are taken as they stand"
"""Beginning of the sentence that names the bodies."""


def impossible(mass: float, inertia: np.ndarray) -> np.ndarray | None:
    """Principal moments of an inertia that no rigid body has, or None.

    The moments A ≤ B ≤ C of any distribution of mass are not negative and obey C ≤ A + B.

    Args:
        mass: [kg].
        inertia: about the center of mass [kg·m²], shape (3, 3).
    """
    moments = principal(inertia)[0]
    least, middle, most = moments
    nothing = NOTHING * max(abs(most), mass)
    too_much = most - least - middle > max(TRIANGLE * abs(most), nothing)
    return moments if too_much or least < -nothing else None
