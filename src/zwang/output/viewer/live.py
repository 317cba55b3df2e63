"""What a page needs to simulate a model by itself: its steps, and where everything is at any q."""

from __future__ import annotations

from typing import Any

import numpy as np

from zwang.codegen.browser import browser_program
from zwang.errors import ModelError
from zwang.output.viewer.motion import everything
from zwang.scene import Scene
from zwang.simulation.results import Run

MISPLACED = 1e-9
"""Largest error of a place, relative to the largest, that is none."""
NONE = 1e-11
"""Factors below this part of the largest are the round-off of zero."""


def live(run: Run, scene: Scene) -> dict[str, Any]:
    """A run's model as numbers that the page simulates by.

    A place is a sum of products of few functions of q, those of `functions_of`: what is rigid and
    has coordinates of its own is linear in the cosine and sine of its angle, or quadratic in its
    quaternion.

    Raises:
        ModelError: if a model cannot be simulated in a browser, or its scene is of another kind.
    """
    start = run.steps.y[0][: run.model.system.nq], run.steps.y[0][run.model.system.nq :]
    span = float(run.steps.t[-1] - run.steps.t[0])
    program = browser_program(run.model, *start, duration=span, t0=float(run.steps.t[0]))
    known = {"coordinates": run.model.system.nq, "scene": seen_by_functions(run, scene)}
    return {**program.as_data(), **known}


def functions_of(q: np.ndarray) -> np.ndarray:
    """1, qᵢ, cos qᵢ, sin qᵢ and qᵢ qⱼ at n configurations, shape (n, functions)."""
    i, j = np.triu_indices(q.shape[1])
    one = np.ones((len(q), 1))
    return np.concatenate([one, q, np.cos(q), np.sin(q), q[:, i] * q[:, j]], axis=1)


def seen_by_functions(run: Run, scene: Scene) -> list[list[list[float]]]:
    """For each number of places, axes and poses, one after another, its sum of functions: pairs of
    a function's number and its factor.
    """
    rng = np.random.default_rng(0)
    count = 2 * functions_of(run.q[:1]).shape[1] + 20
    around = run.q[rng.integers(len(run.q), size=count)]
    q = around + 0.3 * rng.standard_normal(around.shape)
    known, values = functions_of(q), everything(run, scene, q)
    factors, *_ = np.linalg.lstsq(known, values, rcond=1e-10)
    size = np.max(np.abs(values), initial=1e-300)
    factors[np.abs(factors) <= NONE * np.max(np.abs(factors), initial=0.0)] = 0.0
    if not np.max(np.abs(known @ factors - values), initial=0.0) <= MISPLACED * size:
        raise ModelError(
            f"{run.name}: where its parts are is no sum of cosines and sines of single "
            "coordinates, as a page needs it; write the mechanism in the coordinates of its bodies."
        )
    return [[[int(k), float(x)] for k, x in enumerate(column) if x != 0.0] for column in factors.T]
