"""A misprinted equation, as printed and as corrected; the errors of both are measured against an
independent value.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.papers.claim import Claim, Verdict, compared

AGREED, WRONG = 1e-12, 1e-2
"""Largest error of a right equation, which is round-off, and smallest error of a misprint, relative
to entries of order one.
"""


@dataclasses.dataclass(frozen=True)
class Misprint:
    """A misprinted equation and its correction.

    Attributes:
        place: its number.
        what: the quantity that it gives.
        printed, correction: the essential part, as printed and as corrected.
        error_printed, error_right: largest deviation of each from the true value; infinite if the
            shapes of the two sides differ.
    """

    place: str
    what: str
    printed: str
    correction: str
    error_printed: float
    error_right: float

    @property
    def shown(self) -> bool:
        """True if the correction is right and the printed form is wrong."""
        return self.error_right < AGREED and not self.error_printed < WRONG

    @property
    def claim(self) -> Claim:
        as_printed = (
            "its sides have different shapes"
            if np.isinf(self.error_printed)
            else f"off by {short(self.error_printed)}"
        )
        return Claim(
            self.place,
            self.what,
            self.printed,
            f"as printed {as_printed}, corrected by {short(self.error_right)}",
            compared(self.shown, self.correction),
            f"Right: {self.correction}.",
            Verdict.CORRECTED,
        )


def largest(x) -> float:
    """The largest entry."""
    return float(np.max(np.abs(np.asarray(x)), initial=0.0))


def apart(left, right) -> float:
    """The largest difference of two sides; infinite if their shapes differ."""
    left, right = np.asarray(left), np.asarray(right)
    return largest(left - right) if left.shape == right.shape else float("inf")


def short(x: float) -> str:
    """A number with two digits."""
    return (
        f"{x:.1e}".replace("e-0", "e-").replace("-", "−")
        if x and not 0.0099 <= abs(x) < 1000
        else f"{x:.2g}"
    )
