"""Figures that several members draw."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.run import Run

SHADES = 9
"""Instants at which a linkage is drawn."""


def styled(draw: Callable[[Run], Figure]) -> Callable[[Run], Figure]:
    """Draw in the style of a run's own plots."""

    @functools.wraps(draw)
    def drawn(run: Run) -> Figure:
        import matplotlib

        from zwang.run.plot import STYLE

        with matplotlib.rc_context(STYLE):
            return draw(run)

    return drawn


def axes_of(xlabel: str, ylabel: str, *, equal: bool = False, size: tuple[float, float] = (6.4, 4.2)):
    """A figure with one pair of axes; lengths to scale if `equal`."""
    from zwang.run.plot import Picture

    figure = Picture(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    return figure, axes


@dataclasses.dataclass(frozen=True)
class Linkage:
    """A figure of bars at a few instants of a run, later ones darker, the last one heavy; the viewer draws the same bars.

    Attributes:
        bars: coordinates (nq,) → ends of all bars, shape (bars, 2 ends, 2).
        unit: unit of lengths.
        until: last instant [s]; the end of the run unless given.
    """

    bars: Callable[[np.ndarray], np.ndarray]
    unit: str = "m"
    until: float | None = None

    def __call__(self, run: Run) -> Figure:
        return styled(self._draw)(run)

    def _draw(self, run: Run) -> Figure:
        from matplotlib.collections import LineCollection

        figure, axes = axes_of(f"x [{self.unit}]", f"y [{self.unit}]", equal=True)
        end = run.t[-1] if self.until is None else min(self.until, run.t[-1])
        instants = np.unique(np.searchsorted(run.t, np.linspace(run.t[0], end, SHADES)).clip(0, len(run.t) - 1))
        for i, sample in enumerate(instants):
            last = i == len(instants) - 1
            shade = 0.12 + 0.6 * i / max(len(instants) - 1, 1)
            ends = np.asarray(self.bars(run.q[sample]))
            style = {"alpha": 1.0, "lw": 2.4} if last else {"alpha": shade, "lw": 1.2}
            axes.add_collection(LineCollection(list(ends), colors="#0072b2", **style))
            if last:
                axes.plot(*ends.reshape(-1, 2).T, "o", ms=4, color="#d55e00")
        axes.autoscale_view()
        axes.set_title(f"t = {run.t[instants[0]]:.3g} … {run.t[instants[-1]]:.3g} s, the last one heavy", loc="left")
        return figure


def curve(x: str, y: str, *, equal: bool = False) -> Callable[[Run], Figure]:
    """A figure of one coordinate or velocity over another, e.g. a path or a phase portrait, with a dot at the start.

    Args:
        x, y: names of coordinates, or of velocities with "d/dt " before them.
        equal: whether lengths are drawn to scale.
    """

    @styled
    def draw(run: Run) -> Figure:
        (across, xlabel), (up, ylabel) = _column(run, x), _column(run, y)
        figure, axes = axes_of(xlabel, ylabel, equal=equal)
        axes.plot(across, up)
        axes.plot(across[0], up[0], "o", ms=5, color="#d55e00", label="start")
        axes.legend(loc="best")
        return figure

    return draw


def paths(points: Callable, labels: Sequence[str], *, axes: Sequence[str] = ("x [m]", "y [m]")):
    """A figure of the paths of points in a plane, to scale.

    Args:
        points: coordinates (samples, nq) → the places (x, y) of each point, arrays; curves asked for may have fewer samples.
        labels: a name for each point.
        axes: names of the two axes.
    """

    @styled
    def draw(run: Run) -> Figure:
        figure, plane = axes_of(*axes, equal=True)
        q = run.steps.y[:, : run.model.system.nq]
        for (x, y), label in zip(points(q), labels, strict=True):
            (line,) = plane.plot(x, y, label=label)
            plane.plot(x[0], y[0], "o", ms=5, color=line.get_color())
        plane.legend(loc="best", title="dot: start", title_fontsize=8)
        return figure

    return draw


def _column(run: Run, name: str) -> tuple[np.ndarray, str]:
    """Values at every accepted step, which are denser than the samples where the motion is fast, and the axis label."""
    system = run.model.system
    if name.startswith("d/dt "):
        i = system.velocities.index(name.removeprefix("d/dt "))
        return run.steps.y[:, system.nq + i], f"{name} [{system.velocity_units[i] or '1'}]"
    i = system.coordinates.index(name)
    return run.steps.y[:, i], f"{name} [{system.units[i] or '1'}]"
