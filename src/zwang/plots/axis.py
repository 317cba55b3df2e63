"""Axes: the map from numbers to positions, and round numbers for ticks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

FLAT = 1e-12
"""Relative difference below which numbers differ by round-off and are drawn as equal."""
LEAST_DRAWN, LARGEST_DRAWN = 1e-300, 1e300
"""Sizes beyond which double arithmetic fails: a smaller difference counts as zero, and a larger
number does not widen an axis.
"""
TICK_DIGITS = 8
"""Digits of the label of a tick."""
PAD = 6.0
"""Margin between the outermost points and the end of an axis [point]."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """A range of numbers, or of their decimal logarithms, over a length on the page.

    Attributes:
        low, high: ends of the range, logarithms if `logarithmic`.
        length: on the page [point].
        apart: smallest distance of two labels [point].
        most: largest number of intervals between labels.
        whole: whether its ticks are integers.
        shifted: whether labels may be relative to a `base`, which is then stated next to the axis.
    """

    low: float
    high: float
    length: float
    logarithmic: bool = False
    apart: float = 16.0
    most: int = 8
    whole: bool = False
    shifted: bool = False

    @property
    def base(self) -> float:
        """The number that tick labels are relative to.

        It is 0, or a number in the middle of a range so narrow that its labels would have more than
        `TICK_DIGITS` digits.
        """
        if not self.shifted or self.logarithmic or self.whole:
            return 0.0
        numbers, digits = ticks(self.low, self.high, self._most)
        long = digits > TICK_DIGITS and len(numbers) > 1
        return numbers[len(numbers) // 2] if long else 0.0

    @property
    def _most(self) -> int:
        """Largest number of intervals between labels that fit."""
        return min(max(int(self.length / self.apart), 2), self.most)

    @property
    def scale(self) -> float:
        """Numbers per point."""
        return (self.high - self.low) / self.length

    @property
    def ends(self) -> tuple[float, float]:
        """The range in numbers."""
        return (10.0**self.low, 10.0**self.high) if self.logarithmic else (self.low, self.high)

    def at(self, values) -> np.ndarray:
        """Positions [point] from the low end; NaN for a number without a position."""
        values = flattened(values, self.logarithmic)
        return (values - self.low) / self.scale

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers in the range with their labels."""
        most = self._most
        if not self.logarithmic:
            numbers, digits = ticks(self.low, self.high, most, whole=self.whole)
            if base := self.base:
                # Multiples of the step are exact: the difference of two long numbers has lost
                # digits.
                step, middle = (numbers[-1] - numbers[0]) / (len(numbers) - 1), numbers.index(base)
                return [(x, label((i - middle) * step, 3)) for i, x in enumerate(numbers)]
            return [(x, label(x, digits)) for x in numbers]
        return [
            (10.0**x, label(x, 3, power=True))
            for x in ticks(self.low, self.high, most, whole=True)[0]
        ]

    def widened(self, scale: float) -> Axis:
        """The axis with the same middle and the given count of numbers per point."""
        middle, half = (self.low + self.high) / 2, scale * self.length / 2
        return dataclasses.replace(self, low=middle - half, high=middle + half)


def axis(
    values,
    length: float,
    *,
    limits: Sequence[float | None] = (None, None),
    logarithmic: bool = False,
    **options,
) -> Axis:
    """An axis that shows all finite `values` with a margin, or ends at the given `limits`.

    A logarithmic axis has whole decades.
    """
    numbers = flattened(values, logarithmic)
    numbers = numbers[np.abs(numbers) < LARGEST_DRAWN]
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    given = [None if x is None else math.log10(x) if logarithmic else float(x) for x in limits]
    if logarithmic:
        low, high = math.floor(low), math.ceil(high)
        # At least one whole decade, so that either end has a labeled tick.
        high = max(high, low + 1)
    elif high - low <= max(FLAT * max(abs(low), abs(high)), LEAST_DRAWN):
        # A constant is drawn in the middle of a range of its own size.
        middle = (low + high) / 2
        room = abs(middle) / 2 if abs(middle) > LEAST_DRAWN else 0.5
        low, high = middle - room, middle + room
    else:
        room = PAD * (high - low) / max(length - 2 * PAD, PAD)
        low, high = low - room, high + room
    low, high = (
        own if own is not None else found for own, found in zip(given, (low, high), strict=True)
    )
    if not low < high:  # All curves are beyond a limit.
        low, high = (low, low + 1.0) if given[0] is not None else (high - 1.0, high)
    return Axis(low, high, length, logarithmic, **options)


def flattened(values, logarithmic: bool) -> np.ndarray:
    """Numbers, or their decimal logarithms on a logarithmic axis; NaN for numbers without a
    logarithm.
    """
    values = np.asarray(values, float)
    shown = np.where(
        np.isfinite(values) & (values > LEAST_DRAWN if logarithmic else True), values, np.nan
    )
    return np.log10(shown) if logarithmic else shown


def ticks(low: float, high: float, most: int, *, whole: bool = False) -> tuple[list[float], int]:
    """Multiples of 1, 2 or 5 times a power of ten in a range, and the digits that distinguish them.

    Args:
        low, high: the range.
        most: largest number of intervals between ticks.
        whole: whether ticks must be integers.
    Returns:
        At most `most + 1` numbers; significant digits.
    """
    least = max((high - low) / most, 1.0 if whole else 0.0)
    exponent = math.floor(math.log10(least))
    mantissa = next((m for m in (1, 2, 5) if m * 10.0**exponent >= least * (1 - 1e-9)), 10)
    step = mantissa * 10.0**exponent
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Parsing decimals gives 0.3 and not 3 · 0.1.
    numbers = [float(f"{i * mantissa}e{exponent}") for i in range(first, last + 1)]
    largest = max((abs(x) for x in numbers), default=step) or step
    return numbers, math.floor(math.log10(largest)) - exponent + 1


def label(x: float, digits: int, *, power: bool = False) -> str:
    """Format a number for an axis, such as −0.5 or 1e−15; with `power`, ten to the power of x."""
    if power:
        return f"1e{x:.0f}".replace("-", "−")
    mantissa, _, exponent = f"{x:.{max(digits, 6)}g}".partition("e")
    return (mantissa + (f"e{int(exponent)}" if exponent else "")).replace("-", "−")
