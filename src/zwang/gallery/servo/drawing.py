"""Figures of controls and of what is tracked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.gallery.drawing import axes_of, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.run import Run


def over_time(ylabel: str, lines: Callable[[Run], Mapping[str, np.ndarray]], *, dashed: Sequence[str] = ()) -> Callable:
    """A figure of lines over time.

    Args:
        ylabel: what is drawn, and its unit in brackets.
        lines: run → values at its samples, by label.
        dashed: labels of lines that are drawn gray and dashed, over the others: what was asked for.
    """

    @styled
    def draw(run: Run) -> Figure:
        from matplotlib.ticker import FuncFormatter

        from zwang.run.plot import INK, legend, number

        figure, axes = axes_of("time [s]", ylabel)
        drawn = lines(run)
        handles = []
        for label, values in drawn.items():
            style = {"color": INK, "ls": (0, (1.5, 2.5)), "lw": 1.6} if label in dashed else {}
            handles += axes.plot(run.t, np.broadcast_to(values, run.t.shape), **style)
        _keep_flat_lines_flat(axes)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: number(x)))
        if len(drawn) > 1:
            legend(axes, handles, list(drawn))
        return figure

    return draw


def controls(ylabel: str, which: Sequence[str] | None = None) -> Callable[[Run], Figure]:
    """A figure of the controls over time, of all actuators or of those named."""

    def lines(run: Run) -> dict[str, np.ndarray]:
        u = run.variables["control"]
        names = [str(name) for name in u.labels["actuator"]]
        return {name: u.values[:, names.index(name)] for name in which or names}

    return over_time(ylabel, lines)


def _keep_flat_lines_flat(axes) -> None:
    """Do not blow up lines that are zero or constant up to round-off to the height of the figure."""
    low, high = axes.get_ylim()
    least = 1e-6 * max(abs(low), abs(high), 1e-3)
    if high - low < least:
        middle = (low + high) / 2
        half = max(abs(middle), 1.0) / 2
        axes.set_ylim(middle - half, middle + half)
