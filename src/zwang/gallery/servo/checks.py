"""Checks of settings, and the choice among controls by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.errors import ModelError
from zwang.servo import LeastNorm, PaperLeastNorm, Preferred, WeightedNorm
from zwang.servo.null_space import AbstractNullSpace


def positive(member: str, **values) -> None:
    """Refuse settings with an entry that is not positive."""
    for name, value in values.items():
        if not np.all(np.asarray(value, float) > 0):
            raise ModelError(f"{member}: {name} = {value}, expected {_more_than_zero(value)}.")


def not_negative(member: str, **values) -> None:
    """Refuse negative settings."""
    for name, value in values.items():
        if not value >= 0:
            raise ModelError(f"{member}: {name} = {value}, expected 0 or more.")


def one_of(member: str, known: Sequence[str], **values) -> None:
    """Refuse an unknown word."""
    for name, value in values.items():
        if value not in known:
            raise ModelError(
                f"{member}: {name} is {value!r}, expected {', '.join(map(repr, known[:-1]))} or "
                f"{known[-1]!r}."
            )


def lengths(member: str, count: int, **values) -> None:
    """Refuse lists with a wrong number of entries."""
    for name, value in values.items():
        if np.shape(value) != (count,):
            raise ModelError(f"{member}: {name} = {value}, expected {count} numbers.")


def null_space(
    member: str, known: Sequence[str], choice: str, weights: Sequence, preferred: Sequence
) -> AbstractNullSpace:
    """The choice among controls: `least`, `weighted` by `weights`, near `preferred`, or `paper`."""
    one_of(member, known, choice=choice)
    positive(member, weights=weights)
    if choice == "weighted":
        return WeightedNorm(np.array(weights, float))
    if choice == "preferred":
        return Preferred(np.array(preferred, float))
    return PaperLeastNorm() if choice == "paper" else LeastNorm()


def _more_than_zero(value) -> str:
    return "more than 0" if np.ndim(value) == 0 else "every entry more than 0"
