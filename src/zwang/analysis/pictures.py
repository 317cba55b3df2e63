"""Pictures of analyses: eigenvalues in the complex plane, branches over their parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.plots import Curve, Label, Panel, Picture

if TYPE_CHECKING:
    from zwang.analysis.continuation import Continuation

MOST_CURVES = 4


def eigenvalue_picture(values: Sequence[np.ndarray], labels: Sequence[str], title: str) -> Picture:
    """Sets of eigenvalues in the complex plane, a marker each."""
    curves = [
        Curve(np.real(x), np.imag(x), label if len(values) > 1 else "", width=0.0, marker="o")
        for x, label in zip(values, labels, strict=True)
    ]
    extent = max((float(np.max(np.abs(np.imag(x)), initial=0.0)) for x in values), default=0.0)
    axis = 1.1 * extent if extent else 1.0
    curves.append(Curve([0.0, 0.0], [-axis, axis], color="#59636e", width=0.8, sketch=True))
    return Picture(
        [Panel(curves, "imaginary part [1/s]", limits=(-axis, axis))],
        xlabel="real part [1/s]",
        title=title,
        height=3.0,
    )


PARTS: tuple[tuple[str, bool | None, dict[str, Any]], ...] = (
    ("stable", True, {"color": "#0072b2"}),
    ("unstable", False, {"color": "#d55e00", "dash": (5.2, 2.0)}),
    ("open", None, {"color": "#6e7781", "dash": (1.2, 2.0)}),
)
"""Parts of a branch by verdict, and their lines."""


def branch_picture(branch: Continuation, coordinates: Sequence[str]) -> Picture:
    """Coordinates over the parameter: stable parts drawn through, unstable ones dashed, parts whose
    verdict is open dotted.
    """
    system = branch.model.system
    names = list(system.coordinates)
    chosen = [names.index(x) for x in coordinates]
    if not chosen:
        spread = np.ptp(branch.q, axis=0)
        chosen = sorted(np.argsort(-spread, kind="stable")[:MOST_CURVES])
    panels = []
    for i in chosen:
        q = branch.q[:, i]
        # a segment belongs to the part of its first point
        on = lambda kept, q=q: np.where(kept | np.roll(kept, 1), q, np.nan)
        curves = []
        for name, verdict, style in PARTS:
            kept = np.array([point.stable is verdict for point in branch.points])
            if np.any(kept):
                curves.append(Curve(branch.values, on(kept), name, **style))
        if branch.special:
            at = [x.value for x in branch.special], [x.q[i] for x in branch.special]
            curves.append(Curve(*at, width=0.0, marker="s", color="#8250df"))
        # a label at the top of a panel would stand in the legend
        middle = 0.5 * (np.min(q) + np.max(q))
        below = [x.q[i] > middle for x in branch.special]
        labels = [
            Label((x.value, x.q[i]), x.kind, shift=(5.0, -11.0 if under else 5.0))
            for x, under in zip(branch.special, below, strict=True)
        ]
        unit = f" [{system.units[i]}]" if system.units[i] else ""
        panels.append(Panel(curves, f"{names[i]}{unit}", labels=labels))
    return Picture(panels, xlabel=branch.over, title=branch.model.name)
