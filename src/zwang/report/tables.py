"""Curves as numbers: a few rows in the page, all of them as CSV files beside it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

ROWS, COLUMNS = 21, 12
"""Most rows and columns of a table in the page."""
MOST_NUMBERS = 2_000_000
"""Above this a CSV file is not written (seconds, and tens of megabytes); run.nc has everything."""


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
        rows = np.unique(np.linspace(0, len(self.time) - 1, min(ROWS, len(self.time))).round().astype(int))
        kept = self.values[rows, :COLUMNS]
        return self.headings[: COLUMNS + 1], [
            [f"{t:.6g}", *(f"{x:.6g}" for x in row)] for t, row in zip(self.time[rows], kept, strict=True)
        ]

    @property
    def note(self) -> str:
        """What the table in the page leaves out."""
        n, k = self.values.shape
        parts = [f"{min(n, ROWS)} of {n} instants"] * (n > ROWS) + [f"{COLUMNS} of {k} columns"] * (k > COLUMNS)
        return ", ".join(parts)

    def save(self, path: Path) -> bool:
        """Write all of it as CSV with 15 digits; whether it was small enough to."""
        if self.values.size > MOST_NUMBERS:
            return False
        quoted = ['"' + heading.replace('"', '""') + '"' for heading in self.headings]
        with path.open("w", encoding="utf-8") as file:
            file.write(",".join(quoted) + "\n")
            np.savetxt(file, np.column_stack([self.time, self.values]), fmt="%.15g", delimiter=",")
        return True
