"""Results of analyses as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from zwang.analysis.equilibrium import Equilibrium

MOST_TABLE_ROWS = 40
"""Coordinates that are listed; the dataset holds all."""


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells in columns, indented."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip()


def shortened(rows: list[Sequence[str]], what: str) -> Iterable[str]:
    """The first rows, and how many more there are."""
    yield from table(rows[: MOST_TABLE_ROWS + 1])
    if len(rows) > MOST_TABLE_ROWS + 1:
        yield f"  and {len(rows) - MOST_TABLE_ROWS - 1} more {what}"


def rounded(x: float) -> str:
    """A number with nine digits; what is round-off beside one as 0."""
    return f"{x if abs(x) > 1e-14 else 0.0:.9g}"


def equilibrium_lines(e: Equilibrium) -> Iterator[str]:
    """What an equilibrium prints."""
    system = e.model.system
    kind = "steady motion" if e.steady else "equilibrium"
    yield f"{e.model.name}: {kind}, {e.verdict}"
    yield f"  unbalanced force  {e.residual:.1e} (relative)"
    if e.stiffness is not None and len(e.stiffness):
        least, most = e.stiffness[[0, -1]]
        range_ = f"{least:.6g}" if len(e.stiffness) == 1 else f"{least:.6g} … {most:.6g}"
        yield f"  stiffness         {range_} 1/s² (reduced Hessian, mass metric)"
    if e.guess_balances:
        yield f"  guess             {e.other}"
    for name, value in e.inputs.items():
        yield f"  found             {name} = {value:.9g}"
    yield ""
    rows: list[Sequence[str]] = [("coordinate", "value", "unit")]
    rows += [
        (name, rounded(x), unit)
        for name, x, unit in zip(system.coordinates, e.q, system.units, strict=True)
    ]
    yield from shortened(rows, "coordinates")
    if e.steady:
        rows = [("velocity", "value", "unit")]
        rows += [
            (name, rounded(x), unit)
            for name, x, unit in zip(system.velocities, e.v, system.velocity_units, strict=True)
        ]
        yield ""
        yield from shortened(rows, "velocities")
    if e.constraint_force:
        yield ""
        rows = [("constraint", "multipliers", "force")]
        for name, own in e.model.constraints.row_slices.items():
            shown = ", ".join(f"{x:.6g}" for x in np.round(e.multipliers[own], 12))
            rows.append((name, shown, "unique" if e.unique[name] else "not unique"))
        yield from shortened(rows, "constraints")
