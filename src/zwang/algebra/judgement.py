"""Criterion that decides whether the residual of `A v̇ = b` is round-off or the constraints
contradict each other.

A residual is compared with the terms whose sum it is, never with a result that may itself be
round-off:

    residual_i = |A v̇ − b|_i  ≤  (AGREEMENT + MARGIN · violation) · terms_i,
    terms_i    = |b|_i + |A|_i (|a| + |v̇|) + length_i · curvature · speed²

The last term represents the terms of b: a mechanism that rotates uniformly may have b = 0 as a sum
of centripetal accelerations that cancel. If M is far from the identity, the same holds for a =
M⁻¹F.

The functions take `xp`, NumPy or jax.numpy, so that the same code assesses an initial state on the
host and a step in a compiled program.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from zwang.thresholds import (
    ACCEPTED_VIOLATION,
    AGREEMENT,
    ALL_BUT_ZERO,
    FACTOR_ROUND_OFF,
    MARGIN,
    SMALL_PART,
)

ABSENT = FACTOR_ROUND_OFF
"""Rows shorter than this times the longest row (both in the metric of M⁻¹) count as absent: they
are the round-off of a row that vanishes identically, 1e-16 of its terms. A row that is as short
only because of its units is recognized when scales are measured.
"""

SUMMED = 2 * float(np.finfo(float).eps)
"""Round-off of one entry of `M v̇ = F + Aᵀλ`, relative to its terms. The estimate tends to be too
large: for 186 random and Hilbert matrices it is between half and several thousand times the error,
with a median of 10 to 18 times.
"""


def row_units(xp: ModuleType, length, typical=None):
    """Return the factor of each row for comparisons: `row_scale`, and 1/(longest) for an absent
    row, so that its residual still counts; 1 if all rows vanish.
    """
    return units_of(xp, row_scale(xp, length, typical))


def held_length(xp: ModuleType, typical, present):
    """Return the length by which a row is divided: the typical length of a run, so that a vanishing
    row is not magnified, or half of the present length if this is larger.
    """
    # if one row had 60 times the length of the others, the damping, which is relative to the
    # longest row, would reduce the corrections of the others by 1e-7
    grown = 0.5 * present
    return xp.where(typical > grown, typical, grown)


def held_scale(xp: ModuleType, typical, present):
    """Return `row_scale` of rows that are divided by their `held_length`."""
    length = held_length(xp, typical, present)
    # a row with a typical length is never treated as absent
    counts = (typical > 0) | (length > AGREEMENT * xp.max(length, initial=0.0))
    return xp.where(counts, 1 / xp.where(counts, length, 1.0), 0.0)


def typical_units(xp: ModuleType, typical):
    """Return `row_units` of typical lengths, which are 0 for rows that are round-off."""
    longest = xp.max(typical, initial=0.0)
    longest = xp.where(longest > 0, longest, 1.0)
    return 1 / xp.where(typical > 0, typical, longest)


def row_scale(xp: ModuleType, length, typical=None):
    """Return 1/length, and 0 for a row that is round-off (`ABSENT`).

    Args:
        xp: NumPy or jax.numpy.
        length: lengths of the rows, shape (m,).
        typical: typical lengths of the rows, if known. A row that is not far below its typical
            length counts, however short it is. A row of typical length 0 was round-off; it counts
            if it is above `AGREEMENT` of the longest row (with a mass of 1e-10 kg, round-off is
            1e-11 of the longest).
    """
    longest = xp.max(length, initial=0.0)
    least = ABSENT * longest
    if typical is not None:
        least = xp.where(typical > 0, ABSENT * xp.minimum(longest, typical), AGREEMENT * longest)
    present = length > least
    return xp.where(present, 1 / xp.where(present, length, 1.0), 0.0)


def units_of(xp: ModuleType, scale):
    """Return `row_units` of rows from their scale, which is 1/length, and 0 for an absent row."""
    present = scale > 0
    of_longest = xp.min(xp.where(present, scale, xp.inf), initial=xp.inf)
    return xp.where(present, scale, xp.where(of_longest < xp.inf, of_longest, 1.0))


def relative_residual(xp: ModuleType, residual, terms, unit):
    """Return the largest of `relative_residuals`; 0 without rows."""
    return xp.max(relative_residuals(xp, residual, terms, unit), initial=0.0)


def relative_residuals(xp: ModuleType, residual, terms, unit):
    """Return the relative residual `|residual|_i / terms_i` of each row, for rows at unit length.

    Args:
        xp: NumPy or jax.numpy.
        residual: `A v̇ − b`, shape (m,).
        terms: size of the terms whose sum is each entry, shape (m,).
        unit: `row_units`, shape (m,).
    """
    size, scale = unit * xp.abs(residual), unit * xp.abs(terms)
    # the round-off of one row reaches the others through the factor
    scale = xp.maximum(scale, SMALL_PART * xp.max(scale, initial=0.0))
    beside = xp.where(scale > 0, scale, xp.where(size > 0, size, 1.0))
    return xp.where(xp.isfinite(size), size / beside, xp.inf)


def misses_by(share: float, digits: int = 3) -> str:
    """Describe a `relative_residual` in words."""
    return f"misses by {share:.{digits}g} of the accelerations involved"


def allowance(xp: ModuleType, violation):
    """Return the largest admissible `relative_residual` of a state with a given `violation`
    [dimensionless].
    """
    return AGREEMENT + xp.minimum(MARGIN * violation, ACCEPTED_VIOLATION)


def round_off_force(left, terms):
    """Return a force as large as the round-off of `M v̇ = F + Aᵀλ`, shape (…, nv): its residual,
    plus `SUMMED` times its terms with arbitrary signs. The acceleration that this force causes is
    an estimate of the error of v̇, which is large if M is ill-conditioned.

    Reference: Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd ed., section 7.2;
    one vector of signs replaces the maximum over all signs there.
    """
    signs = np.sign(np.sin(1.0 + 2.4 * np.arange(terms.shape[-1])))
    return left + SUMMED * signs * terms


def relative_error(xp: ModuleType, error, size, free):
    """Return `error / size` of an acceleration, at most 1. In an equilibrium of forces
    (`ALL_BUT_ZERO`), where the acceleration vanishes, it is relative to the free acceleration.
    """
    beside = xp.maximum(xp.where(size < ALL_BUT_ZERO * free, free, size), error)
    return xp.where(error > 0, error / xp.where(beside > 0, beside, 1.0), 0.0)
