"""An equation that is printed wrongly, as printed and as it should be, each measured against what
both claim to be.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.papers.claim import Claim, Verdict, compared

AGREED, WRONG = 1e-12, 1e-2
"""Largest error of an equation that is right: round-off; and the least one of a misprint, relative
to entries of order one.
"""


@dataclasses.dataclass(frozen=True)
class Misprint:
    """An equation.

    Attributes:
        place: its number.
        what: what it gives.
        printed, correction: the part that matters, and what it should be.
        error_printed, error_right: largest deviation from the truth of either; infinite where the
            shapes of both sides differ, so that there is no equation.
    """

    place: str
    what: str
    printed: str
    correction: str
    error_printed: float
    error_right: float

    @property
    def shown(self) -> bool:
        """Whether the correction is right and the printed form is wrong."""
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
