"""Figures of controls and of tracked quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.gallery.drawing import one
from zwang.plots import Curve, Picture
from zwang.plots.data import INK

if TYPE_CHECKING:
    from zwang.simulation.results import Run


def over_time(
    ylabel: str, lines: Callable[[Run], Mapping[str, np.ndarray]], *, dashed: Sequence[str] = ()
) -> Callable:
    """A picture of lines over time.

    Args:
        ylabel: name of the quantity, with its unit in brackets.
        lines: run → values at its samples, by label.
        dashed: labels of prescribed values, drawn dark and dotted over the others.
    """

    def draw(run: Run) -> Picture:
        drawn = lines(run)
        asked = {"color": INK, "dash": (2.4, 4.0), "width": 1.6}
        curves = [
            Curve(
                run.t, values, label if len(drawn) > 1 else "", **(asked if label in dashed else {})
            )
            for label, values in drawn.items()
        ]
        return one(
            curves,
            "time [s]",
            ylabel,
            limits=_around_flat_lines(np.concatenate([curve.y for curve in curves])),
        )

    return draw


def controls(ylabel: str, which: Sequence[str] | None = None) -> Callable[[Run], Picture]:
    """A picture of the controls over time, of all actuators or of those named."""

    def lines(run: Run) -> dict[str, np.ndarray]:
        u = run.variables["control"]
        names = [str(name) for name in u.labels["actuator"]]
        return {name: u.values[:, names.index(name)] for name in which or names}

    return over_time(ylabel, lines)


def _around_flat_lines(values: np.ndarray) -> tuple[float | None, float | None]:
    """Axis limits that do not magnify lines which are zero or constant up to round-off."""
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if high - low >= 1e-6 * max(abs(low), abs(high), 1e-3):
        return None, None
    middle = (low + high) / 2
    half = max(abs(middle), 1.0) / 2
    return middle - half, middle + half
