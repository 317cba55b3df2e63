"""Figures of a paper redrawn: lines over a common axis, with the paper's number in the title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib
import numpy as np

from zwang.gallery.drawing import axes_of
from zwang.report.figures import Chart
from zwang.run.plot import STYLE, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.gallery import Example
    from zwang.run import Run

LEAST = 1e-17
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
        key: identifier in the page; `title`: the paper's number and what it shows; `caption`: what to see.
        axes: labels with units, across and up.
        lines: label → values across and up.
        logarithmic: whether the axis that goes up is.
        path: whether lines are paths in a plane, drawn to scale with a dot at their start.
    """
    with matplotlib.rc_context(STYLE):
        return Chart(key, title, caption, _draw(axes, lines, logarithmic, path), {})


def _draw(axes: tuple[str, str], lines: Mapping[str, tuple], logarithmic: bool, path: bool) -> Figure:
    figure, plane = axes_of(*axes, equal=path, size=(9.2, 4.6 if path else 3.4))
    handles = []
    for x, y in lines.values():
        handles += plane.plot(x, np.maximum(y, LEAST) if logarithmic else y)
        if path:
            plane.plot(x[0], y[0], "o", ms=5, color=handles[-1].get_color())
    if logarithmic:
        plane.set_yscale("log")
    if len(lines) > 1:
        legend(plane, handles, list(lines))
    return figure


def figures_of(example: Example, run: Run, prefix: str, wanted: Mapping[str, str]) -> list[Chart]:
    """Figures that a gallery member draws of its run: those of `wanted`, its title → the title here."""
    return [
        Chart(f"{prefix}{i}", title, f"Drawn by zwang run {prefix}.", example.figures[name](run), {})
        for i, (name, title) in enumerate(wanted.items(), start=1)
    ]
