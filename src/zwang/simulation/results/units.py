"""Units of a run's variables, and of quantities conjugate to a constraint's residual."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.equations.constraint import Constraints
from zwang.equations.constraint.units import (
    MIXED,
    MODEL_UNITS,
    PER_SECOND,
    by_row,
    one,
)

FORCES = {"m": "N", "rad": "N m", "1": "N m"}
"""Units of the force conjugate to a length or an angle, if energy is in J."""


SEE = f"{MIXED}: see "
"""Unit of a variable whose entries differ, before the name of the coordinate that lists them."""


def common(units: Sequence[str], listed: str) -> str:
    """Return the unit that all entries share; else the name of the coordinate that lists them."""
    found = one(units)
    return SEE + listed if found == MIXED else found


def force_unit(unit: str, energy_unit: str) -> str:
    """Return the unit of the force conjugate to a quantity in `unit`, or to a velocity in `unit`:
    the product of force and rate is a power.
    """
    base = unit.removesuffix(PER_SECOND)
    if base in ("", MODEL_UNITS):
        return MODEL_UNITS
    if energy_unit == "J" and base in FORCES:
        return FORCES[base]
    return energy_unit if base in ("rad", "1") else f"{energy_unit}/{base}"


class RowUnits:
    """Units of the rows of a model's constraints.

    Attributes:
        conjugate: unit of the quantity to which each row's multiplier is conjugate, "m" if φ is in
            m or ψ in m/s; empty if it is not stated.
        position, velocity: units of φ and ψ of each constraint.
    """

    def __init__(self, constraints: Constraints):
        owners, self.slices = constraints.owners, constraints.row_slices
        self.conjugate = [
            owners[name].level.conjugate(unit)
            for name, rows in self.slices.items()
            for unit in by_row(owners[name].row_units, rows.stop - rows.start)
        ]
        both = [owners[name].residual_units for name in self.slices]
        self.position, self.velocity = [x for x, _ in both], [x for _, x in both]

    def transmitted(self, multipliers: np.ndarray, unit: str) -> np.ndarray | None:
        """Return the norm of the multipliers of each constraint's rows of one unit, NaN for a
        constraint without such rows, shape (samples, constraints); None if no constraint has any.
        """
        of = np.array([x == unit for x in self.conjugate], bool)
        if not of.any():
            return None
        columns = [multipliers[:, s][:, of[s]] for s in self.slices.values()]
        nothing = np.full(len(multipliers), np.nan)
        return np.stack(
            [np.linalg.norm(x, axis=1) if x.shape[1] else nothing for x in columns], axis=1
        )
