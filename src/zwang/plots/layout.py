"""Layout of a picture on the page, in points from its upper left corner."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from zwang.plots.axis import Axis, axis
from zwang.plots.data import Panel, Picture

INCH = 72.0
LEFT_MARGIN, RIGHT_MARGIN, TOP, BOTTOM, GAP, ROW, TITLE = 52.0, 8.0, 7.0, 31.0, 14.0, 12.0, 16.0
"""Margins beside, above and below the data areas, between two of them, for a row of a legend and
for the title [point]; constant, so that the time axes of all pictures are aligned.
"""
TEXT, SMALL_TEXT, TINY_TEXT = 8.5, 8.0, 7.0
"""Font sizes of axes and title, of ticks and legends, of marks [point]."""
DOT, START = 2.5, 6.0
"""Size of an isolated point between gaps, and of the dot at a start [point]."""
LETTER = 0.56
"""Typical width of a letter over its height."""
HANDLE = 19.0
"""Width of the line sample of a legend entry [point]."""
NAMES = 22.0
"""Space between the left edge and the tick labels, for the name of the y axis [point]."""
NAME = 11.5
"""Center of the name of the y axis from the left edge, and baseline of the title from the upper
edge [point].
"""
NOTHING = "zero at every sample"
"""Text in an empty logarithmic panel."""
ACROSS = 44.0
"""Smallest distance of two labels of the x axis [point]."""


@dataclasses.dataclass(frozen=True)
class Place:
    """A panel on the page.

    It has the axes, the upper left corner of the data area, the height of the head, the positions
    of the legend entries relative to that corner, and their number of columns.
    """

    panel: Panel
    x: Axis
    y: Axis
    left: float
    top: float
    head: float
    entries: list[tuple[float, float]]
    columns: int

    @property
    def bottom(self) -> float:
        return self.top + self.y.length

    def points(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """Positions of points on the page."""
        return self.left + self.x.at(x), self.bottom - self.y.at(y)

    @property
    def empty(self) -> bool:
        """Return whether a logarithmic axis has nothing to show."""
        return self.panel.logarithmic and not any(
            (curve.y > 0).any() for curve in self.panel.curves
        )


@dataclasses.dataclass(frozen=True)
class Layout:
    """Size of the page, begin of its title, and its panels from top to bottom."""

    width: float
    height: float
    left: float
    places: list[Place]


def layout(picture: Picture) -> Layout:
    """Place every panel, with space for the legends."""
    width, height = picture.width * INCH, picture.height * INCH
    ups = [up(panel, height) for panel in picture.panels]
    # One left edge for all panels aligns their time axes.
    left = max([LEFT_MARGIN, *(NAMES + wide(text) for y in ups for _, text in y.ticks())])
    across = [curve.x for panel in picture.panels for curve in panel.curves]
    x = axis(
        np.concatenate(across or [[]]),
        width - left - RIGHT_MARGIN,
        logarithmic=picture.logarithmic,
        apart=ACROSS,
        most=12,
    )
    if picture.equal:
        # At the coarsest scale, widening the other axes cuts nothing off.
        scale = max(a.scale for a in (x, *ups))
        x, ups = x.widened(scale), [y.widened(scale) for y in ups]
    places, top = [], TITLE * bool(picture.title)
    for panel, y in zip(map(headed, picture.panels, ups), ups, strict=True):
        entries, columns = legend([c.label for c in panel.curves if c.label], x.length)
        heading = ROW * bool(panel.heading)
        # Legends are above the data, so that they never cover a curve.
        head = TOP + heading + (entries[-1][1] + ROW if entries else 0)
        entries = [(x_, y_ + heading - head) for x_, y_ in entries]
        places.append(Place(panel, x, y, left, top + head, head, entries, columns))
        top += head + height + GAP
    return Layout(width, top - GAP + BOTTOM, left, places)


def up(panel: Panel, height: float) -> Axis:
    """The y axis of a panel."""
    values = np.concatenate([curve.y for curve in panel.curves] or [[]])
    return axis(
        values,
        height,
        limits=panel.limits,
        logarithmic=panel.logarithmic,
        whole=panel.whole,
        shifted=True,
    )


def headed(panel: Panel, y: Axis) -> Panel:
    """The panel with a remark on the number that its labels are relative to, if that is not 0."""
    if not y.base:
        return panel
    remark = f"shown relative to {y.base:.15g}".replace("-", "−")
    return dataclasses.replace(
        panel, heading=f"{panel.heading}; {remark}" if panel.heading else remark
    )


def legend(labels: Sequence[str], room: float) -> tuple[list[tuple[float, float]], int]:
    """Positions of legend entries in as few rows as possible, and the number of columns."""
    widths = [HANDLE + wide(text) + 11 for text in labels]
    for rows in range(1, len(labels) + 1):
        # the fewest rows into which the widest columns fit
        columns = -(-len(labels) // rows)
        starts = np.cumsum([0.0] + [max(widths[i::columns]) for i in range(columns)])
        if starts[-1] <= room or columns == 1:
            return [
                (float(starts[i % columns]), ROW * (i // columns)) for i in range(len(labels))
            ], columns
    return [], 0


def wide(text: str, size: float = SMALL_TEXT) -> float:
    """Estimate the width of a text [point]."""
    return LETTER * size * len(text)


def fitting(text: str, room: float, size: float = SMALL_TEXT) -> str:
    """Truncate a text to the available width."""
    most = max(int(room / (LETTER * size)), 2)
    return text if len(text) <= most else text[: most - 1] + "…"
