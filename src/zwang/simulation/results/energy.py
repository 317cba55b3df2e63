"""Energy balance of a run."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from zwang.errors import ModelError
from zwang.simulation.results.variables import Variables
from zwang.thresholds import AGREEMENT, CONVERGED, SMALL_PART, SOLUTION_ERROR

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run


@dataclasses.dataclass(frozen=True)
class Energy:
    """Energy balance of a run.

    Attributes:
        drift: max |E − E₀| [J]; for a conservative system it is the error of the integrator.
        balance: max |E − E₀ − work| [J]; the work is that of a spline over the samples.
        doubt: difference of that work from the work over every other sample [J]: a smaller balance
            is an error of the sampling, not of the run.
        scale: largest kinetic energy [J].
        unresolved: change of the energy that round-off alone explains [J]: `SOLUTION_ERROR` of the
            energy that forces could exchange. At rest the kinetic energy is below it.
        conserved: whether the system has a potential and no other force does work.
        unit: unit of energy.
        potential: whether the system has a potential; without one, its energy is kinetic energy.
    """

    drift: float
    balance: float
    doubt: float
    scale: float
    unresolved: float
    conserved: bool
    unit: str
    potential: bool

    @property
    def warning(self) -> str:
        """A sentence if energy that should be conserved was lost or gained, else empty."""
        if not self.conserved or self.drift <= max(SMALL_PART * self.scale, self.unresolved):
            return ""
        return (
            f"the energy should stay as it is but changes by {self.drift:.3g} {self.unit} "
            f"(kinetic energy up to {self.scale:.3g} {self.unit}): take a smaller rtol or step; "
            "if that does not help, the motion may have reached a limit of its constraints."
        )


def _exchanged(run: Run, data: Variables) -> float:
    """Return the energy that forces could exchange in a run at rest, whose kinetic energy is no
    scale; zero of any other run.

    It is the size of all constraint forces, √(Q_c · M⁻¹ Q_c), which at rest is that of the forces
    that they carry, times the length along which the constraints turn.
    """
    if np.max(np.abs(run.v), initial=0.0) > CONVERGED:
        return 0.0
    caused = data["acceleration"].values - data["free_acceleration"].values
    work = np.sum(data["constraint_force"].values.sum(axis=1) * caused, axis=1)
    try:
        scales = run.flow.dynamics.scales
    except ModelError:  # a file of version 0.1
        return 0.0
    turning = 0.0 if scales is None else float(scales.inverse_length)  # zero without constraints
    return float(np.sqrt(np.max(np.abs(work), initial=0.0))) / turning if turning > 0 else 0.0


def energy_of(run: Run, data: Variables) -> Energy:
    """Return the energy balance of a run at its samples."""
    energy, balance = data["energy"].values, data["energy_balance"].values
    scale = float(np.max(np.abs(data["kinetic_energy"].values), initial=0.0))
    span = float(run.t[-1] - run.t[0])
    powers = ("applied_power", "constraint_power", "nonideal_power", "control_power")
    working = sum(np.max(np.abs(data[name].values)) for name in powers if name in data) * span
    working += sum(abs(s.energy_loss) for s in run.switches)
    largest = max(scale, float(np.max(np.abs(energy))))
    unresolved = SOLUTION_ERROR * max(largest, _exchanged(run, data))
    # work of applied and nonideal forces, relative to the largest energy, below which the energy
    # counts as conserved
    conserved = run.model.system.potential is not None and bool(
        working <= max(AGREEMENT * largest, unresolved)
    )
    return Energy(
        float(np.max(np.abs(energy - energy[0]))),
        float(np.max(np.abs(balance))),
        float(data["energy_balance"].attrs["work_uncertainty"]),
        scale,
        unresolved,
        conserved,
        data["energy"].attrs["units"],
        run.model.system.potential is not None,
    )
