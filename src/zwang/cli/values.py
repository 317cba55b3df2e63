"""`--set name=value`: names and values from words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from zwang.cli.failure import UserError
from zwang.errors import ModelError

LARGEST_VALUE = 1e300
"""Largest accepted number."""


def assignments(
    words: Sequence[str], option: str = "--set", example: str = "length=2.5"
) -> dict[str, str]:
    """Parse the `name=value` words of an option; `example` is shown in errors.

    Raises:
        UserError: for a word without `=`, an empty name, or a name given twice.
    """
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise UserError(
                f"{option} {word!r:.100} is not of the form name=value, for example {option} "
                f"{example}"
            )
        if name in given:
            raise UserError(f"{option} {name} is given twice.")
        given[name] = value
    return given


def number_or_list(text: str, what: str, unit: str = ""):
    """Parse a number or a list of numbers: `2.5`, `30deg`, `1,2,3`, `[[1,0],[0,1]]`.

    Args:
        text: as typed.
        what: the option and its name.
        unit: of the number, into which a unit that was typed is converted; unknown by default.

    Raises:
        UserError: if it is anything else, or has a unit of another kind.
    """
    from zwang.mechanism.expression import quantity, refuse_other_unit

    try:
        refuse_other_unit(text, unit)
    except ModelError as error:
        raise UserError(f"{what}: {error}") from None
    for read in (float, json.loads, lambda x: json.loads(f"[{x}]"), lambda x: quantity(x, unit)):
        try:
            value = read(text)
        except (ValueError, RecursionError, ModelError):
            continue
        if _numeric(value):
            return value
    raise UserError(
        f"{what} is {text!r:.60}, expected a finite number, as 0.3, 20deg, 30mm or 60rpm, or a "
        "list of them such as 1,2,3"
    )


def settings_like(
    given: Mapping[str, str], defaults: Mapping[str, Any], units: Mapping[str, str]
) -> dict[str, Any]:
    """The values of `--set` that have a default, converted to its type and its unit.

    Raises:
        UserError: for a value of another type or with a unit of another kind.
    """
    return {
        k: like(x, defaults[k], f"--set {k}", units.get(k, ""))
        for k, x in given.items()
        if k in defaults
    }


def like(text: str, default, what: str, unit: str = ""):
    """Convert text to the type of `default`, and to `unit` if that is known.

    Raises:
        UserError: if this is not possible.
    """
    if isinstance(default, bool):
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in known:
            raise UserError(f"{what} is {text!r:.60}, expected true or false.")
        return known[text.lower()]
    if isinstance(default, int):
        try:
            return int(text) if len(text) < 40 else int("")
        except ValueError:
            raise UserError(f"{what} is {text!r:.60}, expected a whole number.") from None
    if isinstance(default, str):
        return text
    value = number_or_list(text, what, unit)
    if isinstance(default, float) and isinstance(value, list):
        raise UserError(f"{what} is {text!r:.60}, expected one number.")
    if isinstance(default, (list, tuple)):
        value = value if isinstance(value, list) else [value]
        if len(value) != len(default):
            raise UserError(f"{what} has {len(value)} numbers, expected {len(default)}.")
        return type(default)(value)
    return value


def _numeric(value) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_numeric, value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= LARGEST_VALUE  # False for NaN as well
