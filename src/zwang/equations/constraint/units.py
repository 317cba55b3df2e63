"""Units of a constraint's residuals.

A model that states no unit is in units of its own, `MODEL_UNITS`: any consistent ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from zwang.equations.constraint.base import AbstractConstraint

MODEL_UNITS, MIXED = "model units", "mixed"
PER_SECOND = "/s"


def stated(units: Sequence[str]) -> list[str]:
    """Units with the convention in place of those that are not stated."""
    return [unit or MODEL_UNITS for unit in units]


def per_second(unit: str) -> str:
    """The unit of a rate; not stated if the quantity's own is not."""
    if unit in ("", MODEL_UNITS):
        return unit
    return f"{unit.removesuffix(PER_SECOND)}/s²" if unit.endswith(PER_SECOND) else f"{unit}/s"


def rows_of(constraint: AbstractConstraint, count: int) -> list[str]:
    """The unit that the constraint states for each of `count` rows; empty where it states none."""
    given = list(constraint.row_units)
    return (given or [""]) * count if len(given) <= 1 else given


def residual_units(constraint: AbstractConstraint) -> tuple[str, str]:
    """Units of φ and ψ of a constraint, `MIXED` where its rows differ."""
    given = list(constraint.row_units) or [""]
    if constraint.level == "velocity":
        return MODEL_UNITS, one(given)
    return one(given), one([per_second(unit) for unit in given])


def one(units: Sequence[str]) -> str:
    """The unit that all of them are, `MIXED` if they differ."""
    found = set(stated(units))
    return MIXED if len(found) > 1 else found.pop() if found else MODEL_UNITS
