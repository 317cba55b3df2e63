"""Content of a picture: curves, marks and labels in panels above each other."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.errors import ModelError
from zwang.files import write_bytes, write_text
from zwang.files.reading import file_name, refuse_no_folder, shown_path
from zwang.plots import script

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, RULE, MARK = "#1f2328", "#59636e", "#d8dee4", "#8250df"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colors of Okabe and Ito, distinct for all kinds of color vision; from the seventh curve on lines
are dashed.
"""
DASHED = (5.2, 2.0)
WIDTH, HALF = 9.2, 4.7
"""Width of a picture over the full page, and of one of two side by side [inch]."""
PANEL = 1.75
"""Height of a panel [inch]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """A line through points, with a gap wherever a coordinate is not finite.

    Attributes:
        x, y: shape (n,), in the units of the axes; a scalar means n equal values.
        label: in the legend, which has curves with labels only.
        color: as in CSS, e.g. "#0072b2"; the next of `PALETTE` by default.
        width: of the line [point]; 0 for markers alone.
        dash: lengths of dashes and gaps in turn [point]; a continuous line by default.
        alpha: from 0, transparent, to 1, opaque.
        marker: at every point: "o", "s" or "^".
        size: of the markers [point].
        dot: whether a dot marks the first point.
        sketch: whether it only shows the shape of an object, whose points are not data.
    Raises:
        ModelError: if x and y have different lengths, or a marker is unknown.
    """

    x: Any  # anything that converts to an array
    y: Any
    label: str = ""
    color: str = ""
    width: float = 1.3
    dash: Sequence[float] = ()
    alpha: float = 1.0
    marker: str = ""
    size: float = 5.0
    dot: bool = False
    sketch: bool = False

    def __post_init__(self):
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        if max(x.ndim, y.ndim) != 1 or (x.ndim == y.ndim and x.shape != y.shape):
            raise ModelError(
                f"curve {self.label!r}: x has shape {x.shape} and y {y.shape}, expected (n,) "
                "for both."
            )
        if self.marker not in ("", "o", "s", "^"):
            raise ModelError(
                f"curve {self.label!r}: marker {self.marker!r}, expected 'o', 's', '^' or ''."
            )
        x, y = np.broadcast_arrays(x, y)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)


@dataclasses.dataclass(frozen=True, eq=False)
class Mark:
    """Vertical lines over the height of a panel, behind the curves.

    Attributes:
        x: their positions.
        names: the label of each, or none.
        color, dash: as of a `Curve`.
    """

    x: Sequence[float]
    names: Sequence[str] = ()
    color: str = MUTED
    dash: Sequence[float] = (4.5, 1.8)


@dataclasses.dataclass(frozen=True, eq=False)
class Label:
    """Text that begins at a point, in the units of the axes.

    `shift` moves it to the right and up [point]. Where it would cover something there, it moves
    to another side of the point, unless it names a row, in which it stays.
    """

    point: Sequence[float] | np.ndarray
    text: str
    color: str = INK
    shift: tuple[float, float] = (0.0, 0.0)
    row: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Panel:
    """Curves over a common axis.

    Attributes:
        curves: later ones are drawn over earlier ones.
        ylabel: name of the y axis, with its unit in brackets.
        logarithmic: whether the y axis is; values that are not positive are left out.
        limits: lowest and highest value of that axis; None for the extent of the curves.
        whole: whether its ticks are integers.
        heading: a remark above the legend.
        marks, labels: further lines and texts.
    Raises:
        ModelError: if a limit of a logarithmic axis is not positive.
    """

    curves: Sequence[Curve]
    ylabel: str
    logarithmic: bool = False
    limits: tuple[float | None, float | None] = (None, None)
    whole: bool = False
    heading: str = ""
    marks: Sequence[Mark] = ()
    labels: Sequence[Label] = ()

    def __post_init__(self):
        if self.logarithmic and any(limit is not None and limit <= 0 for limit in self.limits):
            raise ModelError(
                f"panel {self.ylabel!r}: limits {self.limits} on a logarithmic axis, expected "
                "positive ones or None."
            )

    @property
    def drawn(self) -> list[Curve]:
        """The curves, with default colors and dashes filled in."""
        made, turn = [], 0
        for curve in self.curves:
            if not curve.color:
                own = {"color": PALETTE[turn % len(PALETTE)]}
                own |= {"dash": DASHED} if turn // len(PALETTE) % 2 and not curve.dash else {}
                curve, turn = dataclasses.replace(curve, **own), turn + 1
            made.append(curve)
        return made


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """Panels above each other with a common x axis; a notebook shows it.

    Attributes:
        panels: from top to bottom.
        xlabel: name of the x axis, with its unit in brackets.
        title: above all panels.
        width, height: of the picture, `WIDTH` or `HALF`, and of each panel's data area [inch].
        logarithmic: whether the x axis is.
        equal: whether x and y have one scale.
    Raises:
        ModelError: if scales are to be equal and an axis is logarithmic.
    """

    panels: Sequence[Panel]
    xlabel: str = "time [s]"
    title: str = ""
    width: float = WIDTH
    height: float = PANEL
    logarithmic: bool = False
    equal: bool = False

    def __post_init__(self):
        if self.equal and (self.logarithmic or any(panel.logarithmic for panel in self.panels)):
            raise ModelError(
                "picture: equal=True with a logarithmic axis, which has no lengths; leave one "
                "of them out."
            )

    def figure(self) -> Figure:
        """Convert it to a matplotlib figure."""
        from zwang.plots.figure import figure

        script.seen(self)
        return figure(self)

    def show(self) -> None:
        """Open it in the web browser, and print its path."""
        script.show([self])

    def save(self, path: str | Path) -> Path:
        """Write it as `.svg`, or by matplotlib in another of its formats such as `.png` and `.pdf`.

        The file is written atomically.

        Raises:
            ModelError: for another file name extension, or a folder that does not exist.
            OutputError: if the file cannot be written; an earlier one is unchanged.
        """
        path = file_name(path, "save: path")
        refuse_no_folder(path)
        script.seen(self)
        if path.suffix == ".svg":
            write_text(path, self._repr_svg_())
            return path
        figure, data = self.figure(), io.BytesIO()
        known = figure.canvas.get_supported_filetypes()
        ending = path.suffix[1:].lower()
        if ending not in known:
            raise ModelError(
                f"cannot save {shown_path(path)}: the ending {path.suffix!r:.40} names no format; "
                f"expected one of {', '.join(f'.{x}' for x in sorted(known))}."
            )
        figure.savefig(data, format=ending)
        write_bytes(path, data.getvalue())
        return path

    savefig = save
    """The same method under the name that matplotlib's figures have."""

    def _repr_svg_(self) -> str:
        from zwang.plots.svg import svg

        return svg(self)


def projected(places: np.ndarray, azimuth: float, elevation: float) -> np.ndarray:
    """Project points in space, shape (..., 3), in parallel along a direction [rad].

    Returns coordinates to the right and up, shape (..., 2).
    """
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    up = np.array(
        [
            -np.cos(azimuth) * np.sin(elevation),
            -np.sin(azimuth) * np.sin(elevation),
            np.cos(elevation),
        ]
    )
    return places @ np.stack([right, up], axis=1)


def joined(lines: Iterable[np.ndarray], **style) -> Curve:
    """Join several lines, shapes (n_i, 2), to one curve with gaps; `style` is that of `Curve`."""
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([part for line in lines for part in (line, gap)] or [gap])[:-1]
    return Curve(*points.T, **style)
