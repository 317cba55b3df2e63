"""The page that plays an oscillation of a model between configurations that are not from a run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zwang.errors import Result
from zwang.output.viewer.page import write_view
from zwang.scene import Scene

if TYPE_CHECKING:
    from zwang.dynamics.equation_of_motion import Dynamics
    from zwang.dynamics.model import Model

FRAMES = 121
"""Frames of one period."""


def write_oscillation(
    model: Model,
    dynamics: Dynamics,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    scene: Scene,
    path: Path | str,
    sentence: str,
) -> Path:
    """Write the page of one period.

    Args:
        model, dynamics: the moving model.
        t, q, v: times, coordinates and velocities, shapes (n,), (n, nq), (n, nv).
        scene: the scene; its forces are left out, as nothing acts here.
        path: the HTML file.
        sentence: shown above the picture.
    """
    path, names = Path(path), list(model.constraints.names)
    none = SimpleNamespace(values=np.full((len(t), len(names)), np.nan))
    run = SimpleNamespace(
        model=model,
        name=model.name,
        flow=SimpleNamespace(dynamics=dynamics),
        steps=SimpleNamespace(t=t, y=np.hstack([q, v])),
        q=q,
        t=t,
        variables={
            "constraint": SimpleNamespace(values=names),
            "violation": none,
            "velocity_violation": none,
        },
        result=Result.SUCCESS,
    )
    still = dataclasses.replace(scene, forces=None)
    write_view(cast(Any, run), still, path, description=sentence)
    return path
