"""Curves as numbers: a few rows in the page, and all of them in CSV files."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zwang.files import write_text
from zwang.plots import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, COLUMNS = 21, 12
"""Largest numbers of rows and columns of a table in the page."""
MOST_NUMBERS = 2_000_000
"""Largest number of values of a CSV file (seconds, and tens of megabytes); run.nc has everything.
"""


CURVE = 8
"""Number of consecutive points from which on a line is a curve with data, and not a part of a
drawing.
"""


def stem(title: str) -> str:
    """Convert a title to a file name."""
    return re.sub(r"\W+", "_", title).strip("_")


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns over time.

    Attributes:
        time: instants [s], shape (n,).
        columns: name and unit of each column.
        values: shape (n, columns).
    """

    time: np.ndarray
    columns: list[tuple[str, str]]
    values: np.ndarray

    @property
    def headings(self) -> list[str]:
        return ["time [s]"] + [f"{name} [{unit}]" if unit else name for name, unit in self.columns]

    def thinned(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows for the page."""
        rows = np.unique(
            np.linspace(0, len(self.time) - 1, min(ROWS, len(self.time))).round().astype(int)
        )
        kept = self.values[rows, :COLUMNS]
        return self.headings[: COLUMNS + 1], [
            [f"{t:.6g}", *(f"{x:.6g}" for x in row)]
            for t, row in zip(self.time[rows], kept, strict=True)
        ]

    @property
    def note(self) -> str:
        """A sentence about the rows and columns that the page omits."""
        n, k = self.values.shape
        parts = [f"{min(n, ROWS)} of {n} instants"] * (n > ROWS) + [f"{COLUMNS} of {k} columns"] * (
            k > COLUMNS
        )
        return ", ".join(parts)

    def save(self, path: Path) -> bool:
        """Write the table as CSV with 15 digits; returns whether it was small enough."""
        # The NetCDF file in the same folder has everything in any case.
        if self.values.size > MOST_NUMBERS:
            return False
        # Names may contain commas and quotation marks.
        quoted = ['"' + heading.replace('"', '""') + '"' for heading in self.headings]
        text = io.StringIO()
        text.write(",".join(quoted) + "\n")
        np.savetxt(text, np.column_stack([self.time, self.values]), fmt="%.15g", delimiter=",")
        write_text(path, text.getvalue(), durable=False)
        return True


def save_curves(figure: Picture | Figure, path: Path) -> bool:
    """Write the curves of a figure as CSV; returns whether it has any.

    Each curve has two columns, named after its axes and its label.
    """
    found = [
        column for x, y in _curves(figure) if _unbroken(x[1], y[1]) >= CURVE for column in (x, y)
    ]
    if not found or sum(len(values) for _, values in found) > MOST_NUMBERS:
        return False
    # Curves of one figure may have different numbers of points.
    rows = itertools.zip_longest(*(values for _, values in found))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([heading for heading, _ in found])
    writer.writerows(["" if x is None else f"{x:.15g}" for x in row] for row in rows)
    write_text(path, text.getvalue(), durable=False)
    return True


def _curves(
    figure: Picture | Figure,
) -> Iterator[tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]]:
    """The x and y values of every curve, each with its heading."""
    if isinstance(figure, Picture):
        every = [
            (figure.xlabel, panel.ylabel, c.label, c.x, c.y)
            for panel in figure.panels
            for c in panel.curves
            if not c.sketch
        ]
    else:
        every = [
            (axes.get_xlabel(), axes.get_ylabel(), str(line.get_label()), *line.get_data())
            for axes in figure.axes
            for line in axes.get_lines()
        ]
    for across, up, label, x, y in every:
        about = "" if not label or label.startswith("_") else f"{label}: "
        yield (
            (f"{about}{across or 'x'}", np.asarray(x, float)),
            (f"{about}{up or 'y'}", np.asarray(y, float)),
        )


def _unbroken(x: np.ndarray, y: np.ndarray) -> int:
    """Largest number of consecutive points without a gap."""
    gaps = np.flatnonzero(np.r_[True, ~np.isfinite(x + y), True])
    return int(np.diff(gaps).max()) - 1
