"""Rules for the elements and attributes of robot files, one for each, common to the XML formats."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal

Fate = Literal["acts", "drawn", "names", "listed"]
"""Treatment of an element: it changes the motion, it changes pictures, it only names something, or
`Robot.unsupported` lists it.
"""
FORCE, SPEED = "limits of the force at joints", "limits of speed"


@dataclasses.dataclass(frozen=True)
class Rule:
    """Treatment of an element or attribute.

    Attributes:
        fate: its treatment.
        what: its role in the model, or the words under which it is listed.
        many: of an element, whether it may occur more than once.
        inside: of a listed element, whether it stands for its whole content.
        until: the last version of the format that has it; it has no effect in later files.
        neutral: of a listed one, whether a text has no effect and is not listed.
    """

    fate: Fate
    what: str
    many: bool = False
    inside: bool = False
    until: tuple[int, int] = (1, 9999)
    neutral: Callable[[str], bool] = lambda text: False


def owned(what: str, owners: list[str]) -> str:
    """Name content with those that it belongs to."""
    names = ", ".join(dict.fromkeys(filter(None, owners)))
    return f"{what} ({names})" if names else what


def table(rules: Mapping[str, Rule]) -> str:
    """All elements and attributes of a format as a table for the documentation."""
    lines = ["| element or attribute | what becomes of it | as |", "|---|---|---|"]
    shown = {"acts": "acts", "drawn": "pictures only", "names": "a name only", "listed": "listed"}
    for path, rule in rules.items():
        last = "" if rule.until > (1, 12) else f" (to version {'.'.join(map(str, rule.until))})"
        lines.append(f"| `{path or 'robot'}` | {shown[rule.fate]} | {rule.what}{last} |")
    return "\n".join(lines) + "\n"
