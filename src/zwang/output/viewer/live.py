"""Data for a page that simulates a model: its step as a program, and its scene at any q."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies.rotation import rotation_matrix
from zwang.codegen.browser import browser_program
from zwang.codegen.names import shapes
from zwang.errors import ModelError
from zwang.output.viewer.motion import everything, in_page, upright
from zwang.scene import Scene
from zwang.simulation.results import Run

NUMBERS_OF_STATES = 200
"""Largest number of numbers of the states from which a page simulates to the instant that it shows;
a chaotic motion would not get there from the start of the run."""


def live(run: Run, scene: Scene) -> dict[str, Any]:
    """A run's model as the data with which the page simulates.

    Raises:
        ModelError: if a model cannot be simulated in a browser, its scene cannot be traced, or the
            run has switches, a loop, no projection, or parameters other than those of its model.
    """
    switched = run.flow.switched is not None and not run.model.constraints.loose
    if switched or run.attrs.get("loop"):
        what = "constraints are switched by the run" if switched else "control is that of a zw.Loop"
        raise ModelError(f"{run.name}: its {what}, which a page does not compute.")
    if not run.flow.drift.projects:
        raise ModelError(
            f"{run.name}: its run is not projected onto the constraints, which every step of a "
            "page is."
        )
    own, other = (
        jax.tree_util.tree_leaves(p) for p in (run.flow.dynamics.p, run.model.parameters(None))
    )
    if not all(map(np.array_equal, own, other)):
        raise ModelError(
            f"{run.name}: the run has other parameters than its model, which a page simulates; "
            "give them to the model."
        )
    start = run.steps.y[0][: run.model.system.nq], run.steps.y[0][run.model.system.nq :]
    begin, end = float(run.steps.t[0]), float(run.steps.t[-1])
    turn = upright(scene, run.q[0])
    forces_of = scene.forces_of
    program = browser_program(
        run.model,
        *start,
        duration=end - begin,
        t0=begin,
        seen=lambda q: everything(scene, q, turn),
        forces=None if forces_of is None else lambda *x: in_page(turn, forces_of(*x)),
        grip=lambda q, held: _held(scene, everything(scene, q, turn), held),
        grips=len(scene.points) + 4 * len(scene.bodies),
    )
    # Tables of numbers are geometry: frames, offsets, inertia tensors.
    sliders = [len(shape) < 2 for shape in shapes(run.model)]
    more = {"coordinates": run.model.system.nq, "sliders": sliders, "states": _states(run)}
    return {**program.as_data(), **more}


def _states(run: Run) -> list[list[float]]:
    """Time, q and v after some of the accepted steps."""
    t, y = run.steps.t, run.steps.y
    number = min(len(t), 1 + NUMBERS_OF_STATES // (1 + y.shape[1]))
    # of the two states at an impact the one after it
    chosen = np.searchsorted(t, t[np.linspace(0, len(t) - 1, number).astype(int)], side="right") - 1
    return [[float(t[k]), *map(float, y[k])] for k in np.unique(chosen)[1:]]


def _held(scene: Scene, seen, held):
    """The position of the point that is pulled: a mean of points, or a position on a body.

    Args:
        seen: as `everything` gives it.
        held: weight of each point, then for each body its weight and the position in its axes.
    """
    points, bodies = len(scene.points), len(scene.bodies)
    place = held[:points] @ seen[: 3 * points].reshape(-1, 3)
    if not bodies:
        return place
    poses, held = seen[-7 * bodies :].reshape(-1, 7), held[points:].reshape(-1, 4)
    turned = jnp.einsum("bij,bj->bi", rotation_matrix(poses[:, 3:]), held[:, 1:])
    return place + jnp.sum(held[:, :1] * poses[:, :3] + turned, axis=0)
