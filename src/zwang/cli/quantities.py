"""Quantities on the command line: formulas with optional units, such as `2*pi`, `360deg`,
`30mm`.
"""

from __future__ import annotations

import re

import typer

from zwang.errors import ModelError


class Typed(float):
    """A number and the text that was typed for it, whose unit is checked when its quantity is
    known.
    """

    text: str

    @classmethod
    def of(cls, text: str | float, unit: str = "") -> Typed:
        """The value of a text, in `unit` if that is known.

        Raises:
            ModelError: if it is no number, or has a unit of another kind.
        """
        from zwang.mechanism.expression import quantity

        made = cls(quantity(text, unit))
        made.text = str(text)
        return made


def number(text: str | float) -> float:
    """Parse a quantity of an option.

    Raises:
        typer.BadParameter: if it is not a quantity.
    """
    return _read(text, "a number, such as 6.28, 2*pi or 360deg")


def seconds(text: str | float) -> float:
    """Parse a time of an option [s]: `0.5`, `0.5s`, `500ms`.

    Raises:
        typer.BadParameter: if it is not a time.
    """
    plain = re.sub(r"(?<=[\d.])\s*s\s*$", "", text) if isinstance(text, str) else text
    return _read(plain, "a time in seconds, such as 0.5, 0.5s or 500ms", "s")


def _read(text: str | float, expected: str, unit: str = "") -> float:
    try:
        return Typed.of(text, unit)
    except ModelError as error:
        raise typer.BadParameter(f"{str(error).rstrip('.')}; expected {expected}.") from None
