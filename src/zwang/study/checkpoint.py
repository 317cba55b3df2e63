"""Checkpoint of a run: all that its next step depends on, as arrays.

It has the state with step size, error controller and events (`Progress`), which includes the memory
of a sampled controller and the modes of switches; the scales of the rows, which a run may have
measured again; the method for A⊕ and the treatment of M, which it may have changed; the last steps
and changes of topology; and the memory of its monitors.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from zwang.algebra.pseudoinverse import CompleteOrthogonal
from zwang.archive.growing import switched
from zwang.dynamics.motion import augmented
from zwang.simulation.monitor import LOOKED_BACK, RECENT, RECENT_TURNS, RunState
from zwang.simulation.results import Steps
from zwang.simulation.results.stored import (
    SCALES,
    STEP_VARIABLES,
    leaves_by_name,
    with_leaves,
    with_scales,
)

STATE, LAST, ABOUT = "state", "last", "about"


def state_of(run: RunState) -> dict[str, np.ndarray]:
    """Make a checkpoint of a run between two chunks."""
    dynamics = run.flow.dynamics
    found = {f"{STATE}{name}": x for name, x in leaves_by_name(run.here)}
    scales = dynamics.scales, run.flow.target
    found |= {f"{SCALES}{name}": x for name, x in leaves_by_name(scales)}
    for i, part in enumerate(run.parts[-LOOKED_BACK:]):
        rows = slice(max(len(part.t) - RECENT - 1, 0), None)
        for name in STEP_VARIABLES:
            found[f"{LAST}{i}.{name}"] = np.asarray(getattr(part, name))[rows]
    about = {
        "done": run.done,
        "pseudoinverse": type(dynamics.pseudoinverse).__name__,
        "singular_mass": bool(dynamics.singular_mass),
        "changes": run.changes,
        "turned": [dataclasses.asdict(x) for x in run.turned[-RECENT_TURNS:]],
        "memory": run.memory(),
    }
    found[ABOUT] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    return found


def restore(run: RunState, checkpoint: Mapping[str, np.ndarray]) -> None:
    """Restore a run, which is at its start, from a checkpoint."""
    about: dict[str, Any] = json.loads(checkpoint[ABOUT].tobytes())
    flow = run.flow
    dynamics = flow.dynamics
    if about["pseudoinverse"] != type(dynamics.pseudoinverse).__name__:
        # the only change of method that a run makes by itself (`watch.decisive`)
        dynamics = dataclasses.replace(dynamics, pseudoinverse=CompleteOrthogonal())
    if about["singular_mass"] and not dynamics.singular_mass:
        dynamics = augmented(run.model, dynamics)
    flow = dataclasses.replace(flow, dynamics=dynamics)
    run.flow = with_scales(flow, _below(checkpoint, SCALES))
    run.parts = [
        Steps(**{name: checkpoint[f"{LAST}{i}.{name}"] for name in STEP_VARIABLES})
        for i in range(LOOKED_BACK)
        if f"{LAST}{i}.t" in checkpoint
    ]
    run.changes, run.done = list(about["changes"]), int(about["done"])
    run.turned = [switched(x) for x in about["turned"]]
    here = jax.tree_util.tree_map(np.asarray, run.here)
    run.here = with_leaves(here, _below(checkpoint, STATE), "state")
    run.recall(about["memory"])


def _below(checkpoint: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): x for n, x in checkpoint.items() if n.startswith(prefix)}
