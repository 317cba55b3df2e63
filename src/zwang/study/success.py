"""Conditions of success, and rates of success."""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import known, refuse

CONFIDENCE = 0.95
"""Confidence level of the interval of a rate."""
COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Comparisons that a condition may use."""
EXPECTED = (
    "the condition {!r:.60} is expected as an output, a comparison and a number, e.g. 'x.max < "
    "1.2'; make a formula an output of its own, such as outputs={{'error': lambda t, q, v: "
    "abs(q[-1, 0] - 1)}}, or give success() a function of the table."
)


@dataclasses.dataclass(frozen=True)
class Condition:
    """A column of a study compared with a number, `x.max < 1.2`.

    Attributes:
        name: of the column.
        sign: of `COMPARISONS`.
        limit: the number.
    """

    name: str
    sign: str
    limit: float

    def holds(self, x: np.ndarray) -> np.ndarray:
        """Return whether it holds for values of the column; never for NaN."""
        return COMPARISONS[self.sign](x, self.limit)

    @property
    def wants_large(self) -> bool:
        """Return whether larger values are better."""
        return self.sign.startswith(">")

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.limit:g}"


def conditions(given: str | Sequence[str | Condition], columns: Sequence[str]) -> list[Condition]:
    """Parse conditions as users write them.

    Args:
        given: one or several, such as "x.max < 1.2".
        columns: names that a condition may compare.

    Raises:
        ModelError: for another text, or an unknown column.
    """
    if not isinstance(given, (str, list, tuple)):
        refuse("success", given, "conditions such as 'x.max < 1.2'")
    texts = [given] if isinstance(given, str) else given
    return [x if isinstance(x, Condition) else _condition(str(x), columns) for x in texts]


def _condition(text: str, columns: Sequence[str]) -> Condition:
    found = re.fullmatch(r"\s*(.+?)\s*(<=|>=|<|>)\s*(\S+)\s*", text)
    try:
        name, sign, limit = found.groups() if found else ("", "", "")
        made = Condition(name, sign, float(limit))
    except ValueError:
        raise ModelError(EXPECTED.format(text)) from None
    if re.search(r"[-+*/()\s]", name) and name not in columns:
        raise ModelError(EXPECTED.format(text))
    known(name, columns, "success: the study has no column")
    return made


@dataclasses.dataclass(frozen=True)
class Rate:
    """The rate at which conditions hold.

    Attributes:
        successes, cases: counts.
        low, high: Wilson's interval of the rate at `CONFIDENCE`; the rate itself for cases that
            were not drawn at random, as of a grid.
    Reference: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    """

    successes: int
    cases: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Fraction of successes."""
        return self.successes / self.cases

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.successes} of {self.cases} ({100 * self.rate:.3g} %)"
        return (
            f"{self.successes} of {self.cases} ({100 * self.rate:.3g} %, between "
            f"{100 * self.low:.3g} % and {100 * self.high:.3g} % at {100 * CONFIDENCE:.0f} % "
            "confidence)"
        )


def rate(successes: int, cases: int, drawn: bool = True) -> Rate:
    """Make a rate, with its interval if the cases were drawn at random."""
    if not drawn:
        return Rate(successes, cases, successes / cases, successes / cases)
    from scipy.stats import binomtest

    between = binomtest(successes, cases).proportion_ci(CONFIDENCE, "wilson")
    return Rate(successes, cases, float(between.low), float(between.high))
