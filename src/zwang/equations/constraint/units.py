"""Units of a constraint's residuals.

A model without units is in `MODEL_UNITS`, that is in any consistent system of units.
"""

from __future__ import annotations

from collections.abc import Sequence

MODEL_UNITS, MIXED = "model units", "mixed"
PER_SECOND = "/s"


def per_second(unit: str) -> str:
    """Return the unit of a rate; empty if the unit of the quantity is not stated."""
    if unit in ("", MODEL_UNITS):
        return unit
    return f"{unit.removesuffix(PER_SECOND)}/s²" if unit.endswith(PER_SECOND) else f"{unit}/s"


def stated(units: Sequence[str]) -> list[str]:
    """Return units with the convention in place of those that are not stated."""
    return [unit or MODEL_UNITS for unit in units]


def one(units: Sequence[str]) -> str:
    """Return the common unit, or `MIXED` if units differ."""
    found = set(stated(units))
    return MIXED if len(found) > 1 else found.pop() if found else MODEL_UNITS


def by_row(given: Sequence[str], count: int) -> list[str]:
    """Return the unit of each of `count` rows from one unit for all, one per row, or none; empty if
    no unit is stated.
    """
    return (list(given) or [""]) * count if len(given) <= 1 else list(given)
