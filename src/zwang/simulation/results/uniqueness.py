"""Uniqueness labels of a run: forces that are unique or not, and whether the motion itself is
unique.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from zwang.dynamics.tangent_cone import MOST_JUDGED
from zwang.dynamics.uniqueness import uniqueness_at
from zwang.dynamics.vector_field import SPENT, STRAIGHT
from zwang.equations.state import host_state

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run


ALL_UNIQUE = "all forces are unique"


@dataclasses.dataclass(frozen=True)
class Labels:
    """Uniqueness after every step of a run, until the next one.

    Attributes:
        multipliers, forces: of each row and each constraint, shapes (steps, m) and (steps, n).
        motion: shape (steps,).
        names: of the constraints.
    """

    multipliers: np.ndarray
    forces: np.ndarray
    motion: np.ndarray
    names: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether everything is unique."""
        return bool(np.all(self.motion) and np.all(self.multipliers))

    def at(self, steps: np.ndarray) -> Labels:
        """Return the labels of some steps."""
        own = self.multipliers[steps], self.forces[steps], self.motion[steps]
        return Labels(*own, self.names)

    @property
    def sentence(self) -> str:
        """A sentence such as "forces of leg are not unique"."""
        if self.whole:
            return ALL_UNIQUE
        known = np.all(self.forces, axis=0)
        shared = [name for name, yes in zip(self.names, known, strict=True) if not yes]
        # the variables of the run contain all names
        listed = ", ".join(shared[:6]) + " …" * (len(shared) > 6)
        if not np.all(self.motion):
            return f"the motion is not unique, as the forces of {listed} are not"
        if shared:
            return f"the motion is unique, but the forces of {listed} are not"
        return "all forces are unique, but some multipliers are not"


def labels_of(run: Run) -> Labels | None:
    """Return the labels of a run, determined once for each combination of modes; None for a model
    without constraints, and for one that is too large for singular values.
    """
    flow, steps, c = run.flow, run.steps, run.model.constraints
    if not c.m or run.model.system.nv > MOST_JUDGED:
        return None
    held = np.asarray(steps.applied) if flow.switched is not None else np.zeros((len(steps.t), 1))
    # the direction in which friction slides changes no rank
    kinds = np.where(held <= SPENT, SPENT, np.where(held <= STRAIGHT, STRAIGHT, held))
    _, first, which = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    which, found = which.ravel(), []
    for k in range(len(first)):
        # a state in the middle, because a mode change may occur at a singular configuration
        own = np.flatnonzero(which == k)
        i = int(own[len(own) // 2])
        q, v = np.split(steps.y[i], [run.model.system.nq])
        dynamics = flow.with_input(steps.applied[i]).dynamics
        found.append(uniqueness_at(dynamics, host_state(q, v, steps.t[i])))
    rows, forces, motion = (np.array(x)[which] for x in zip(*found, strict=True))
    return Labels(rows, forces, motion, tuple(c.row_slices))
