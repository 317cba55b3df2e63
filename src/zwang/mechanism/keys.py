"""Every key of a mechanism file with its unit, default and meaning.

They are read from the dataclasses and the joints that files are checked against.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Iterator
from typing import NamedTuple

from zwang.bodies.shape import SIZES
from zwang.mechanism.contacts import SURFACES
from zwang.mechanism.joint_kind import JointKind
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.registry import JOINT_KINDS, OPTIONS
from zwang.mechanism.schema import Joint

UNIT = re.compile(r"(?:^|(?<= ))\[([\w·/²³, ]+)\]")
NUMBER = {2: "two", 3: "three"}
FORM = {float: "number", int: "whole number", bool: "true or false", str: "text"}
DECLARED = (
    ("value", "formula", "", "required", "the number, or a formula of parameters above it."),
    ("unit", "text", "", '""', "its SI unit, for people."),
    ("meaning", "text", "", '""', "what it is, for people."),
)
"""Keys of a parameter that is a table, which no dataclass has."""
OF_A_FILE = ("file", "text", "", "", "a CSV file beside this one, in place of `x` and `y`.")
WORDS = {
    "one of `zwang.mechanism.KINDS`.": f"one of {', '.join(f'`{x}`' for x in JOINT_KINDS)}.",
    "one of `SIZES`.": f"one of {', '.join(f'`{x}`' for x in SIZES)}.",
    "one of `SURFACES`.": f"one of {', '.join(f'`{x}`' for x in SURFACES)}.",
}
"""Replacements of Python objects in meanings, in terms of files."""


class Key(NamedTuple):
    """A key of a table.

    It has its name, type, SI unit, default ("" for none; `required` if it must be given) and
    meaning.
    """

    name: str
    takes: str
    unit: str
    default: str
    meaning: str


class Section(NamedTuple):
    """Keys of one table of a file, with its header and its meaning."""

    header: str
    meaning: str
    keys: tuple[Key, ...]


def sections(word: str = "") -> list[Section]:
    """Every table of a mechanism file, or those with a word in their header or in a key."""
    word = word.lower()
    found = []
    for section in _sections():
        within = word in section.header.lower()
        keys = section.keys if within else [x for x in section.keys if word in x.name.lower()]
        if within or keys:
            found.append(section._replace(keys=tuple(keys)))
    return found


def _sections() -> Iterator[Section]:
    own = _keys(Mechanism)
    fields = typing.get_type_hints(Mechanism)
    parts = {name: _part(t) for name, t in fields.items()}
    tables = {name for name, t in fields.items() if _is_table(t)}
    yield Section(
        "At the top of the file",
        "Before the first table.",
        tuple(x for x in own if x.name not in tables),
    )
    for name in (x for x in parts if x in tables):
        part = parts[name]
        if part is None:  # numbers by their names
            number = Key("NAME", "formula", "", "", "a number, or a formula of those above it.")
            yield Section(f"[{name}]", "Numbers for formulas, by their names.", (number,))
            words = "The same with its unit and meaning."
            yield Section(f"[{name}.NAME]", words, tuple(map(Key._make, DECLARED)))
            continue
        keys = _keys(part) + ((Key._make(OF_A_FILE),) if name == "tables" else ())
        by_name = typing.get_origin(fields[name]) is dict
        header = f"[{name}.NAME]" if by_name else f"[{name}]"
        if part is Joint:
            common = tuple(x for x in keys if x.name not in OPTIONS)
            yield Section(header, _first(part), common)
            for kind in (x for x in JOINT_KINDS.values() if x.options):
                summary = f"{kind.summary[0].upper()}{kind.summary[1:]}."
                yield Section(f'{header}, kind = "{kind.name}"', summary, _options(kind))
        else:
            yield Section(header, _first(part), keys)
        for key, nested in _nested(part):
            yield Section(f"{header[:-1]}.{key}]", _first(nested), _keys(nested))


def _nested(part: type) -> Iterator[tuple[str, type]]:
    """Parts that are the value of a key of a part."""
    hints = typing.get_type_hints(part)
    for field in dataclasses.fields(part):
        inner = _part(hints.get(field.name, field.type))
        if inner is not None:
            yield field.name + (".NAME" if "dict" in str(hints[field.name]) else ""), inner


def _part(t: object) -> type | None:
    """Return the dataclass that a type contains, or None."""
    if dataclasses.is_dataclass(t) and isinstance(t, type):
        return t
    return next(filter(None, map(_part, typing.get_args(t))), None)


def _is_table(t: object) -> bool:
    return typing.get_origin(t) is dict or dataclasses.is_dataclass(t)


def _keys(part: type) -> tuple[Key, ...]:
    meanings, hints = _meanings(part), typing.get_type_hints(part)
    found = []
    for field in dataclasses.fields(part):
        meaning = meanings.get(field.name, "")
        meaning = WORDS.get(meaning, meaning)
        units = UNIT.findall(meaning)
        if len(units) == 1:  # it has a column of its own
            meaning = re.sub(r" +([;:,.]| )", r"\1", UNIT.sub("", meaning))
            meaning = meaning.strip().removeprefix("; ").removeprefix(".")
        takes = _takes(hints.get(field.name, field.type))
        unit = units[0] if len(units) == 1 else ""
        found.append(Key(field.name, takes, unit, _default(field), meaning.removesuffix("; or")))
    return tuple(found)


def _options(kind: JointKind) -> tuple[Key, ...]:
    takes = {"pair": "two numbers", "formula": "formula", "number": "number"}
    return tuple(
        Key(
            x.name,
            takes[x.kind] + (f" of {', '.join(x.variables)}" if x.variables else ""),
            x.unit,
            "required" if x.as_drawn is None else "as drawn",
            x.meaning,
        )
        for x in kind.options
    )


def _default(field: dataclasses.Field) -> str:
    if field.default_factory is not dataclasses.MISSING or field.default is None:
        return ""
    if field.default is dataclasses.MISSING:
        return "required"
    given = field.default
    if isinstance(given, (bool, str)):
        return json.dumps(given)
    if isinstance(given, (int, float)):
        return f"{given:g}" if math.isfinite(given) else ""
    return json.dumps(given) if isinstance(given, tuple) and given else ""


def _takes(t: object) -> str:
    """Describe the type of a key in words."""
    origin, of = typing.get_origin(t), typing.get_args(t)
    if origin in (types.UnionType, typing.Union):
        found = list(dict.fromkeys(_takes(x) for x in of if x is not type(None)))
        if {"text", "number"} <= {*found}:
            found = ["formula", *(x for x in found if x not in ("text", "number"))]
        return " or ".join(found)
    if origin is typing.Annotated:
        return _takes(of[0])
    if origin is typing.Literal:
        return " or ".join(f'"{x}"' for x in of)
    if origin is dict:
        return f"table of {_takes(of[1])}"
    if origin in (tuple, list) or "Sequence" in str(origin):
        inner, fixed = _takes(of[0]), len(of) > 1 and of[1] is not Ellipsis
        inner = inner.replace("list of", "lists of") if inner.startswith("list") else f"{inner}s"
        return f"{NUMBER[len(of)]} {inner}" if fixed else f"list of {inner}"
    return FORM.get(t, "table" if dataclasses.is_dataclass(t) else "text")


def _meanings(part: type) -> dict[str, str]:
    """The meaning of each field in a docstring; several fields may share a line."""
    found: dict[str, str] = {}
    text = inspect.getdoc(part) or ""
    body = re.split(r"\n(?:Attributes|Args):\n", text, maxsplit=1)
    if len(body) < 2:
        return {}
    names: list[str] = []
    for line in body[1].splitlines():
        if line and not line.startswith(" "):
            break
        # "between: two points; or joint: a joint" has the meanings of two fields
        entry = re.match(r"^ {4}(\w+(?:, \w+)*): (.*)$", line)
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    for name, meaning in list(found.items()):
        for other in re.finditer(r"; or (\w+): (.*)$", meaning):
            found[other[1]] = f"or {other[2]}"
            found[name] = meaning[: other.start()] + "."
    return found


def _first(part: type) -> str:
    """The first paragraph of a docstring."""
    return (inspect.getdoc(part) or "").split("\n\n")[0].replace("\n", " ")


def table() -> str:
    """All tables and their keys for the documentation."""
    lines: list[str] = []
    cell = lambda x: x.replace("|", "\\|").replace("\n", " ")
    code = lambda x: f"`{x}`" if x else ""
    for section in sections():
        title = f"`{section.header}`" if section.header.startswith("[") else section.header
        lines += [f"## {title}", "", section.meaning, ""]
        lines += ["| key | takes | unit | default | meaning |", "|---|---|---|---|---|"]
        for x in section.keys:
            row = code(x.name), x.takes, x.unit, code(x.default), x.meaning
            lines.append(f"| {' | '.join(map(cell, row))} |")
        lines.append("")
    shapes = [f"| `{kind}` | {', '.join(sizes)} |" for kind, sizes in SIZES.items()]
    lines += ["## `size` of shapes", "", "| kind | numbers |", "|---|---|", *shapes, ""]
    return "\n".join(lines)
