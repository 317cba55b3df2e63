"""Redrawn figures of a paper: lines over a common axis, with the paper's number in the title."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zwang.output.report.figures import Chart
from zwang.plots import Curve, Panel, Picture
from zwang.plots.data import DASHED, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.gallery import Example
    from zwang.simulation.results import Run

LINE_WIDTH = 0.008
"""Width of a line relative to the height of its panel; closer lines cover each other."""
HIDDEN_PART = 0.4
"""Share of a line that may be covered by another before it is dashed."""
LEAST_LOGARITHMIC = 1e-17
"""Smallest value on a logarithmic axis; exact zeros are drawn there."""


def curves(
    key: str,
    title: str,
    caption: str,
    axes: tuple[str, str],
    lines: Mapping[str, tuple],
    *,
    logarithmic: bool = False,
    path: bool = False,
) -> Chart:
    """A figure of lines.

    Args:
        key: identifier in the page.
        title: the paper's number and the content.
        caption: a remark on the figure.
        axes: labels of the x and the y axis with units.
        lines: label → values of x and y.
        logarithmic: True for a logarithmic y axis.
        path: True for paths in a plane, drawn to scale with a dot at their start.
    """
    drawn = [
        Curve(
            x,
            np.maximum(y, LEAST_LOGARITHMIC) if logarithmic else y,
            label if len(lines) > 1 else "",
            dot=path,
        )
        for label, (x, y) in lines.items()
    ]
    panel = Panel(drawn, axes[1], logarithmic=logarithmic)
    panel = panel if path else told_apart(panel)
    return Chart(
        key, title, caption, Picture([panel], axes[0], height=3.8 if path else 2.8, equal=path), {}
    )


def told_apart(panel: Panel) -> Panel:
    """A panel in which no curve hides another. Of coinciding curves only the longest is drawn, with
    all their names; a curve that coincides with others over a long range is dashed. x must be
    ascending.
    """
    heights = [_heights(panel, curve) for curve in panel.curves]
    known = np.concatenate([h[np.isfinite(h)] for h in heights])
    allowed = LINE_WIDTH * float(np.ptp(known)) if len(known) else 0.0
    groups: list[list[int]] = []
    dashed = set()
    for i in range(len(heights)):
        shares = [_together(panel.curves, heights, (i, group[0]), allowed) for group in groups]
        if max(shares, default=0) == 1:
            groups[int(np.argmax(shares))].append(i)
            continue
        groups.append([i])
        if max(shares, default=0) > HIDDEN_PART:
            dashed.add(i)
    drawn = []
    for group in groups:
        long = max(group, key=lambda i: np.sum(np.isfinite(heights[i]) * panel.curves[i].x))
        names = "; ".join(panel.curves[i].label for i in group if panel.curves[i].label)
        dash = DASHED if group[0] in dashed else panel.curves[long].dash
        drawn.append(dataclasses.replace(panel.curves[long], label=names, dash=dash))
    return dataclasses.replace(panel, curves=drawn)


def _heights(panel: Panel, curve: Curve) -> np.ndarray:
    """Positions of a curve's points on the y axis; NaN for points that are not shown."""
    y = np.array(curve.y, float)
    if panel.limits[0] is not None:
        y[y < panel.limits[0]] = np.nan
    if panel.logarithmic:
        y = np.log(np.where(y > 0, y, np.nan))
    return y


def _together(curves, heights, pair: tuple[int, int], allowed: float) -> float:
    """The share of the common range of x of two curves in which one covers the other."""
    (i, j), known = pair, [np.isfinite(h) for h in heights]
    a, b = curves[i].x[known[i]], curves[j].x[known[j]]
    if not len(a) or not len(b):
        return 0.0
    x = a[(a >= b.min()) & (a <= b.max())]
    if not len(x):
        return 0.0
    up = [np.interp(x, curves[k].x[known[k]], heights[k][known[k]]) for k in pair]
    return float(np.mean(np.abs(up[0] - up[1]) <= allowed))


def across_the_page(picture: Picture | Figure) -> Picture | Figure:
    """A picture that was made for half a page, enlarged to the width of the page."""
    return (
        dataclasses.replace(picture, width=WIDTH, height=2.8)
        if isinstance(picture, Picture)
        else picture
    )


def figures_of(example: Example, run: Run, prefix: str, wanted: Mapping[str, str]) -> list[Chart]:
    """Figures of a run by a model of the gallery: those in `wanted`, which maps its titles to
    titles here.
    """
    drawn = [(title, example.figures[name](run)) for name, title in wanted.items()]
    return [
        Chart(f"{prefix}{i}", title, f"Drawn by zwang run {prefix}.", across_the_page(picture), {})
        for i, (title, picture) in enumerate(drawn, start=1)
    ]
