"""The range of an input on the command line, whose ends may be formulas: `2*pi`, `360deg`."""

from __future__ import annotations

import re
from typing import Annotated

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
        expected = "expected a number, such as 6.28, 2*pi or 360deg."
        raise typer.BadParameter(f"{str(error).rstrip('.')}; {expected}") from None


First = Annotated[
    float,
    typer.Option(
        "--from", parser=number, metavar="X", help="First value of the input \\[its unit]."
    ),
]
Last = Annotated[
    float,
    typer.Option("--to", parser=number, metavar="X", help="Last value of the input \\[its unit]."),
]
