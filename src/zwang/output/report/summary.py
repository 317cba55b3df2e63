"""Headline numbers of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from zwang.simulation.results import Crossing, Run, Switched, Variables
from zwang.simulation.results.energy import Energy, energy_of
from zwang.simulation.results.servo_warnings import ServoSamples, unmet
from zwang.simulation.results.worst import Worst, contact_residuals, worst


@dataclasses.dataclass(frozen=True)
class Error:
    """The largest difference from the exact solution among the coordinates of one unit."""

    value: float
    unit: str
    coordinate: str


@dataclasses.dataclass(frozen=True)
class Summary:
    """Content of the closing table and of the report's first lines.

    Attributes:
        model, sentence: name, and how the run ended.
        failed: whether it ended early for a reason that the user has not asked for.
        reached, asked: simulated time, and the requested time [s].
        samples, accepted, rejected: counts.
        limit: a remark where samples determine the steps; empty otherwise.
        violation: largest |φ| in its constraint's own unit; None without holonomic constraints.
        relative_violation: largest |φ| in row lengths times curvature [1]; None if all
            constraints are linear, too.
        velocity_violation: largest |ψ| in its constraint's own unit per second; None without
            constraints.
        energy: how well the energy was conserved.
        rows, lowest_rank, highest_rank: number of constraint rows, and their rank along the run,
            crossings included.
        crossings: singular configurations passed.
        switches: changes of topology.
        contact: largest residuals of gaps and dry friction, by their kind.
        moved_q, moved_v: largest change of an entry of the start by its projection.
        servo_error, servo_velocity_error: largest |φ| and |ψ| of a servo constraint in its own
            unit; None without.
        servo_residual: the largest part of a servo constraint that the actuators cannot enforce,
            relative to the accelerations involved; None without servo constraints.
        unmet: a sentence if a servo constraint could not be met somewhere; empty otherwise.
        warnings: all sentences of `run.warnings`, including `unmet`.
        errors: for each unit the coordinate with the largest |q − exact|, if an exact solution is
            known.
    """

    model: str
    sentence: str
    failed: bool
    reached: float
    asked: float
    samples: int
    accepted: int
    rejected: int
    limit: str
    violation: Worst | None
    relative_violation: Worst | None
    velocity_violation: Worst | None
    energy: Energy
    rows: int
    lowest_rank: int
    highest_rank: int
    crossings: tuple[Crossing, ...]
    switches: tuple[Switched, ...]
    contact: Mapping[str, float]
    moved_q: float
    moved_v: float
    servo_error: Worst | None
    servo_velocity_error: Worst | None
    servo_residual: Worst | None
    unmet: str
    warnings: tuple[str, ...]
    errors: tuple[Error, ...]


def summarize(run: Run, exact: Callable | None = None) -> Summary:
    """Compute the summary of a run.

    Args:
        run: the run.
        exact: `t (samples,)` → dict of exact values (samples,) by coordinate name, or None.
    """
    data, constraints = run.variables, run.model.constraints
    every = range(len(constraints.names))
    position, velocity = (
        every if len(constraints.position_rows) else (),
        every if len(constraints.velocity_rows) else (),
    )
    # Zero for linear constraints, which have no relative violation; it is then left out.
    relative = worst(data, "relative_violation", position)
    # Crossings lie between the samples.
    ranks = [int(r) for r in data["constraint_rank"].values] + [c.rank for c in run.crossings]
    stopped = f": {run.stopped_by}" if run.stopped_by else ""
    return Summary(
        model=run.model.name,
        sentence=run.sentence + stopped,
        failed=run.result.is_failure,
        reached=float(run.t[-1] - run.steps.t[0]),
        asked=float(run.times[-1] - run.steps.t[0]),
        samples=len(run.t),
        accepted=int(run.attrs["steps_accepted"]),
        rejected=int(run.attrs["steps_rejected"]),
        limit=run.steps.limit(run.attrs),
        violation=worst(data, "violation", position),
        relative_violation=relative if relative is not None and relative.value > 0 else None,
        velocity_violation=worst(data, "velocity_violation", velocity),
        energy=energy_of(run, data),
        rows=constraints.m,
        lowest_rank=min(ranks),
        highest_rank=max(ranks),
        crossings=tuple(run.crossings),
        switches=tuple(run.switches),
        contact=contact_residuals(run.attrs),
        moved_q=float(run.attrs["start_moved_q"]),
        moved_v=float(run.attrs["start_moved_v"]),
        servo_error=_worst_servo(data, "servo_violation"),
        servo_velocity_error=_worst_servo(data, "servo_velocity_violation"),
        servo_residual=_worst_servo(data, "missed"),
        unmet="" if (servo := ServoSamples.of(data)) is None else unmet(servo),
        warnings=run.warnings,
        errors=exact_errors(run, exact),
    )


def _worst_servo(data: Variables, name: str) -> Worst | None:
    """The largest value of a servo constraint that has this residual."""
    if name not in data:
        return None
    known = np.flatnonzero(np.isfinite(data[name].values).any(axis=0))
    return worst(data, name, known)


def exact_errors(run: Run, exact: Callable | None) -> tuple[Error, ...]:
    """The largest |q − exact| for each unit; empty without an exact solution."""
    system = run.model.system
    largest: dict[str, Error] = {}
    for name, values in ({} if exact is None else exact(run.t)).items():
        i = system.coordinates.index(name)
        error = Error(float(np.max(np.abs(run.q[:, i] - values))), system.units[i], name)
        # Meters and radians are not compared with each other.
        if error.unit not in largest or error.value > largest[error.unit].value:
            largest[error.unit] = error
    return tuple(largest.values())
