"""Units of a constraint's residuals.

A model that states no unit is in units of its own, `MODEL_UNITS`: any consistent ones.
"""

from __future__ import annotations

from collections.abc import Sequence

MODEL_UNITS, MIXED = "model units", "mixed"
PER_SECOND = "/s"


def per_second(unit: str) -> str:
    """The unit of a rate; not stated if the quantity's own is not."""
    if unit in ("", MODEL_UNITS):
        return unit
    return f"{unit.removesuffix(PER_SECOND)}/s²" if unit.endswith(PER_SECOND) else f"{unit}/s"


def stated(units: Sequence[str]) -> list[str]:
    """Units with the convention in place of those that are not stated."""
    return [unit or MODEL_UNITS for unit in units]


def one(units: Sequence[str]) -> str:
    """The unit that all of them are, `MIXED` if they differ."""
    found = set(stated(units))
    return MIXED if len(found) > 1 else found.pop() if found else MODEL_UNITS


def by_row(given: Sequence[str], count: int) -> list[str]:
    """The unit of each of `count` rows from one for all of them, one each, or none; empty where
    there is none.
    """
    return (list(given) or [""]) * count if len(given) <= 1 else list(given)
