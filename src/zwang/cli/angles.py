"""Numbers on the command line that may be formulas: `2*pi`, `360deg`, `-30*deg`."""

from __future__ import annotations

import re

import typer

from zwang.errors import ModelError


def number(text: str | float) -> float:
    """A number, or a formula of numbers, `pi` and `deg`.

    Raises:
        typer.BadParameter: if it is none.
    """
    if isinstance(text, float | int):
        return float(text)
    from zwang.mechanism.expression import Expression

    # a unit may stand behind its number
    product = re.sub(r"(?<=[\d.])\s*(deg|pi)\b", r"*\1", text)
    try:
        return Expression(product).value({})
    except ModelError as error:
        raise typer.BadParameter(
            f"{error} Expected a number, such as 6.28, 2*pi or 360deg."
        ) from None
