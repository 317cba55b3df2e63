"""The page that plays one mode of a linearization."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.inputs.arguments import number
from zwang.output.viewer.oscillation import FRAMES, write_oscillation
from zwang.scene import Scene

if TYPE_CHECKING:
    from zwang.analysis.modes import Modes

SHORTEST_PERIOD, LONGEST_PERIOD = 0.5, 8.0
"""Least and greatest period on the page [s]; other periods are shown as 2 s."""


def write_mode(
    modes: Modes, scene: Scene, path: Path | str, *, mode: int = 0, amplitude: float = 0.1
) -> Path:
    """Write a page that plays one mode about its state, without growth or decay.

    Args:
        modes: of a linearization.
        scene: the scene, such as `zw.gallery.load(name).scene`.
        path: the HTML file.
        mode: its number, as printed.
        amplitude: of the coordinate that moves most, in its own unit.

    Raises:
        ModelError: for a mode that does not exist, or a scene that does not fit the model.
    """
    number(amplitude, "amplitude")
    at = modes.linearization
    turns = np.linspace(0.0, 1.0, FRAMES)
    q = modes.motion(mode, turns, amplitude)
    shown = modes[mode]
    period = 1 / shown.frequency if shown.frequency else 2.0
    period = period if SHORTEST_PERIOD <= period <= LONGEST_PERIOD else 2.0
    rate = modes.motion(mode, turns + 0.25, amplitude) - at.q
    v = (2 * np.pi / period) * Decomposition(at.here.local.N).solve(rate.T).T
    pair = f" ± {shown.eigenvalue.imag:.4g}i" if shown.eigenvalue.imag else ""
    sentence = f"Mode {mode}: eigenvalue {shown.eigenvalue.real:.4g}{pair} 1/s, {shown.kind}."
    dynamics = at.here.dynamics
    return write_oscillation(at.model, dynamics, period * turns, q, v, scene, path, sentence)
