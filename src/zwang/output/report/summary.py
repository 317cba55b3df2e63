"""The numbers of a run that a reader wants first."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from zwang.errors import Result
from zwang.simulation.results import Crossing, Run, Switched, Variables

CONSERVED = 1e-9
"""Work of applied and nonideal forces, relative to the largest energy, below which the energy
counts as conserved.
"""

POWERS = ("applied_power", "constraint_power", "nonideal_power", "control_power")

LOST = 1e-3
"""Change of an energy that should stay, relative to the largest kinetic energy, that is worth a
warning: far above what a step
controller leaves at its default tolerance.
"""


@dataclasses.dataclass(frozen=True)
class Worst:
    """The largest value of a quantity along a run, and where it is."""

    value: float
    constraint: str
    time: float


@dataclasses.dataclass(frozen=True)
class Error:
    """The largest difference from the exact solution among the coordinates of one unit."""

    value: float
    unit: str
    coordinate: str


@dataclasses.dataclass(frozen=True)
class Energy:
    """How well the energy was kept.

    Attributes:
        drift: max |E − E₀| [J]; of a conservative system it is the integrator's error.
        balance: max |E − E₀ − work| [J]; the work by a spline over the samples.
        doubt: how far that work is from that by every other sample [J]: a balance below it tells of
            the samples, not of the run.
        scale: largest kinetic energy [J].
        conserved: whether the system has a potential and nothing else does work.
        unit: unit of energy.
    """

    drift: float
    balance: float
    doubt: float
    scale: float
    conserved: bool
    unit: str

    @property
    def warning(self) -> str:
        """A sentence if energy was lost or gained that should have stayed, else empty."""
        if not self.conserved or self.drift <= LOST * self.scale:
            return ""
        return (
            f"the energy should stay as it is but changes by {self.drift:.3g} {self.unit} "
            f"(kinetic energy up to {self.scale:.3g} {self.unit}): take a smaller rtol or step; "
            "if that does not help, the motion has come to an end of what its constraints "
            "allow."
        )


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the closing table and the report's first lines say.

    Attributes:
        model, sentence: name, and how the run ended.
        failed: whether it ended before its end for a reason that is none of the user's wishes.
        reached, asked: simulated time, and the time asked for [s].
        samples, accepted, rejected: counts.
        violation: largest |φ| in its constraint's own unit; None without holonomic constraints.
        relative_violation: largest |φ| in row lengths times curvature [1]; None where all
            constraints are linear, too.
        velocity_violation: largest |ψ| in its constraint's own unit per second; None without
            constraints.
        energy: how well the energy was kept.
        rows, lowest_rank, highest_rank: number of constraint rows, and their rank along the run,
            crossings included.
        crossings: singular configurations passed.
        switches: changes of topology.
        moved_q, moved_v: largest change of an entry of the start by its projection.
        servo_error, servo_velocity_error: largest |φ| and |ψ| of a servo constraint in its own
            unit; None without.
        servo_residual: the most that actuators leave undone of what a servo constraint asks for,
            relative to the accelerations involved; None without servo constraints.
        unmet: a sentence if a servo constraint could not be met somewhere; empty otherwise.
        errors: for each unit the coordinate with the largest |q − exact|, where an exact solution
            is known.
    """

    model: str
    sentence: str
    failed: bool
    reached: float
    asked: float
    samples: int
    accepted: int
    rejected: int
    violation: Worst | None
    relative_violation: Worst | None
    velocity_violation: Worst | None
    energy: Energy
    rows: int
    lowest_rank: int
    highest_rank: int
    crossings: tuple[Crossing, ...]
    switches: tuple[Switched, ...]
    moved_q: float
    moved_v: float
    servo_error: Worst | None
    servo_velocity_error: Worst | None
    servo_residual: Worst | None
    unmet: str
    errors: tuple[Error, ...]


