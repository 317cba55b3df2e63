"""Reading of mechanism files: a `Mechanism`, or an error with the line that is wrong.

Nothing in a file is executed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zwang.errors import ModelError
from zwang.files import is_file, read_text
from zwang.files.toml import TomlError, parsed_toml
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.expression import CONSTANTS, FUNCTIONS, UNITS, refuse_other_unit
from zwang.mechanism.field_types import PartError, evaluated
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.mistakes import MistakesError, explained, of_the_form_given
from zwang.mechanism.tables import read_table
from zwang.objects.provenance import Source, remember

_HEADER, _KEY = (
    re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+"),
    re.compile(r"^\s*((?:[\w-]+|\"[^\"]*\")(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"))*)\s*="),
)

_OTHERS = {
    "m": ("nm", "um", "µm", "μm", "mm", "cm", "dm", "km", "inch", "inches", "ft"),
    "rad": ("deg", "°", "degree", "degrees", "mrad", "rev"),
    "kg": ("g", "mg", "t", "lb", "lbs"),
    "N": ("mN", "kN", "MN", "kgf", "lbf"),
    "Pa": ("kPa", "MPa", "GPa", "bar", "psi"),
    "s": ("ms", "us", "µs", "μs", "min", "h"),
    "J": ("kJ", "mJ", "MJ"),
    "W": ("kW", "mW", "MW"),
    "rad/s": ("rpm",),
    "1": ("%",),
}
NOT_SI = {word: unit for unit, words in _OTHERS.items() for word in words}
"""Units that are not SI units without a prefix, with their SI unit."""


def read(path: Path | str, **settings: float) -> Mechanism:
    """Read a mechanism file.

    Args:
        path: the TOML file: the fields of `Mechanism` as tables. A number may be a formula of
            `[parameters]`, e.g. `length = "2*crank"`; a parameter is a number, or a table with
            `value`, `unit` and `meaning`.
        settings: parameters that differ from the file's.

    Raises:
        ModelError: one sentence with the line, for a file that cannot be read or is invalid.
    """
    path = Path(path)
    return parsed(read_text(path, "toml_size"), path, settings)


def parameter_units(path: Path | str) -> dict[str, str]:
    """Units of the parameters of a mechanism file that states them."""
    declared = parsed_toml(read_text(Path(path), "toml_size")).get("parameters", {})
    return {k: str(x["unit"]) for k, x in declared.items() if isinstance(x, dict) and "unit" in x}


def parsed(text: str, path: Path, settings: Mapping[str, float]) -> Mechanism:
    """The mechanism of a text.

    Args:
        text: content of a mechanism file.
        path: the file, for messages and for the meshes in its folder.
        settings: as in `read`.
    """
    try:
        content = parsed_toml(text)
    except ModelError as error:
        line = None
        if isinstance(error, TomlError):
            line = line_of(text, error.where) if error.line is None else error.line
        raise ModelError(f"{path}{f', line {line}' if line else ''}: {error}") from None
    try:
        values = parameter_values(content, settings)
        _find_meshes(content, path.parent)
        _read_tables(content, path.parent)
        _join_start(content)
        mechanism = _validated({"name": path.stem, **content, "parameters": values}, values)
    except PartError as error:
        place = functools.partial(line_of, text)
        line = place(error.where)
        said = error.listed(place) if isinstance(error, MistakesError) else error
        raise ModelError(f"{path}{f', line {line}' if line else ''}: {said}") from None
    remember(mechanism, Source("mechanism", str(path), dict(settings), text=text))
    return mechanism


def parameter_values(content: Mapping[str, Any], settings: Mapping[str, float]) -> dict[str, float]:
    """`[parameters]` as numbers; each may be a formula of those before it.

    Raises:
        PartError: for an invalid value, or a setting that the file does not have.
    """
    declared = content.get("parameters", {})
    if not isinstance(declared, dict):
        raise PartError(("parameters",), "expected a table.")
    for name in settings:
        if name not in declared:
            raise PartError((), f"there is no parameter {name!r}{did_you_mean(name, declared)}")
    values: dict[str, float] = {}
    for name, given in declared.items():
        where, unit = ("parameters", name), ""
        if (
            name in CONSTANTS
            or name in FUNCTIONS
            or name in ("t", "x", "y", "z", "vx", "vy", "vz", "value", "rate", "angle")
        ):
            raise PartError(where, "is a name with a meaning of its own in formulas; take another.")
        if isinstance(given, dict):
            if "value" not in given or given.keys() - {"value", "unit", "meaning"}:
                raise PartError(where, "expected value, unit and meaning.")
            unit = str(given.get("unit", ""))
            _refuse_unit(unit, given["value"], where)
            given = given["value"]
        given = settings.get(name, given)
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise PartError(where, "expected a number or a formula.")
        try:
            refuse_other_unit(str(given), unit)
            values[name] = evaluated(str(given), values)
        except ModelError as error:
            raise PartError(where, str(error)) from None
    return values


def _refuse_unit(unit: str, value: object, where: tuple[str, ...]) -> None:
    """Refuse a unit in which the value would have to be converted.

    `--set`, sweeps and results would each have to know the conversion.

    Raises:
        PartError: with the SI unit, and with how a formula may have the other.
    """
    for word in re.findall(r"[^\W\d_]+|[°%]", unit):
        if word in NOT_SI:
            si = unit.replace(word, NOT_SI[word])
            known = "deg" if word in ("°", "degree", "degrees") else word
            formula = known in UNITS and unit == word
            how = f'write value = "{value}{known}"' if formula else f"give the value in {si}"
            raise PartError(
                where,
                f"has the unit {unit!r}, but numbers are taken as they stand, in SI units and "
                f'radians; {how} and unit = "{si}".',
            )


def _find_meshes(content: Mapping[str, Any], folder: Path) -> None:
    """Resolve files of meshes in the mechanism's folder; invalid tables are refused later.

    Raises:
        PartError: for a file that does not exist.
    """
    bodies = content.get("bodies")
    for name, body in bodies.items() if isinstance(bodies, dict) else ():
        shapes = body.get("shapes") if isinstance(body, dict) else None
        for shape in shapes if isinstance(shapes, list) else ():
            if isinstance(shape, dict) and isinstance(shape.get("file"), str):
                shape["file"] = str(folder / shape["file"])
                if not is_file(shape["file"]):
                    raise PartError(
                        ("bodies", name, "shapes"), f"there is no file {shape['file']}."
                    )


def _read_tables(content: dict[str, Any], folder: Path) -> None:
    """Read the numbers of tables from the files that they name, in the mechanism's folder.

    Raises:
        PartError: for a file that is not a table.
    """
    tables = content.get("tables")
    if not isinstance(tables, dict):
        return
    for name, table in [*tables.items()]:
        if isinstance(table, dict) and isinstance(table.get("file"), str):
            where = ("tables", name)
            if {"x", "y"} & table.keys():
                raise PartError(where, "has a file beside x and y; give one of them.")
            own = read_table(str(folder / table.pop("file")), where)
            tables[name] = {**table, **own}


def _join_start(content: dict[str, Any]) -> None:
    """Join the nested tables that TOML makes of `shaft.first = { … }` in `[start]` to one name."""
    start = content.get("start")
    if not isinstance(start, dict):
        return
    for joint, given in list(start.items()):
        if isinstance(given, dict) and given and all(isinstance(x, dict) for x in given.values()):
            del start[joint]
            start |= {f"{joint}.{coordinate}": x for coordinate, x in given.items()}


@functools.cache
def _reader():
    """The validator of the content of a file; it takes 30 ms to make."""
    import pydantic

    return pydantic.TypeAdapter(Mechanism)


def _validated(content: dict[str, Any], values: dict[str, float]) -> Mechanism:
    import pydantic

    try:
        return _reader().validate_python(content, context=values)
    except pydantic.ValidationError as error:
        found = [x for x in error.errors(include_url=False) if of_the_form_given(x)]
        raise MistakesError([explained(x) for x in found]) from None


def line_of(text: str, where: tuple[str, ...]) -> int | None:
    """The line of a TOML text with the longest prefix of a path like ("joints", "A", "between")."""
    best, depth, table = None, 0, ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _names(header[1])
            here = table
        elif key := _KEY.match(line):
            here = (*table, *_names(key[1]))
            here += _inside(line[key.end() :], where[len(here) :])
        else:
            continue
        common = next(
            (i for i, (a, b) in enumerate(zip(here, where, strict=False)) if a != b),
            min(len(here), len(where)),
        )
        if common > depth:
            best, depth = number, common
    return best


def _inside(rest: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The first of the names, if an inline table on the line has it."""
    return (
        names[:1] if names and re.search(rf"[{{,]\s*\"?{re.escape(names[0])}\"?\s*=", rest) else ()
    )


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(x.strip().strip('"') for x in re.findall(r'"[^"]*"|[^.\s]+', dotted))
