"""Figures of a paper redrawn: lines over a common axis, with the paper's number in the title."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zwang.output.report.figures import Chart
from zwang.plots import Curve, Panel, Picture
from zwang.plots.data import WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.gallery import Example
    from zwang.simulation.results import Run

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
        key: identifier in the page; `title`: the paper's number and what it shows; `caption`: what
            to see.
        axes: labels with units, across and up.
        lines: label → values across and up.
        logarithmic: whether the axis that goes up is.
        path: whether lines are paths in a plane, drawn to scale with a dot at their start.
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
    return Chart(
        key, title, caption, Picture([panel], axes[0], height=3.8 if path else 2.8, equal=path), {}
    )


def across_the_page(picture: Picture | Figure) -> Picture | Figure:
    """A picture that was made to stand beside another, as wide as the page."""
    return (
        dataclasses.replace(picture, width=WIDTH, height=2.8)
        if isinstance(picture, Picture)
        else picture
    )


def figures_of(example: Example, run: Run, prefix: str, wanted: Mapping[str, str]) -> list[Chart]:
    """Figures that a gallery member draws of its run: those of `wanted`, its title → the title
    here.
    """
    drawn = [(title, example.figures[name](run)) for name, title in wanted.items()]
    return [
        Chart(f"{prefix}{i}", title, f"Drawn by zwang run {prefix}.", across_the_page(picture), {})
        for i, (title, picture) in enumerate(drawn, start=1)
    ]
