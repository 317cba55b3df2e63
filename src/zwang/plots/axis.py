"""From numbers to places along an axis, and the round numbers that it is labeled with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

FLAT = 1e-12
"""Numbers that differ by less than this times their size differ by round-off, and are drawn as
equal.
"""
LEAST_DRAWN, LARGEST_DRAWN = 1e-300, 1e300
"""Sizes beyond which the arithmetic of doubles fails: such a difference counts as none, such a
number does not widen an axis.
"""
TICK_DIGITS = 8
"""Digits of the label of a tick."""
PAD = 6.0
"""Room between the outermost points and the end of an axis [point]."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """A range of numbers, or of their decimal logarithms, over a length on the page.

    Attributes:
        low, high: ends of the range, logarithms where `logarithmic`.
        length: on the page [point].
        apart: smallest distance of two labels [point].
        most: how many intervals between labels there may be.
        whole: whether its ticks are whole numbers.
        shifted: whether labels may count from a `base`, which is then to be stated beside the axis.
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
        """What the labels of the ticks count from: 0, or a number in the middle of a range so
        narrow that its labels would have more than `TICK_DIGITS` digits.
        """
        if not self.shifted or self.logarithmic or self.whole:
            return 0.0
        numbers, digits = ticks(self.low, self.high, self._most)
        long = digits > TICK_DIGITS and len(numbers) > 1
        return numbers[len(numbers) // 2] if long else 0.0

    @property
    def _most(self) -> int:
        """How many intervals between labels there are room for."""
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
        """Places [point] from the low end; NaN where there is none."""
        values = flattened(values, self.logarithmic)
        return (values - self.low) / self.scale

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers of the range with what is written beside them."""
        most = self._most
        if not self.logarithmic:
            numbers, digits = ticks(self.low, self.high, most, whole=self.whole)
            if base := self.base:
                # multiples of the step: the difference of two long numbers has lost its digits
                step, middle = (numbers[-1] - numbers[0]) / (len(numbers) - 1), numbers.index(base)
                return [(x, label((i - middle) * step, 3)) for i, x in enumerate(numbers)]
            return [(x, label(x, digits)) for x in numbers]
        return [
            (10.0**x, label(x, 3, power=True))
            for x in ticks(self.low, self.high, most, whole=True)[0]
        ]

    def widened(self, scale: float) -> Axis:
        """The same about the middle, with the given count of numbers per point."""
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
    """An axis that shows all finite `values`, with some room on either side, or ends at the
    `limits` that are given; whole decades
    where it is logarithmic.
    """
    numbers = flattened(values, logarithmic)
    numbers = numbers[np.abs(numbers) < LARGEST_DRAWN]
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    given = [None if x is None else math.log10(x) if logarithmic else float(x) for x in limits]
    if logarithmic:
        low, high = math.floor(low), math.ceil(high)
        # whole decades, and one at least, so that a tick is labeled at either end
        high = max(high, low + 1)
    elif high - low <= max(FLAT * max(abs(low), abs(high)), LEAST_DRAWN):
        # a constant is drawn in the middle of a range of its own size
        middle = (low + high) / 2
        room = abs(middle) / 2 if abs(middle) > LEAST_DRAWN else 0.5
        low, high = middle - room, middle + room
    else:
        room = PAD * (high - low) / max(length - 2 * PAD, PAD)
        low, high = low - room, high + room
    low, high = (
        own if own is not None else found for own, found in zip(given, (low, high), strict=True)
    )
    if not low < high:  # all curves are beyond a limit
        low, high = (low, low + 1.0) if given[0] is not None else (high - 1.0, high)
    return Axis(low, high, length, logarithmic, **options)


def flattened(values, logarithmic: bool) -> np.ndarray:
    """Numbers as the axis counts them: as they are, or their decimal logarithms; NaN where they
    have none.
    """
    values = np.asarray(values, float)
    shown = np.where(
        np.isfinite(values) & (values > LEAST_DRAWN if logarithmic else True), values, np.nan
    )
    return np.log10(shown) if logarithmic else shown


def ticks(low: float, high: float, most: int, *, whole: bool = False) -> tuple[list[float], int]:
    """Multiples of 1, 2 or 5 times a power of ten in a range, and the digits that tell them apart.

    Args:
        low, high: the range.
        most: how many intervals of ticks there may be.
        whole: whether only whole numbers will do.
    Returns:
        At most `most + 1` numbers; significant digits.
    """
    least = max((high - low) / most, 1.0 if whole else 0.0)
    exponent = math.floor(math.log10(least))
    mantissa = next((m for m in (1, 2, 5) if m * 10.0**exponent >= least * (1 - 1e-9)), 10)
    step = mantissa * 10.0**exponent
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # through the decimal text: 0.3 and not 3 · 0.1
    numbers = [float(f"{i * mantissa}e{exponent}") for i in range(first, last + 1)]
    largest = max((abs(x) for x in numbers), default=step) or step
    return numbers, math.floor(math.log10(largest)) - exponent + 1


def label(x: float, digits: int, *, power: bool = False) -> str:
    """A number as an axis has it, such as −0.5 or 1e−15; `power` of ten x."""
    if power:
        return f"1e{x:.0f}".replace("-", "−")
    mantissa, _, exponent = f"{x:.{max(digits, 6)}g}".partition("e")
    return (mantissa + (f"e{int(exponent)}" if exponent else "")).replace("-", "−")
