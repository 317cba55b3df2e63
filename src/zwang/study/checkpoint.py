"""All that the next step of a run depends on, as arrays and back.

That is the state with step, controller of the error and events (`Progress`), which holds what a
sampled controller remembers and which switches are on; the scales of the rows, which a run may have
measured anew; the method for A⊕ and the treatment of M, which it may have changed; the last steps
and changes of topology, by which it judges what comes after.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from zwang.algebra.pseudoinverse import CompleteOrthogonal
from zwang.archive.growing import switched
from zwang.dynamics.motion import augmented
from zwang.simulation.driver import RECENT, RunDriver
from zwang.simulation.results import Steps
from zwang.simulation.results.stored import (
    SCALES,
    STEP_VARIABLES,
    leaves_by_name,
    with_leaves,
)
from zwang.simulation.turning import RECENT_TURNS
from zwang.stepping.step import Progress

STATE, LAST, ABOUT = "state", "last", "about"
LOOKED_BACK = 2
"""Last parts of a run that are looked back at: a chunk, and the state after a switch."""


def state_of(driver: RunDriver, here: Progress, done: int) -> dict[str, np.ndarray]:
    """A run between two chunks; `done` samples are done."""
    dynamics = driver.flow.dynamics
    found = {f"{STATE}{name}": x for name, x in leaves_by_name(here)}
    scales = dynamics.scales, driver.flow.target
    found |= {f"{SCALES}{name}": x for name, x in leaves_by_name(scales)}
    for i, part in enumerate(driver.parts[-LOOKED_BACK:]):
        rows = slice(max(len(part.t) - RECENT - 1, 0), None)
        for name in STEP_VARIABLES:
            found[f"{LAST}{i}.{name}"] = np.asarray(getattr(part, name))[rows]
    about = {
        "done": done,
        "pseudoinverse": type(dynamics.pseudoinverse).__name__,
        "singular_mass": bool(dynamics.singular_mass),
        "changes": driver.changes,
        "turned": [dataclasses.asdict(x) for x in driver.turned[-RECENT_TURNS:]],
    }
    found[ABOUT] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    return found


def restore(
    driver: RunDriver, here: Progress, checkpoint: Mapping[str, np.ndarray]
) -> tuple[Progress, int]:
    """Bring a driver at its start to where a checkpoint was taken; where, and samples done."""
    about: dict[str, Any] = json.loads(checkpoint[ABOUT].tobytes())
    flow = driver.flow
    dynamics = flow.dynamics
    if about["pseudoinverse"] != type(dynamics.pseudoinverse).__name__:
        # the only change that a run makes by itself (`watch.decisive`)
        dynamics = dataclasses.replace(dynamics, pseudoinverse=CompleteOrthogonal())
    if about["singular_mass"] and not dynamics.singular_mass:
        dynamics = augmented(driver.model, dynamics)
    flow = dataclasses.replace(flow, dynamics=dynamics)
    where = lambda f: (f.dynamics.scales, f.target)
    scales = with_leaves(where(flow), _below(checkpoint, SCALES), "scale")
    driver.flow = eqx.tree_at(where, flow, scales)
    driver.parts = [
        Steps(**{name: checkpoint[f"{LAST}{i}.{name}"] for name in STEP_VARIABLES})
        for i in range(LOOKED_BACK)
        if f"{LAST}{i}.t" in checkpoint
    ]
    driver.changes = list(about["changes"])
    driver.turned = [switched(x) for x in about["turned"]]
    here = jax.tree_util.tree_map(np.asarray, here)
    return with_leaves(here, _below(checkpoint, STATE), "state"), int(about["done"])


def _below(checkpoint: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): x for n, x in checkpoint.items() if n.startswith(prefix)}
