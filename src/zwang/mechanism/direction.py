"""Detection of efforts along the distance of coincident points, which has no direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from zwang.equations.state import State
from zwang.inputs.arithmetic import on_host
from zwang.mechanism.field_types import PartError
from zwang.mechanism.relative_pose import DISTANCE
from zwang.mechanism.resolution import ends_between

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism

COINCIDE = 1e-12
"""Distance of two points, relative to the largest coordinate of any point or 1 m, below which the
direction between them is round-off.
"""


def refuse_without_direction(mechanism: Mechanism, state: State) -> None:
    """Raise for a spring, force or actuator between two points that coincide at the start.

    Raises:
        PartError: naming it.
    """
    compiled = mechanism.compiled
    tables = {
        **{name: "springs" for name in mechanism.springs},
        **{name: "forces" for name in mechanism.forces},
    }
    laws = {
        name: x
        for name, x in compiled.forces.laws().items()
        if name in tables and x[0].coordinate == DISTANCE
    }
    acting = {
        name: ends_between(actuator.between, compiled.geometry, ("actuators", name))
        for name, actuator in mechanism.actuators.items()
        if actuator.between is not None and actuator.coordinate in (None, DISTANCE.name)
    }
    if not laws and not acting:
        return
    with on_host():
        params = jax.tree.map(np.asarray, mechanism.params)
        places = np.asarray(compiled.joints.frames(np.asarray(state.q), params).place)
        apart = lambda ends: float(np.linalg.norm(places[ends.b] - places[ends.a]))
        least = COINCIDE * max(1.0, np.abs(places).max())
        for name, (ends, law) in laws.items():
            if apart(ends) > least:
                continue
            effort = float(law(np.zeros(()), np.zeros(()), np.asarray(state.t), params))
            if effort:
                raise PartError(
                    (tables[name], name),
                    f"its points coincide at the start, where its effort of {effort:.3g} N along "
                    "their distance has no direction; draw them apart, give a spring rest = 0, or "
                    "act on a coordinate x or y.",
                )
        for name, ends in acting.items():
            if apart(ends) <= least:
                raise PartError(
                    ("actuators", name),
                    "its points coincide at the start, where a control along their distance has no "
                    "direction; draw them apart.",
                )
