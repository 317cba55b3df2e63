"""Tables of numbers as functions in formulas: cubic splines, with continuous accelerations.

Reference: de Boor (2001), A Practical Guide to Splines, rev. ed., Springer, chapter IV
    (not-a-knot and periodic end conditions).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from types import ModuleType

import numpy as np

from zwang.errors import ModelError
from zwang.files import read_text
from zwang.mechanism.expression import CONSTANTS, FUNCTIONS
from zwang.mechanism.field_types import PartError
from zwang.mechanism.schema import Table

BEYOND = 1e-9
"""Distance, relative to a table's range, by which round-off may put an argument outside."""


@dataclasses.dataclass(frozen=True)
class Spline:
    """A table as a function, equal to another one with the same numbers.

    Attributes:
        knots: arguments, increasing.
        pieces: four coefficients of each piece, the highest power first.
        repeats: whether it is periodic; otherwise it is NaN beyond its ends.
    """

    knots: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]
    repeats: bool

    def __call__(self, x, library: ModuleType):
        """Evaluate it by NumPy or JAX."""
        first, last = self.knots[0], self.knots[-1]
        if self.repeats:
            x = x - (last - first) * library.floor((x - first) / (last - first))
        inner = np.array(self.knots[1:-1])
        piece = library.sum(x >= inner) if len(inner) else 0
        a, b, c, d = library.asarray(self.pieces)[piece]
        s = x - library.asarray(self.knots)[piece]
        value = ((a * s + b) * s + c) * s + d
        slack = BEYOND * (last - first)
        within = (x >= first - slack) & (x <= last + slack)
        return library.where(within, value, np.nan)


def splines(tables: Mapping[str, Table], taken: Collection[str]) -> dict[str, Spline]:
    """Tables as functions by their names.

    Args:
        tables: by name.
        taken: names with another meaning in formulas.

    Raises:
        PartError: for an invalid table, by name.
    """
    for name in tables:
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in {*CONSTANTS, *FUNCTIONS, *taken}:
            why = "is no name that a function can have here; take another word."
            raise PartError(("tables", name), why)
    return {name: spline(("tables", name), table) for name, table in tables.items()}


def spline(where: tuple[str, ...], table: Table) -> Spline:
    """A table as a function.

    Raises:
        PartError: for an invalid table, by its path.
    """
    from scipy.interpolate import CubicSpline

    x, y = np.array(table.x, float), np.array(table.y, float)
    if len(x) != len(y) or len(x) < 2:
        raise PartError(
            where, f"has {len(x)} x and {len(y)} y, expected as many of both, 2 or more."
        )
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y)) and np.all(np.diff(x) > 0)):
        raise PartError((*where, "x"), "expected finite numbers, x increasing.")
    if table.repeat and y[0] != y[-1]:
        raise PartError(
            (*where, "y"),
            f"begins with {y[0]:g} and ends with {y[-1]:g}; one that repeats is closed.",
        )
    found = CubicSpline(x, y, bc_type="periodic" if table.repeat else "not-a-knot")
    pieces = tuple(tuple(map(float, c)) for c in found.c.T)
    return Spline(tuple(map(float, x)), pieces, table.repeat)


def read_table(path: str, where: tuple[str, ...]) -> dict[str, list[float]]:
    """The two columns of a text file, separated by commas, semicolons or spaces, as x and y.

    Lines that begin with # and a heading are left out.

    Raises:
        PartError: for a line without two numbers.
    """
    try:
        lines = read_text(path, "toml_size").splitlines()
    except ModelError as error:
        raise PartError(where, str(error)) from None
    rows = [(i, x) for i, x in enumerate(lines, 1) if x.strip() and not x.lstrip().startswith("#")]
    found: dict[str, list[float]] = {"x": [], "y": []}
    for number, (i, line) in enumerate(rows):
        words = re.split(r"[,;\s]+", line.strip().strip(",;"))
        try:
            x, y = map(float, words)
        except ValueError:
            if number == 0:
                continue
            raise PartError(where, f"line {i} of {path} has no two numbers.") from None
        found["x"].append(x)
        found["y"].append(y)
    return found
