"""The page that plays a free motion of a model from a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.errors import ModelError
from zwang.inputs.arguments import number
from zwang.inputs.arrays import vector
from zwang.output.viewer.oscillation import FRAMES, write_oscillation
from zwang.scene import Scene

if TYPE_CHECKING:
    from zwang.dynamics.model import Model

PERIOD = 2.0
"""Period of the motion on the page [s]."""
ASIDE = 0.5
"""Largest distance of a configuration from the straight line, relative to the distance along it."""


def write_free_motion(
    model: Model,
    q,
    direction,
    scene: Scene,
    path: Path | str,
    *,
    name: str = "free motion",
    t: float = 0.0,
    params: PyTree = None,
    amplitude: float = 0.1,
) -> Path:
    """Write a page on which a model oscillates along a direction that its constraints allow.

        q(τ) = q ⊕ amplitude sin(2πτ) direction, projected onto φ = 0

    If there is no configuration on the constraints nearby, as along a direction that rows of lost
    rank leave free to first order only, the page shows the straight line and says so.

    Args:
        model: the model.
        q: the configuration, shape (nq,).
        direction: velocities, shape (nv,): `zw.check(model, q).free_motions[i].direction` or
            `zw.analysis.branches(model, q)[i].tangent`.
        scene: the scene, such as `zw.gallery.load(name).scene`.
        path: the HTML file.
        name: of the motion, on the page.
        t: time [s], of a model whose constraints depend on it.
        params: parameters that differ from the model's.
        amplitude: of the velocity that is largest in the direction, in the unit of its coordinate.

    Raises:
        ModelError: for a direction that is zero, or a scene that does not fit the model.
    """
    # `zwang view` imports this file, but does not need the solver of equations.
    from zwang.analysis.constrained_state import dynamics_of, on_constraints

    amplitude = number(amplitude, "write_free_motion: amplitude")
    model = model.passive
    along = np.asarray(vector(direction, model.system.nv, "direction"))
    if not np.any(along):
        raise ModelError("write_free_motion: the direction is zero, so that nothing moves.")
    dynamics, start = dynamics_of(model, params), jnp.asarray(q, float)
    along = amplitude * along / np.max(np.abs(along))
    turns = np.linspace(0.0, 1.0, FRAMES)
    shown, met = [], True
    for phase in _swing(turns):
        line = np.asarray(dynamics.system.move(start, phase * along, t, dynamics.p))
        near = on_constraints(dynamics, line, 0 * along, t) if met else None
        # A configuration that is projected back to the start does not follow the direction.
        met = near is not None and bool(
            np.linalg.norm(np.asarray(near.q) - line) <= ASIDE * np.linalg.norm(line - start)
        )
        shown.append(line if near is None else np.asarray(near.q))
    if not met:  # All frames are treated alike, or the picture would jump.
        lines = (dynamics.system.move(start, s * along, t, dynamics.p) for s in _swing(turns))
        shown = [np.asarray(x) for x in lines]
    v = 2 * np.pi / PERIOD * np.cos(2 * np.pi * turns)[:, None] * along
    sentence = f"{name}, amplitude {amplitude:g}" + (
        "." if met else ", to first order: no motion on the constraints follows this direction."
    )
    return write_oscillation(
        model, dynamics, PERIOD * turns, np.array(shown), v, scene, path, sentence
    )


def _swing(turns: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * turns)
