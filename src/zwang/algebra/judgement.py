"""One judgement: is what is left of `A v̇ = b` round-off, or do the constraints contradict each
other?

A residual is compared with the terms that it is the sum of, never with a result that may itself be
round-off:

    residual_i = |A v̇ − b|_i  ≤  (AGREEMENT + MARGIN · violation) · terms_i,
    terms_i    = |b|_i + |A|_i (|a| + |v̇|) + length_i · curvature · speed²

The last term stands for the sums inside b: a mechanism that turns evenly may have b = 0 as a sum of
centripetal accelerations that cancel. Where M is far from the identity the same is true of a =
M⁻¹F.

The functions take `xp`, NumPy or jax.numpy, so that a start on the host and a step in a compiled
program are judged by the same text.
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
are the round-off of a row that vanishes identically, 1e-16 of its terms. A row
that is as short by its units alone is recognized where scales are measured."""

SUMMED = 2 * float(np.finfo(float).eps)
"""Round-off of one entry of `M v̇ = F + Aᵀλ`, relative to its terms. The estimate errs on the large
side: for 186 random and Hilbert matrices it is between half and several thousand times the error,
with a median of 10 to 18 times."""


def row_units(xp: ModuleType, length, typical=None):
    """What each row is multiplied by before rows are compared: `row_scale`, and 1/(longest) of a
    row that is absent, so that its residual still counts; 1 where all rows vanish.
    """
    return units_of(xp, row_scale(xp, length, typical))


def held_length(xp: ModuleType, typical, present):
    """Length that a row is divided by: the typical one of a run, so that a row that shrinks is not
    blown up, and in proportion to the present one where it has outgrown that.
    """
    # beside a row of 60 lengths the damping, which is relative to the longest one, would take 1e-7
    # of what the others ask for
    grown = 0.5 * present
    return xp.where(typical > grown, typical, grown)


def held_scale(xp: ModuleType, typical, present):
    """`row_scale` of rows that are divided by their `held_length`."""
    length = held_length(xp, typical, present)
    # a row of a typical length is never short beside that
    counts = (typical > 0) | (length > AGREEMENT * xp.max(length, initial=0.0))
    return xp.where(counts, 1 / xp.where(counts, length, 1.0), 0.0)


def typical_units(xp: ModuleType, typical):
    """`row_units` of typical lengths, 0 of rows that are round-off."""
    longest = xp.max(typical, initial=0.0)
    longest = xp.where(longest > 0, longest, 1.0)
    return 1 / xp.where(typical > 0, typical, longest)


def row_scale(xp: ModuleType, length, typical=None):
    """1/length, and 0 for a row that is round-off (`ABSENT`).

    Args:
        xp: NumPy or jax.numpy.
        length: of the rows, shape (m,).
        typical: their typical lengths, if these are known, 0 of rows that are round-off (which
            count once they are above `AGREEMENT` of the longest: beside a mass of 1e-10 kg they are
            1e-11 of it): a row that is not far below its own counts, however short it is.
    """
    longest = xp.max(length, initial=0.0)
    least = ABSENT * longest
    if typical is not None:
        least = xp.where(typical > 0, ABSENT * xp.minimum(longest, typical), AGREEMENT * longest)
    present = length > least
    return xp.where(present, 1 / xp.where(present, length, 1.0), 0.0)


def units_of(xp: ModuleType, scale):
    """`row_units` of rows whose scale is known: 1/length, and 0 of a row that is absent."""
    present = scale > 0
    of_longest = xp.min(xp.where(present, scale, xp.inf), initial=xp.inf)
    return xp.where(present, scale, xp.where(of_longest < xp.inf, of_longest, 1.0))


def relative_residual(xp: ModuleType, residual, terms, unit):
    """The largest of `relative_residuals`; 0 without rows."""
    return xp.max(relative_residuals(xp, residual, terms, unit), initial=0.0)


def relative_residuals(xp: ModuleType, residual, terms, unit):
    """`|residual|_i / terms_i` of each row, rows at unit length: by how much it is missed.

    Args:
        xp: NumPy or jax.numpy.
        residual: `A v̇ − b`, shape (m,).
        terms: size of what was summed to get each entry, shape (m,).
        unit: `row_units`, shape (m,).
    """
    size, scale = unit * xp.abs(residual), unit * xp.abs(terms)
    # the round-off of one row reaches the others through the factor
    scale = xp.maximum(scale, SMALL_PART * xp.max(scale, initial=0.0))
    beside = xp.where(scale > 0, scale, xp.where(size > 0, size, 1.0))
    return xp.where(xp.isfinite(size), size / beside, xp.inf)


def misses_by(share: float, digits: int = 3) -> str:
    """A `relative_residual` in words: the one measure of what a constraint misses."""
    return f"misses by {share:.{digits}g} of the accelerations involved"


def allowance(xp: ModuleType, violation):
    """Largest `relative_residual` of a state that is off its constraints by `violation`
    [dimensionless].
    """
    return AGREEMENT + xp.minimum(MARGIN * violation, ACCEPTED_VIOLATION)


def round_off_force(left, terms):
    """A force as large as the round-off of `M v̇ = F + Aᵀλ`, shape (…, nv): its residual, plus
    `SUMMED` times its terms with arbitrary signs. The acceleration that this force causes estimates
    the error of v̇, which is large where M is ill-conditioned.

    Reference: Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd ed., section 7.2;
        one vector of signs takes the place of his largest one.
    """
    signs = np.sign(np.sin(1.0 + 2.4 * np.arange(terms.shape[-1])))
    return left + SUMMED * signs * terms


def relative_error(xp: ModuleType, error, size, free):
    """`error / size` of an acceleration, at most 1; beside the free one in an equilibrium of forces
    (`ALL_BUT_ZERO`), where no acceleration is left to be relative to.
    """
    beside = xp.maximum(xp.where(size < ALL_BUT_ZERO * free, free, size), error)
    return xp.where(error > 0, error / xp.where(beside > 0, beside, 1.0), 0.0)
