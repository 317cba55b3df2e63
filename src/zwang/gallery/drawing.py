"""Figures that several models of the gallery share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.plots import Curve, Panel, Picture, joined
from zwang.plots.data import HALF, PALETTE

if TYPE_CHECKING:
    from zwang.simulation.results import Run

INSTANT_SHADES = 9
"""Number of instants at which a linkage is drawn."""
PICTURE_HEIGHT = 2.5
"""Height of a picture next to another one [inch]."""


def one(
    curves: Sequence[Curve], xlabel: str, ylabel: str, *, equal: bool = False, **options
) -> Picture:
    """A picture of one panel, half a page wide, to scale if `equal`; `options` are those of
    `Panel`.
    """
    return Picture(
        [Panel(curves, ylabel, **options)], xlabel, width=HALF, height=PICTURE_HEIGHT, equal=equal
    )


@dataclasses.dataclass(frozen=True)
class Linkage:
    """A picture of bars at several instants of a run, with later ones darker and the last one
    thick. The viewer draws the same bars.

    Attributes:
        bars: coordinates (nq,) → ends of all bars, shape (bars, 2 ends, 2).
        unit: unit of lengths.
        until: last instant [s]; the end of the run by default.
    """

    bars: Callable[[np.ndarray], np.ndarray]
    unit: str = "m"
    until: float | None = None

    def __call__(self, run: Run) -> Picture:
        end = run.t[-1] if self.until is None else min(self.until, run.t[-1])
        instants = np.unique(
            np.searchsorted(run.t, np.linspace(run.t[0], end, INSTANT_SHADES)).clip(
                0, len(run.t) - 1
            )
        )
        # the last instant is emphasized, the earlier ones are lighter
        *earlier, last = (np.asarray(self.bars(run.q[sample])) for sample in instants)
        shades = np.linspace(0.12, 0.72, len(instants))
        curves = [
            joined(ends, color=PALETTE[0], width=1.2, alpha=a)
            for ends, a in zip(earlier, shades, strict=False)
        ]
        curves += [joined(last, color=PALETTE[0], width=2.4)]
        curves += [joined([last.reshape(-1, 2)], color=PALETTE[1], width=0, marker="o")]
        heading = f"t = {run.t[instants[0]]:.3g} … {run.t[instants[-1]]:.3g} s, the last one heavy"
        return one(curves, f"x [{self.unit}]", f"y [{self.unit}]", equal=True, heading=heading)


def curve(x: str, y: str, *, equal: bool = False) -> Callable[[Run], Picture]:
    """A picture of one coordinate or velocity over another, e.g. a path or a phase portrait, with a
    dot at the start.

    Args:
        x, y: names of coordinates, or of velocities with "d/dt " before them.
        equal: draw both axes to one scale.
    """

    def draw(run: Run) -> Picture:
        (across, xlabel), (up, ylabel) = _column(run, x), _column(run, y)
        return one([Curve(across, up, dot=True)], xlabel, ylabel, equal=equal, heading="dot: start")

    return draw


def paths(
    points: Callable, labels: Sequence[str], *, axes: Sequence[str] = ("x [m]", "y [m]")
) -> Callable[[Run], Picture]:
    """A picture of the paths of points in a plane, to scale.

    Args:
        points: coordinates (samples, nq) → the positions (x, y) of each point, arrays; prescribed
            curves may have fewer samples.
        labels: a name for each point.
        axes: names of the two axes.
    """

    def draw(run: Run) -> Picture:
        q = run.steps.y[:, : run.model.system.nq]
        curves = [
            Curve(x, y, label, dot=True) for (x, y), label in zip(points(q), labels, strict=True)
        ]
        return one(curves, *axes, equal=True, heading="dot: start")

    return draw


def _column(run: Run, name: str) -> tuple[np.ndarray, str]:
    """Values at every accepted step, which are denser than the samples if the motion is fast, and
    the axis label.
    """
    system = run.model.system
    if name.startswith("d/dt "):
        i = system.velocities.index(name.removeprefix("d/dt "))
        return run.steps.y[:, system.nq + i], f"{name} [{system.velocity_units[i] or '1'}]"
    i = system.coordinates.index(name)
    return run.steps.y[:, i], f"{name} [{system.units[i] or '1'}]"
