"""Quantities on the command line, formulas with units if need be: `2*pi`, `360deg`, `30mm`."""

from __future__ import annotations

import math
import re

import typer

from zwang.errors import ModelError

UNITS = {"deg": math.pi / 180, "rpm": math.pi / 30, "mm": 1e-3, "cm": 1e-2, "ms": 1e-3}
"""Units that a number may have, in SI units and radians."""
_BEHIND = re.compile(rf"(?<=[\d.])\s*({'|'.join(UNITS)}|pi)\b")


def quantity(text: str | float) -> float:
    """A number, or a formula of numbers, `pi` and units.

    Raises:
        ModelError: if it is none.
    """
    if isinstance(text, float | int):
        return float(text)
    from zwang.mechanism.expression import Expression

    # a unit stands behind its number
    return Expression(_BEHIND.sub(r"*\1", text)).value(UNITS)


def number(text: str | float) -> float:
    """The same as an option.

    Raises:
        typer.BadParameter: if it is none.
    """
    try:
        return quantity(text)
    except ModelError as error:
        expected = "expected a number, such as 6.28, 2*pi or 360deg."
        raise typer.BadParameter(f"{str(error).rstrip('.')}; {expected}") from None
