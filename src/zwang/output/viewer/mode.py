"""The page that plays one mode of a linearization instead of a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zwang.arguments import number
from zwang.errors import Result
from zwang.output.viewer.page import write_view
from zwang.scene import Scene

if TYPE_CHECKING:
    from zwang.analysis.modes import Modes

FRAMES = 121
SHORTEST_PERIOD, LONGEST_PERIOD = 0.5, 8.0
"""Least and greatest length of a period on the page [s]; others are shown as 2 s."""


def write_mode(
    modes: Modes, scene: Scene, path: Path | str, *, mode: int = 0, amplitude: float = 0.1
) -> Path:
    """Write a page that plays one mode about the state that it belongs to, without growth or decay.

    Args:
        modes: of a linearization.
        scene: what there is to see, such as `zw.gallery.load(name).scene`.
        path: the HTML file.
        mode: which one, as printed.
        amplitude: of the coordinate that moves most, in its own unit.

    Raises:
        ModelError: for a mode that does not exist, or a scene that does not fit the model.
    """
    number(amplitude, "amplitude")
    at, path = modes.linearization, Path(path)
    turns = np.linspace(0.0, 1.0, FRAMES)
    q = modes.motion(mode, turns, amplitude)
    shown = modes[mode]
    period = 1 / shown.frequency if shown.frequency else 2.0
    period = period if SHORTEST_PERIOD <= period <= LONGEST_PERIOD else 2.0
    rate = modes.motion(mode, turns + 0.25, amplitude) - at.q
    v = (2 * np.pi / period) * rate @ np.linalg.pinv(at.here.local.N).T
    names = list(at.model.constraints.names)
    none = SimpleNamespace(values=np.full((FRAMES, len(names)), np.nan))
    run = SimpleNamespace(
        model=at.model,
        name=at.model.name,
        flow=SimpleNamespace(dynamics=at.here.dynamics),
        steps=SimpleNamespace(t=period * turns, y=np.hstack([q, v])),
        q=q,
        t=period * turns,
        variables={
            "constraint": SimpleNamespace(values=names),
            "violation": none,
            "velocity_violation": none,
        },
        result=Result.SUCCESS,
    )
    pair = f" ± {shown.eigenvalue.imag:.4g}i" if shown.eigenvalue.imag else ""
    sentence = f"Mode {mode}: eigenvalue {shown.eigenvalue.real:.4g}{pair} 1/s, {shown.kind}."
    still = dataclasses.replace(scene, forces=None)
    write_view(cast(Any, run), still, path, description=sentence)
    return path
