"""The interface of all results of analyses: they can be printed, plotted and saved."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint.units import MODEL_UNITS
from zwang.objects.display import present
from zwang.plots import Curve, Label, Panel, Picture
from zwang.simulation.results.plot import most_varying
from zwang.simulation.results.saving import save
from zwang.thresholds import ROUND_OFF

if TYPE_CHECKING:
    import xarray as xr

    from zwang.analysis.continuation import Continuation

TABLES = (".nc", ".csv", ".parquet")
"""File extensions for results that are tables over an input."""
MOST_TABLE_ROWS = 40
"""Largest number of coordinates that are printed; the dataset contains all."""


class AbstractResult(abc.ABC):
    """The result of an analysis, which can be printed, plotted and saved.

    Attributes:
        formats: file extensions in which it can be saved.
    """

    formats: ClassVar[tuple[str, ...]] = (".nc",)

    @property
    @abc.abstractmethod
    def dataset(self) -> xr.Dataset:
        """All quantities by name."""

    def save(self, path: Path | str) -> Path:
        """Write `dataset` as NetCDF (`.nc`), atomically; results over an input also as a table
        (`.csv`, `.parquet`) with units in its heading.

        Raises:
            ModelError: for another extension, or a folder that does not exist.
        """
        return save(self.dataset, path, self.formats)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """HTML for a notebook."""
        return present("notebook_of_result", self)


def dataset_of(
    model: Model, variables: Mapping, coords: Mapping | None = None, **attrs: object
) -> xr.Dataset:
    """Variables of a model by name, with the names of coordinates and velocities along their
    axes.
    """
    import xarray as xr

    made = xr.Dataset(variables, coords, {"model": model.name, **attrs})
    names = {"coordinate": model.system.coordinates, "velocity": model.system.velocities}
    return made.assign_coords({axis: list(x) for axis, x in names.items() if axis in made.dims})


def with_unit(name: str, unit: str) -> str:
    """The label of an axis with its unit."""
    return f"{name} [{unit or MODEL_UNITS}]"


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells, aligned in columns and indented."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip()


def shortened(rows: list[Sequence[str]], what: str) -> Iterable[str]:
    """The first rows, and the number of those left out."""
    yield from table(rows[: MOST_TABLE_ROWS + 1])
    if len(rows) > MOST_TABLE_ROWS + 1:
        yield f"  and {len(rows) - MOST_TABLE_ROWS - 1} more {what}"


def rounded(x: float) -> str:
    """A number with nine digits; round-off relative to one is shown as 0."""
    return f"{x if abs(x) > ROUND_OFF else 0.0:.9g}"


def eigenvalue_picture(values: Sequence[np.ndarray], labels: Sequence[str], title: str) -> Picture:
    """Sets of eigenvalues in the complex plane, with a different marker each."""
    curves = [
        Curve(np.real(x), np.imag(x), label if len(values) > 1 else "", width=0.0, marker="o")
        for x, label in zip(values, labels, strict=True)
    ]
    extent = max((float(np.max(np.abs(np.imag(x)), initial=0.0)) for x in values), default=0.0)
    axis = 1.1 * extent if extent else 1.0
    curves.append(Curve([0.0, 0.0], [-axis, axis], color="#59636e", width=0.8, sketch=True))
    return Picture(
        [Panel(curves, "imaginary part [1/s]", limits=(-axis, axis))],
        xlabel="real part [1/s]",
        title=title,
        height=3.0,
    )


PARTS: tuple[tuple[str, bool | None, str, tuple[float, ...]], ...] = (
    ("stable", True, "#0072b2", ()),
    ("unstable", False, "#d55e00", (5.2, 2.0)),
    ("open", None, "#6e7781", (1.2, 2.0)),
)
"""Verdicts on parts of a branch, with the color and dashes of their lines."""


def branch_picture(branch: Continuation, coordinates: Sequence[str]) -> Picture:
    """Coordinates over the parameter: stable parts solid, unstable parts dashed, undecided parts
    dotted.
    """
    system = branch.model.system
    names = list(system.coordinates)
    chosen = [names.index(x) for x in coordinates]
    panels = []
    for i in chosen or most_varying(branch.q, 4):
        q = branch.q[:, i]
        # a segment belongs to the part of its first point
        on = lambda kept, q=q: np.where(kept | np.roll(kept, 1), q, np.nan)
        curves = []
        for name, verdict, color, dash in PARTS:
            kept = np.array([point.stable is verdict for point in branch.points])
            if np.any(kept):
                curves.append(Curve(branch.values, on(kept), name, color=color, dash=dash))
        if branch.special:
            at = [x.value for x in branch.special], [x.q[i] for x in branch.special]
            curves.append(Curve(*at, width=0.0, marker="s", color="#8250df"))
        # a label at the top of a panel would overlap the legend
        middle = 0.5 * (np.min(q) + np.max(q))
        below = [x.q[i] > middle for x in branch.special]
        labels = [
            Label((x.value, x.q[i]), x.kind, shift=(5.0, -11.0 if under else 5.0))
            for x, under in zip(branch.special, below, strict=True)
        ]
        unit = f" [{system.units[i]}]" if system.units[i] else ""
        panels.append(Panel(curves, f"{names[i]}{unit}", labels=labels))
    return Picture(panels, xlabel=branch.over, title=branch.model.name)
