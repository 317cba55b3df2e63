"""Jumps of the velocity within a run that a constraint causes: a rope that becomes taut, a drive
whose rate jumps.

They need not be located: the projection at the end of the step that contains one brings the
velocity onto the constraints, as a plastic impact does.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from zwang.algebra.judgement import row_units
from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.metric import dense_rows, metric_of, rows_of
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import host_state
from zwang.errors import Result
from zwang.inputs.arrays import on_device
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.simulation.pace import HALVED
from zwang.simulation.switching import impact
from zwang.stepping.step_control import FARTHEST
from zwang.thresholds import MARGIN, SHORT_WAY


@dataclasses.dataclass(frozen=True)
class Jump:
    """A jump of the velocity.

    Attributes:
        time: end of the step that contains it [s].
        constraint: the constraint with the largest part of the impulse.
        impulse: norm of its contribution to the momentum, `AᵢᵀΛᵢ` [N s, N m s …].
        energy_loss: kinetic energy before minus after.
    """

    time: float
    constraint: str
    impulse: float
    energy_loss: float


class VelocityJumps(AbstractMonitor):
    """Records the jumps of a run, the first of them with their instants.

    Args:
        energy_unit: of the model.
    """

    def __init__(self, energy_unit: str):
        self.energy_unit = energy_unit
        self.count, self.loss, self.first = 0, 0.0, list[Jump]()
        self._seen: tuple = None, b"", None

    def _dynamics(self, flow: ConstrainedVectorField, applied: np.ndarray) -> Dynamics:
        """Return the dynamics with the applied control or modes. The object of the last call is
        reused, whose programs are already bound.
        """
        if self._seen[0] is not flow or self._seen[1] != applied.tobytes():
            self._seen = flow, applied.tobytes(), flow.with_input(on_device(applied)).dynamics
        return self._seen[2]

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        for found in self._jumps(run, chunk):
            self.first = [*self.first, found][:4]
            self.count, self.loss = self.count + 1, self.loss + found.energy_loss
        return result

    def _jumps(self, run: RunState, chunk: Chunk) -> list[Jump]:
        """Return the jumps within a chunk of steps."""
        model, tolerances = run.model, run.tolerances
        part, before, moved = chunk.steps, chunk.before, chunk.moved
        if not len(part.t):
            return []
        nq = model.system.nq
        change, v = moved[: len(part.t), nq:], part.y[:, nq:]
        allowed = np.asarray(tolerances.atol)[..., nq:] + float(tolerances.rtol) * np.abs(v)
        found, most = [], np.max(np.abs(change) / allowed, axis=1, initial=0.0)
        times = np.append(before.t[-1], part.t)
        y = np.vstack([before.y[-1:], part.y])
        # maximum number of steps of a chunk that are examined, those with the largest changes
        for i in np.sort(np.argsort(-most)[:24]):
            if not most[i] > FARTHEST:
                continue
            dynamics = self._dynamics(run.flow, part.applied[i])
            at = evaluate(dynamics, host_state(part.y[i, :nq], v[i], part.t[i]))
            M, arriving = dense_mass(np.asarray(at.M)), v[i] - change[i]
            size = lambda w, M=M: float(w @ M @ w)
            if not size(change[i]) > SHORT_WAY**2 * (size(arriving) + size(v[i])):
                continue
            end = part.y[i] - moved[i]
            if not _leaps(dynamics, times[i : i + 2], np.stack([y[i], end])):
                continue
            A = dense_rows(at.A)
            met = impact(dynamics, at, arriving, v[i])
            slices = model.constraints.row_slices
            part_of = {n: np.linalg.norm(A[s].T @ met.multipliers[s]) for n, s in slices.items()}
            name = max(part_of, key=lambda name: part_of[name])
            found.append(Jump(float(part.t[i]), name, float(part_of[name]), met.energy_loss))
        return found

    @property
    def attributes(self) -> dict[str, Any]:
        return {"velocity_jumps": self.sentence}

    @property
    def sentence(self) -> str:
        """Sentence that reports the jumps of a run; empty without any."""
        if not self.count:
            return ""
        ways = {True: "gained", False: "lost"}
        energy = lambda loss: f"energy {ways[loss < 0]} {abs(loss):.4g} {self.energy_unit}"
        shown = ", ".join(
            f"t = {x.time:.6g} s ({x.constraint!r}, impulse {x.impulse:.4g}, "
            f"{energy(x.energy_loss)})"
            for x in self.first
        )
        further = self.count - len(self.first)
        more = f" and {further} times more" if further > 0 else ""
        total = f", {energy(self.loss)} in all" if self.count > 1 else ""
        return (
            f"the velocity jumps at {shown}{more}{total}: a constraint requires it, and the run "
            "treats it as a plastic impact, located up to one step late; smooth the constraint, "
            "or give a zw.Switch to locate its instant"
        )

    def memory(self) -> dict[str, Any]:
        first = [dataclasses.asdict(x) for x in self.first]
        return {"count": self.count, "loss": self.loss, "first": first}

    def recall(self, memory: dict[str, Any]) -> None:
        self.count, self.loss = memory["count"], memory["loss"]
        self.first = [Jump(**x) for x in memory["first"]]


def _leaps(dynamics: Dynamics, t: np.ndarray, y: np.ndarray) -> bool:
    """Return whether ψ is discontinuous along the line between two states."""
    nq, unit = dynamics.system.nq, None

    def residual(s: float) -> np.ndarray:
        nonlocal unit
        z, time = (1 - s) * y[0] + s * y[1], (1 - s) * t[0] + s * t[1]
        at = evaluate(dynamics, host_state(z[:nq], z[nq:], float(time)))
        if unit is None:
            metric = metric_of(at.M, at.A, dynamics.singular_mass)
            unit = row_units(np, metric.lengths(rows_of(at.A)))
            unit = unit[dynamics.constraints.velocity_rows]
        return unit * np.asarray(at.psi)

    size = lambda ends: np.linalg.norm(ends[1] - ends[0])
    at, ends = np.array([0.0, 1.0]), [residual(0.0), residual(1.0)]
    whole = size(ends)
    for _ in range(HALVED):
        middle, between = np.mean(at), residual(float(np.mean(at)))
        halves = [ends[0], between], [between, ends[1]]
        later = int(size(halves[1]) > size(halves[0]))
        at = np.array([middle, at[1]] if later else [at[0], middle])
        ends = halves[later]
        if not MARGIN * size(ends) > whole:  # a discontinuity would still be inside
            return False
    return True
