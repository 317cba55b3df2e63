"""Positions of names in a panel where they cover neither curves nor each other."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from zwang.plots.layout import RIGHT_MARGIN, SMALL_TEXT, TINY_TEXT, Place, wide
from zwang.plots.points import fewer

LINE = 1.15
"""Distance between two lines of a text, relative to its size."""
ASCENT, DESCENT = 0.75, 0.2
"""Height above and depth below the baseline, relative to the size of a text."""
CLEAR = 1.5
"""Least distance of a name from a curve, and spacing of the points that represent a curve [point].
"""
BLOCKED = 1e4
"""Cost of a position where a name covers another or leaves the panel, in covered points."""
FAR = 6.0
"""Distance from the preferred position that costs as much as a covered point [point]."""
CROSSED = 0.1
"""Cost of a covered point of the vertical line of a mark, in covered points of a curve."""


@dataclasses.dataclass(frozen=True)
class Name:
    """A text in a panel.

    Attributes:
        text, color, size: as drawn; lines are separated by "\\n".
        x, y: the named point, in the units of the axes; with y None it is at the upper edge.
        right, up: position of the first baseline relative to the named point [point]: of its
            beginning, or of its end if `right` is negative.
    """

    text: str
    color: str
    size: float
    x: float
    y: float | None
    right: float
    up: float

    @property
    def side(self) -> str:
        """The end of the text that is at its position, as in SVG: "start" or "end"."""
        return "end" if self.right < 0 else "start"


def names(at: Place) -> list[Name]:
    """Place the names of labels and of marks, each at the best of its possible positions."""
    curves = np.concatenate(
        [_points(*fewer(*at.points(c.x, c.y))) for c in at.panel.drawn] or [np.zeros((0, 2))]
    )
    height = np.arange(at.top, at.bottom, CLEAR)
    across = [x for mark in at.panel.marks for x in at.left + at.x.at(mark.x)]
    lines = np.array(list(itertools.product(across, height))).reshape(-1, 2)
    points = np.concatenate([curves, lines])
    weights = np.repeat([1.0, CROSSED], [len(curves), len(lines)])
    chosen: list[Name] = []
    taken = np.zeros((0, 4))
    for possible in _possible(at):
        boxes = np.array([_box(at, name) for name in possible])
        left, top, right, bottom = np.moveaxis(boxes[:, None], -1, 0)
        inside = (
            (points[:, 0] > left - CLEAR)
            & (points[:, 0] < right + CLEAR)
            & (points[:, 1] > top - CLEAR)
            & (points[:, 1] < bottom + CLEAR)
        )
        a, b, c, d = taken.T
        over = (a < right) & (c > left) & (b < bottom) & (d > top)
        beyond = (left < at.left) | (right > at.left + at.x.length + RIGHT_MARGIN)
        beyond |= (top < at.top - at.head) | (bottom > at.bottom)
        far = np.abs([name.up - possible[0].up for name in possible])
        cost = inside @ weights + far / FAR + BLOCKED * (over.sum(axis=1) + beyond[:, 0])
        best = int(np.argmin(cost))
        chosen.append(possible[best])
        taken = np.vstack([taken, boxes[best]])
    return chosen


def _possible(at: Place) -> Iterator[list[Name]]:
    """Possible positions of each name, the preferred one first."""
    for label in at.panel.labels:
        right, up = label.shift
        x, y = (float(c) for c in label.point)
        below = -abs(up) - ASCENT * SMALL_TEXT
        near = (abs(up), below) if up >= 0 else (up, abs(up))
        ups = [y + np.copysign(SMALL_TEXT * k, y) for k in range(4) for y in near]
        ups = [up] if label.row else ups
        sides = (right, -max(right, CLEAR))
        yield [
            Name(label.text, label.color, SMALL_TEXT, x, y, side, float(height))
            for height in ups
            for side in sides
        ]
    for mark in at.panel.marks:
        for x, text in zip(np.asarray(mark.x, float), mark.names, strict=False):
            rows = len(text.split("\n"))
            step = TINY_TEXT * LINE
            heights = 1 + TINY_TEXT + step * np.arange(max(1, int(at.y.length / step) - rows))
            yield [
                Name(text, mark.color, TINY_TEXT, float(x), None, side, -float(down))
                for down in heights
                for side in (3.0, -3.0)
            ]


def position(at: Place, name: Name) -> tuple[float, float]:
    """Where the first baseline begins, or ends, on the page."""
    x = at.left + float(at.x.at(name.x)) + name.right
    y = (at.top if name.y is None else at.bottom - float(at.y.at(name.y))) - name.up
    return x, y


def _box(at: Place, name: Name) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a text on the page."""
    x, y = position(at, name)
    rows = name.text.split("\n")
    width = max(wide(row, name.size) for row in rows)
    left = x - width if name.right < 0 else x
    bottom = y + name.size * (DESCENT + LINE * (len(rows) - 1))
    return left, y - ASCENT * name.size, left + width, bottom


def _points(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Points on the visible part of a line, at most `CLEAR` apart, shape (n, 2)."""
    if len(x) < 2:
        return np.column_stack([x, y])
    right, down = np.diff(x), np.diff(y)
    length = np.nan_to_num(np.hypot(right, down), nan=0.0, posinf=0.0)
    pieces = np.clip(np.ceil(length / CLEAR), 1, 1000).astype(int)
    i = np.repeat(np.arange(len(pieces)), pieces)
    part = (np.arange(len(i)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[i]
    ends = np.column_stack([x[-1:], y[-1:]])
    return np.vstack([np.column_stack([x[i] + part * right[i], y[i] + part * down[i]]), ends])
