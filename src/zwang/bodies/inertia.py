"""Check of the inertia of a rigid body."""

from __future__ import annotations

import numpy as np

from zwang.algebra.spectrum import principal

TRIANGLE = 1e-3
"""Relative amount by which the largest principal moment may exceed the sum of the two others: files
round moments to three digits, and a disk or a rod has no margin."""
NOTHING = 1e-12
"""Moments up to this, relative to the largest or per kilogram [m²], are round-off of zero: files
contain point masses with −5e-20."""
NO_BODY = "no body has such principal moments of inertia, which are taken as they stand"
"""Beginning of the sentence that names the bodies."""


def impossible(mass: float, inertia: np.ndarray) -> np.ndarray | None:
    """Return the principal moments of an inertia that no rigid body has, or None.

    The moments A ≤ B ≤ C of any distribution of mass are not negative and satisfy C ≤ A + B.

    Args:
        mass: [kg].
        inertia: about the center of mass [kg·m²], shape (3, 3).
    """
    moments = principal(inertia)[0]
    least, middle, most = moments
    nothing = NOTHING * max(abs(most), mass)
    too_much = most - least - middle > max(TRIANGLE * abs(most), nothing)
    return moments if too_much or least < -nothing else None
