"""Errors of a mechanism file in terms of mechanics: all that pydantic has found, at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.field_types import PartError
from zwang.mechanism.mechanism import PARTS, Mechanism

EXPECTED = {
    "dataclass": "expected a table, {{ field = value, ... }}",
    "dict": "expected a table",
    "tuple": "expected a list in brackets",
    "too_long": "expected at most {max_length} entries",
    "string": "expected text in quotes",
    "int": "expected a whole number",
    "float": "expected a number",
}
"""Expected values, by pydantic's name of the error."""
AXES = "axes belong to points: give the first point of 'between' its 'angle', in space its 'axis'"
OTHER_WORDS = {
    "bodies": {"m": "mass", "position": "at", "pos": "at", "shape": "shapes"},
    "joints": {"type": "kind", "bodies": "between", "axis": AXES, "angle": AXES},
    "drives": {"speed": "rate", "velocity": "rate", "angle": "value", "motion": "value"},
    "laws": {"law": "equation", "formula": "equation", "joints": "of", "between": "of"},
    "gaps": {"e": "restitution", "equation": "gap", "stop": "gap", "joint": "of"},
    "ropes": {"points": "over", "between": "over", "l": "length", "e": "restitution"},
    "contacts": {"e": "restitution", "friction": "static", "mu": "static", "points": "between"},
    "frictions": {
        "velocity": "slip",
        "rate": "slip",
        "torque": "load",
        "force": "load",
        "mu": "static",
    },
    "tables": {"t": "x", "time": "x", "values": "y", "value": "y", "periodic": "repeat"},
    "springs": {"k": "stiffness", "c": "damping", "rest_length": "rest", "length": "rest"},
    "bushings": {"k": "stiffness", "c": "damping"},
    "forces": {"force": "effort", "torque": "effort", "value": "effort", "body": "on"},
    "start": {"angle": "value", "position": "value", "velocity": "rate", "speed": "rate"},
    "actuators": {"min": "lower", "max": "upper"},
    "servo": {"gains": "gain", "position": "value", "velocity": "rate", "path": "value"},
}
"""Fields as other programs call them, by table: the field here, or a sentence."""
MOST_MISTAKES = 8
"""Largest number of errors that one message lists."""


class MistakesError(PartError):
    """All invalid fields of a file; as an exception it has the text of the first one.

    Attributes:
        found: the errors, at least one.
    """

    def __init__(self, found: list[PartError]):
        # If a field is missing and another does not exist, the second error is more useful.
        self.found = sorted(found, key=lambda x: "is missing" in x.message)
        super().__init__(self.found[0].where, self.found[0].message)

    def listed(self, line_of: Callable[[tuple[str, ...]], int | None]) -> str:
        """The first error, and the places of the others."""
        others = []
        for mistake in self.found[1:MOST_MISTAKES]:
            line, short = line_of(mistake.where), str(mistake).split("; ")[0].rstrip(".")
            others.append(f"line {line}: {short}" if line else short)
        if len(self.found) > MOST_MISTAKES:
            others.append(f"{len(self.found) - MOST_MISTAKES} more")
        return f"{self} Also {'; '.join(others)}." if others else str(self)


def _forms(place: tuple[str | int, ...]) -> list[int]:
    """Positions in a path of the alternatives, `Point` or `tuple[...]`, that pydantic tried.

    The user's own names come first in a path; there are two at most.
    """
    form = lambda x: isinstance(x, str) and (x == "Point" or x.startswith("tuple["))
    return [i for i, x in enumerate(place) if i > 1 and form(x)]


def of_the_form_given(found) -> bool:
    """Return whether an error is about the alternative that was written.

    A table with an error is not an invalid list.
    """
    loc = found["loc"]
    # The list was tried in place of the table; an error in a field of the table is genuine.
    tried = len(loc) - 1 in _forms(loc)
    return not (isinstance(found["input"], dict) and found["type"] == "tuple_type" and tried)


def explained(found) -> PartError:
    """Format an error of pydantic in terms of mechanics."""
    cause = found.get("ctx", {}).get("error")
    if isinstance(cause, PartError):
        return cause
    # For fields that take a table or a list, pydantic adds which of the two it has tried.
    tried = _forms(found["loc"])
    where: tuple[str, ...] = tuple(str(x) for i, x in enumerate(found["loc"]) if i not in tried)
    # Entries of a list have no lines of their own.
    known = where if len(where) < 3 or where[0] not in PARTS else where[:3]
    if found["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return PartError(where, f"there is no {where[len(where) - 1]!r} here{_field_meant(where)}")
    if found["type"] in ("missing", "missing_argument"):
        few = isinstance(found["loc"][-1], int)
        return PartError(
            where[:-1], "has too few entries." if few else f"{found['loc'][-1]} is missing."
        )
    if cause is not None:
        return PartError(known, str(cause))
    got = found["input"]
    shown = (
        f", got {got!r:.60}" if isinstance(got, (str, int, float, list, tuple)) else ", got a table"
    )
    said = next(
        (x for kind, x in EXPECTED.items() if kind in found["type"]),
        found["msg"].replace("Input should be", "expected"),
    )
    return PartError(known, f"{said.format(**found.get('ctx', {}))}{shown}.")


def _field_meant(where: tuple[str, ...]) -> str:
    """The end of a sentence about an unknown field: the probable one, and the existing ones."""
    fields = PARTS.get(where[0]) if len(where) == 3 else {1: Mechanism}.get(len(where))
    if fields is None:
        return "."
    names = [f.name for f in dataclasses.fields(fields)]
    if len(where) == 1:
        return did_you_mean(where[0], names)
    word = OTHER_WORDS[where[0]].get(where[2], "")
    if word and word not in names:
        return f"; {word}."
    return f"; did you mean {word!r}?" if word else did_you_mean(where[2], names)
