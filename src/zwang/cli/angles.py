"""Quantities on the command line, formulas with units if need be: `2*pi`, `360deg`, `30mm`."""

from __future__ import annotations

import typer

from zwang.errors import ModelError


def number(text: str | float) -> float:
    """A quantity as an option.

    Raises:
        typer.BadParameter: if it is none.
    """
    from zwang.mechanism.expression import quantity

    try:
        return quantity(text)
    except ModelError as error:
        expected = "expected a number, such as 6.28, 2*pi or 360deg."
        raise typer.BadParameter(f"{str(error).rstrip('.')}; {expected}") from None
