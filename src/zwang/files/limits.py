"""Limits of inputs. `SECURITY.md` shows them as a table, which a test compares with this one."""

from __future__ import annotations

import dataclasses

from zwang.inputs.text import LONGEST_NAME

MEBI = 2**20


@dataclasses.dataclass(frozen=True)
class Limit:
    """The largest accepted value of a quantity.

    Attributes:
        value: the limit.
        unit: its unit.
        what: the limited quantity, worded as in SECURITY.md.
    """

    value: int
    unit: str
    what: str


LIMITS = {
    "toml_size": Limit(MEBI, "bytes", "size of a mechanism file (TOML) or of loops (YAML)"),
    "toml_depth": Limit(32, "levels", "nesting of brackets in a mechanism file"),
    "toml_key": Limit(16, "parts", "parts of a dotted key in a mechanism file"),
    "toml_entries": Limit(50_000, "entries", "keys, tables and list entries of a mechanism file"),
    "digits": Limit(40, "digits", "digits in a row of a number in a mechanism file"),
    "magnitude": Limit(100, "decimal exponent", "largest number in a mechanism or robot file"),
    "xml_size": Limit(16 * MEBI, "bytes", "size of a robot file (URDF, MJCF, SDF)"),
    "xml_depth": Limit(200, "levels", "nesting of elements in a robot file"),
    "xml_elements": Limit(100_000, "elements", "elements of a robot file"),
    "bodies": Limit(2000, "bodies", "bodies of a robot, copies included"),
    "flex_points": Limit(
        100_000, "points", "points of deformable bodies of an MJCF file (flexcomp), each of them"
    ),
    "name": Limit(LONGEST_NAME, "characters", "length of a name"),
    "mesh_size": Limit(20_000_000, "bytes", "size of a mesh in view.html"),
    "parser_memory": Limit(4096 * MEBI, "bytes", "address space of the process that reads MJCF"),
    "parser_time": Limit(60, "seconds", "time of the process that reads MJCF"),
    "parser_result": Limit(512 * MEBI, "bytes", "size of the compiled model of an MJCF file"),
    "result_size": Limit(8192 * MEBI, "bytes", "size of a file of results that is loaded"),
    "script_size": Limit(16 * MEBI, "bytes", "size of a Python file that the command line runs"),
}
"""Every limit by its name."""


def limit(name: str) -> int:
    """Return the value of a limit."""
    return LIMITS[name].value
