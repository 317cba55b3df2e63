"""A run as named variables, with units and long names on everything."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import numpy as np

from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.equations.constraint.units import MODEL_UNITS, per_second, stated
from zwang.simulation.results.observe import Observation
from zwang.simulation.results.switched import Switched
from zwang.simulation.results.uniqueness import Labels
from zwang.simulation.results.units import RowUnits, common, force_unit
from zwang.simulation.results.variables import Variables
from zwang.simulation.results.work import work_of

TEXT = "1"
"""Unit of names and units, which are dimensionless."""
KINETIC_ALONE = " of motion alone: the system has no potential="
LABELS = {
    "coordinate": "name of the generalized coordinate",
    "coordinate_unit": "unit of the generalized coordinate",
    "velocity": "name of the generalized velocity",
    "velocity_unit": "unit of the generalized velocity",
    "force_unit": "unit of the generalized force on this velocity",
    "constraint": "name of the constraint",
    "constraint_unit": "unit of the constraint's position residual phi",
    "constraint_rate_unit": "unit of the constraint's velocity residual psi",
    "row": "constraint row",
    "multiplier_unit": "unit of the row's Lagrange multiplier",
    "actuator": "name of the actuator",
    "actuator_unit": "unit of the actuator's control",
    "servo_constraint": "name of the servo constraint",
    "servo_constraint_unit": "unit of the servo constraint's position residual phi",
    "servo_constraint_rate_unit": "unit of the servo constraint's velocity residual psi",
}
"""Long names of the coordinates of the dimensions."""


@dataclasses.dataclass(frozen=True)
class Units:
    """Units of the entries along each dimension.

    Attributes:
        coordinates, velocities, forces: one per entry of q, of v, and of a generalized force.
        rows: of the rows of the constraints.
        multipliers: one per row.
        energy: of the system.
    """

    coordinates: list[str]
    velocities: list[str]
    forces: list[str]
    rows: RowUnits
    multipliers: list[str]
    energy: str

    @classmethod
    def of(cls, model: Model) -> Units:
        """Return the units that a model states."""
        system, rows = model.system, RowUnits(model.constraints)
        coordinates, velocities = stated(system.units), stated(system.velocity_units)
        forces, multipliers = (
            [force_unit(unit, system.energy_unit) for unit in units]
            for units in (velocities, rows.conjugate)
        )
        return cls(coordinates, velocities, forces, rows, multipliers, system.energy_unit)

    @property
    def power(self) -> str:
        return "W" if self.energy == "J" else f"{self.energy}/s"


def variables_of(
    model: Model,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    seen: Observation,
    attrs: dict,
    active: np.ndarray,
    switches: Sequence[Switched] = (),
    labels: Labels | None = None,
) -> Variables:
    """Return the variables of a run. Their coordinates are `time`, `coordinate`, `velocity`,
    `constraint`, `row`; see `long_name` and `units` of each variable.
    """
    units = Units.of(model)
    lost = np.zeros(len(t))
    for switched in switches:
        # an impact counts from its instant on: the balance contains the loss so far
        lost = lost + np.where(t >= switched.time, switched.energy_loss, 0.0)
    energies, doubtful = _energies(
        t, seen, units, lost, bool(switches), model.system.potential is not None
    )
    data = {
        **_motion(q, v, seen, units, list(model.constraints.row_slices)),
        **_residuals(len(t), seen, units.rows, model.constraints.row_slices),
        **energies,
    }
    # runs without switches have no column of ones
    if not np.all(active) or switches:
        meaning = "1 where the constraint is switched on"
        data["active"] = (("time", "constraint"), active.astype(np.int8), "1", meaning)
        meaning = "energy lost in impacts since the start"
        data["impact_loss"] = (("time",), lost, units.energy, meaning)
    if labels is not None and not labels.whole:
        data |= _unique(labels)
    if seen.control is not None and model.servo is not None:
        data |= _servo(model.servo, seen, units.power)
    data |= _transmitted(units.rows, np.asarray(seen.motion.multipliers), units.energy)
    named = {n: x if isinstance(x, (int, float, str)) else json.dumps(x) for n, x in attrs.items()}
    return Variables(
        {
            n: (dims, x, {"units": unit, "long_name": long, **doubtful.get(n, {})})
            for n, (dims, x, unit, long) in data.items()
        },
        _dimensions(model, t, seen, units),
        {"model": model.name, **named},
    )


def _motion(q, v, seen: Observation, units: Units, names: list[str]) -> dict:
    """Return states, accelerations and forces."""
    motion, along_v = seen.motion, ("time", "velocity")
    accelerations = common([per_second(u) for u in units.velocities], "velocity_unit, per second")
    # without constraints the axis still needs its length, which np.stack cannot know
    force = (
        np.stack([motion.by_constraint[n] for n in names], axis=1)
        if names
        else np.zeros((len(q), 0, v.shape[1]))
    )
    return {
        "q": (
            ("time", "coordinate"),
            q,
            common(units.coordinates, "coordinate_unit"),
            "generalized coordinate",
        ),
        "v": (along_v, v, common(units.velocities, "velocity_unit"), "generalized velocity"),
        "acceleration": (along_v, motion.acceleration, accelerations, "generalized acceleration"),
        "free_acceleration": (
            along_v,
            motion.free_acceleration,
            accelerations,
            "acceleration without constraints",
        ),
        "constraint_force": (
            ("time", "constraint", "velocity"),
            force,
            common(units.forces, "force_unit"),
            "generalized force of each constraint, ideal and nonideal part together",
        ),
        "multipliers": (
            ("time", "row"),
            motion.multipliers,
            common(units.multipliers, "multiplier_unit"),
            "Lagrange multiplier lambda of each row, Q_c = +A^T lambda: the force conjugate to the "
            "row's residual as it is written",
        ),
    }


def _residuals(samples: int, seen: Observation, units: RowUnits, rows: dict) -> dict:
    """Return the residuals of the constraints and of the equation of motion."""
    motion, each = seen.motion, ("time", "constraint")

    def largest(x):
        return (
            np.stack([np.abs(x[:, s]).max(axis=1, initial=0.0) for s in rows.values()], axis=1)
            if rows
            else np.zeros((samples, 0))
        )

    return {
        "violation": (
            each,
            largest(seen.phi),
            common(units.position, "constraint_unit"),
            "largest position residual |phi|",
        ),
        "velocity_violation": (
            each,
            largest(seen.psi),
            common(units.velocity, "constraint_rate_unit"),
            "largest velocity residual |psi|",
        ),
        "relative_violation": (
            each,
            largest(seen.relative),
            "1",
            "|phi| in row lengths times curvature",
        ),
        "constraint_rank": (("time",), motion.rank, "1", "rank of the constraint matrix"),
        "residual": (("time",), motion.residual, "1", "relative residual of A vdot = b"),
        "accuracy": (
            ("time",),
            motion.accuracy,
            "1",
            "estimate of the relative error of the acceleration",
        ),
    }


def _unique(labels: Labels) -> dict:
    """Return the labels of quantities that the active rows determine uniquely."""
    table = {
        "multiplier_unique": (labels.multipliers, "row", "the multiplier of the row is unique"),
        "force_unique": (labels.forces, "constraint", "the force of the constraint is unique"),
        "motion_unique": (labels.motion, None, "the motion is unique"),
    }
    return {
        name: (("time", along)[: values.ndim], values.astype(np.int8), "1", f"1 where {meaning}")
        for name, (values, along, meaning) in table.items()
    }


def _energies(
    t: np.ndarray,
    seen: Observation,
    units: Units,
    lost: np.ndarray,
    switched: bool,
    potential: bool,
) -> tuple[dict, dict]:
    """Return energies and powers, and attributes of those with few accurate digits.

    Args:
        lost: energy lost by impacts since the start, shape (samples,).
        switched: whether there were any impacts.
        potential: whether the system has a potential; without one, energy is kinetic energy, which
            its long name states.
    """
    alone = "" if potential else KINETIC_ALONE
    energy = seen.kinetic + seen.potential
    power = seen.applied_power + seen.constraint_power + seen.nonideal_power + seen.control_power
    work, doubt = work_of(t, np.asarray(power))
    # zero except for numerical errors
    balance = energy - energy[0] - work + lost
    meaning = "energy minus start minus work (work by spline over the samples)"
    table = {
        "kinetic_energy": (seen.kinetic, units.energy, "kinetic energy"),
        "potential_energy": (
            seen.potential,
            units.energy,
            "potential energy" if potential else "potential energy (the system has no potential=)",
        ),
        "energy": (energy, units.energy, "energy" + alone),
        "applied_power": (seen.applied_power, units.power, "power of forces without potential"),
        "constraint_power": (
            seen.constraint_power,
            units.power,
            "power of ideal constraint forces",
        ),
        "nonideal_power": (seen.nonideal_power, units.power, "power of nonideal constraint forces"),
        "energy_balance": (balance, units.energy, meaning + " plus what impacts took" * switched),
    }
    energies = {name: (("time",), *cells) for name, cells in table.items()}
    return energies, {"energy_balance": {"work_uncertainty": doubt}}


def _dimensions(model: Model, t: np.ndarray, seen: Observation, units: Units) -> dict:
    """Return the coordinates of the dimensions."""
    system, constraints = model.system, model.constraints
    rows = [
        f"{n}[{i}]" if s.stop - s.start > 1 else n
        for n, s in constraints.row_slices.items()
        for i in range(s.stop - s.start)
    ]
    return {
        "time": (("time",), t, {"units": "s", "long_name": "time"}),
        **_labels("coordinate", system.coordinates, coordinate_unit=units.coordinates),
        **_labels(
            "velocity", system.velocities, velocity_unit=units.velocities, force_unit=units.forces
        ),
        **_labels(
            "constraint",
            constraints.names,
            constraint_unit=units.rows.position,
            constraint_rate_unit=units.rows.velocity,
        ),
        **_labels("row", rows, multiplier_unit=units.multipliers),
        **({} if model.servo is None else _actuators(model.servo, seen)),
    }


def _labels(dimension: str, names: Sequence[str], **further: Sequence[str]) -> dict:
    """Return the coordinate of a dimension: names, and further labels."""
    return {
        name: (
            (dimension,),
            np.array(values, dtype=str),
            {"units": TEXT, "long_name": LABELS[name]},
        )
        for name, values in {dimension: names, **further}.items()
    }


def _transmitted(units: RowUnits, multipliers: np.ndarray, energy_unit: str) -> dict:
    """Return the forces and torques of those constraints whose rows are lengths or angles."""
    found = {}
    for name, unit, what in (
        ("transmitted_force", "m", "rows in m: tension of a rod, force at the point of a joint"),
        ("transmitted_torque", "rad", "rows in rad: torque that a joint transmits"),
    ):
        # None if no row states such a unit; the variable is then omitted
        norms = units.transmitted(multipliers, unit)
        if norms is not None:
            long = (
                f"norm of the multipliers of each constraint's {what}; NaN where it has no such "
                "rows"
            )
            found[name] = (("time", "constraint"), norms, force_unit(unit, energy_unit), long)
    return found


def _servo(servo: AbstractControlLaw, seen: Observation, power_unit: str) -> dict:
    """Return the variables of a closed loop."""
    c = seen.control
    assert c is not None
    actuators = servo.units(c.u.shape[1])
    position, velocity = _residual_units(servo, list(c.missed))

    def table(by_name: dict) -> np.ndarray:
        return np.stack(list(by_name.values()), axis=1) if by_name else np.zeros((len(c.u), 0))

    each = ("time", "servo_constraint")
    return {
        "control": (
            ("time", "actuator"),
            c.u,
            common(actuators, "actuator_unit"),
            "control u",
        ),
        "servo_violation": (
            each,
            table(c.violation),
            common(position, "servo_constraint_unit"),
            "tracking error: largest |phi| of each servo constraint",
        ),
        "servo_velocity_violation": (
            each,
            table(c.velocity_violation),
            common(velocity, "servo_constraint_rate_unit"),
            "largest |psi| of each servo constraint",
        ),
        "missed": (
            each,
            table(c.missed),
            "1",
            "relative residual of A_s vdot = b_s: what the actuators leave undone",
        ),
        "authority": (
            each,
            table(c.authority),
            "1",
            "authority of the actuators over each servo constraint",
        ),
        "servo_residual": (
            ("time",),
            c.residual,
            "1",
            "relative residual of all servo constraints",
        ),
        "control_rank": (
            ("time",),
            c.rank,
            "1",
            "rank of what the actuators reach of the servo constraints",
        ),
        "control_result": (("time",), c.result, "1", "result code of the control"),
        "control_power": (("time",), seen.control_power, power_unit, "power of the actuators"),
    }


def _actuators(servo: AbstractControlLaw, seen: Observation) -> dict:
    """Return the names along the dimensions of a closed loop."""
    c = seen.control
    assert c is not None
    nu, names = c.u.shape[1], list(c.missed)
    position, velocity = _residual_units(servo, names)
    return {
        **_labels("actuator", servo.names(nu), actuator_unit=stated(servo.units(nu))),
        **_labels(
            "servo_constraint",
            names,
            servo_constraint_unit=position,
            servo_constraint_rate_unit=velocity,
        ),
    }


def _residual_units(servo: AbstractControlLaw, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the units of φ and ψ of each servo constraint."""
    known = servo.residual_units()
    both = [known.get(name, (MODEL_UNITS, MODEL_UNITS)) for name in names]
    return [x for x, _ in both], [x for _, x in both]