def summarize(run: Run, exact: Callable | None = None) -> Summary:
    """The summary of a run.

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
    relative = _worst(data, "relative_violation", position)
    ranks = [int(r) for r in data["rank"].values] + [c.rank for c in run.crossings]
    stopped = f": {run.stopped_by}" if run.stopped_by else ""
    return Summary(
        model=run.model.name,
        sentence=run.result.sentence + stopped,
        failed=run.result.is_failure,
        reached=float(run.t[-1] - run.steps.t[0]),
        asked=float(run.times[-1] - run.steps.t[0]),
        samples=len(run.t),
        accepted=int(run.attrs["steps_accepted"]),
        rejected=int(run.attrs["steps_rejected"]),
        violation=_worst(data, "violation", position),
        relative_violation=relative if relative is not None and relative.value > 0 else None,
        velocity_violation=_worst(data, "velocity_violation", velocity),
        energy=_energy(run),
        rows=constraints.m,
        lowest_rank=min(ranks),
        highest_rank=max(ranks),
        crossings=tuple(run.crossings),
        switches=tuple(run.switches),
        moved_q=float(run.attrs["start_moved_q"]),
        moved_v=float(run.attrs["start_moved_v"]),
        servo_error=_worst_servo(data, "servo_violation"),
        servo_velocity_error=_worst_servo(data, "servo_velocity_violation"),
        servo_residual=_worst_servo(data, "missed"),
        unmet=unmet(run),
        errors=exact_errors(run, exact),
    )


def unmet(run: Run) -> str:
    """Which servo constraint could not be met, when and why; empty if all could."""
    data = run.variables
    if "control_result" not in data:
        return ""
    codes = data["control_result"].values
    bad = np.isin(codes, [Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS, Result.AT_LIMIT])
    if not bad.any():
        return ""
    missed = np.where(bad[:, None], data["missed"].values, 0.0)
    at, worst = np.unravel_index(int(np.argmax(missed)), missed.shape)
    t, first = data["time"].values, int(np.argmax(bad))
    where = f"at {bad.sum()} of {len(bad)} samples, first at t = {t[first]:.4g} s"
    return (
        f"servo constraint {str(data['servo_constraint'].values[worst])!r} could not be met "
        f"{where} (misses by up to {missed[at, worst]:.2g} of the accelerations involved, t = "
        f"{t[at]:.4g} s): {Result(int(codes[at])).sentence}."
    )


def _worst_servo(data: Variables, name: str) -> Worst | None:
    """The largest value of a servo constraint that has this residual at all."""
    if name not in data:
        return None
    known = np.flatnonzero(np.isfinite(data[name].values).any(axis=0))
    return _worst(data, name, known)


def exact_errors(run: Run, exact: Callable | None) -> tuple[Error, ...]:
    """The largest |q − exact| for each unit; empty without an exact solution."""
    system = run.model.system
    worst: dict[str, Error] = {}
    for name, values in ({} if exact is None else exact(run.t)).items():
        i = system.coordinates.index(name)
        error = Error(float(np.max(np.abs(run.q[:, i] - values))), system.units[i], name)
        if error.unit not in worst or error.value > worst[error.unit].value:
            worst[error.unit] = error
    return tuple(worst.values())


def _worst(data: Variables, name: str, among: Sequence[int] | np.ndarray) -> Worst | None:
    """The largest value of a variable (time, constraint) in some of its columns; NaN is worse than
    any number.
    """
    among = np.asarray(among, int)
    values = data[name].values[:, among]
    if not values.size:
        return None
    i, k = np.unravel_index(
        int(np.argmax(np.where(np.isnan(values), np.inf, values))), values.shape
    )
    constraint = data[name].labels[data[name].dims[1]][among[k]]
    return Worst(float(values[i, k]), str(constraint), float(data["time"].values[i]))


def _energy(run: Run) -> Energy:
    data = run.variables
    energy, balance = data["energy"].values, data["energy_balance"].values
    scale = float(np.max(np.abs(data["kinetic_energy"].values), initial=0.0))
    span = float(run.t[-1] - run.t[0])
    working = sum(np.max(np.abs(data[name].values)) for name in POWERS if name in data) * span
    working += sum(abs(s.energy_loss) for s in run.switches)
    conserved = run.model.system.potential is not None and bool(
        working <= CONSERVED * max(scale, np.max(np.abs(energy)))
    )
    return Energy(
        float(np.max(np.abs(energy - energy[0]))),
        float(np.max(np.abs(balance))),
        float(data["energy_balance"].attrs["work_uncertainty"]),
        scale,
        conserved,
        data["energy"].attrs["units"],
    )
