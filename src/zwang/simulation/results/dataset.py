"""A run as named variables, with units and long names on everything."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.equations.constraint.units import MODEL_UNITS, per_second, stated
from zwang.simulation.results.observe import Observation
from zwang.simulation.results.switched import Switched
from zwang.simulation.results.units import RowUnits, common, force_unit
from zwang.simulation.results.variables import Variables
from zwang.simulation.results.work import work_of

TEXT = "1"
"""Unit of names and units, which have none."""
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
"""Long names of what stands along the dimensions."""


def variables_of(
    model: Model,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    seen: Observation,
    attrs: dict,
    active: np.ndarray,
    switches: Sequence[Switched] = (),
) -> Variables:
    """Coordinates `time`, `coordinate`, `velocity`, `constraint`, `row`; see the variables'
    `long_name` and `units`.
    """
    system, constraints = model.system, model.constraints
    motion, rows = seen.motion, constraints.row_slices
    units = RowUnits(constraints)
    coordinate_units, velocity_units = stated(system.units), stated(system.velocity_units)
    forces = [force_unit(u, system.energy_unit) for u in velocity_units]
    multiplier_units = [force_unit(u, system.energy_unit) for u in units.conjugate]
    accelerations = common([per_second(u) for u in velocity_units], "velocity_unit, per second")

    def per_constraint(x):
        return (
            np.stack([np.abs(x[:, s]).max(axis=1, initial=0.0) for s in rows.values()], axis=1)
            if rows
            else np.zeros((len(t), 0))
        )

    force = (
        np.stack([motion.by_constraint[n] for n in rows], axis=1)
        if rows
        else np.zeros((len(t), 0, system.nv))
    )
    energy = seen.kinetic + seen.potential
    energy_unit = system.energy_unit
    power_unit = "W" if energy_unit == "J" else f"{energy_unit}/s"
    power = seen.applied_power + seen.constraint_power + seen.nonideal_power + seen.control_power
    work, doubt = work_of(t, np.asarray(power))
    lost = (
        np.sum([np.where(t >= s.time, s.energy_loss, 0.0) for s in switches], axis=0)
        if switches
        else np.zeros(len(t))
    )
    labels = [
        f"{n}[{i}]" if s.stop - s.start > 1 else n
        for n, s in rows.items()
        for i in range(s.stop - s.start)
    ]
    data = {
        "q": (
            ("time", "coordinate"),
            q,
            common(coordinate_units, "coordinate_unit"),
            "generalized coordinate",
        ),
        "v": (
            ("time", "velocity"),
            v,
            common(velocity_units, "velocity_unit"),
            "generalized velocity",
        ),
        "acceleration": (
            ("time", "velocity"),
            motion.acceleration,
            accelerations,
            "generalized acceleration",
        ),
        "free_acceleration": (
            ("time", "velocity"),
            motion.free_acceleration,
            accelerations,
            "acceleration without constraints",
        ),
        "constraint_force": (
            ("time", "constraint", "velocity"),
            force,
            common(forces, "force_unit"),
            "generalized force of each constraint, ideal and nonideal part together",
        ),
        "multipliers": (
            ("time", "row"),
            motion.multipliers,
            common(multiplier_units, "multiplier_unit"),
            "Lagrange multiplier lambda of each row, Q_c = +A^T lambda: the force conjugate to the "
            "row's residual as it is written",
        ),
        "violation": (
            ("time", "constraint"),
            per_constraint(seen.phi),
            common(units.position, "constraint_unit"),
            "largest position residual |phi|",
        ),
        "velocity_violation": (
            ("time", "constraint"),
            per_constraint(seen.psi),
            common(units.velocity, "constraint_rate_unit"),
            "largest velocity residual |psi|",
        ),
        "relative_violation": (
            ("time", "constraint"),
            per_constraint(seen.relative),
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
        "kinetic_energy": (("time",), seen.kinetic, energy_unit, "kinetic energy"),
        "potential_energy": (("time",), seen.potential, energy_unit, "potential energy"),
        "energy": (("time",), energy, energy_unit, "energy"),
        "applied_power": (
            ("time",),
            seen.applied_power,
            power_unit,
            "power of forces without potential",
        ),
        "constraint_power": (
            ("time",),
            seen.constraint_power,
            power_unit,
            "power of ideal constraint forces",
        ),
        "nonideal_power": (
            ("time",),
            seen.nonideal_power,
            power_unit,
            "power of nonideal constraint forces",
        ),
        "energy_balance": (
            ("time",),
            energy - energy[0] - work + lost,
            energy_unit,
            "energy minus start minus work (work by spline over the samples)"
            + " plus what impacts took" * bool(switches),
        ),
    }
    if not np.all(active) or switches:
        data["active"] = (
            ("time", "constraint"),
            active.astype(np.int8),
            "1",
            "1 where the constraint is switched on",
        )
        data["impact_loss"] = (
            ("time",),
            lost,
            energy_unit,
            "energy lost in impacts since the start",
        )
    if seen.control is not None and model.servo is not None:
        data |= _servo(model.servo, seen, power_unit)
    data |= _transmitted(units, np.asarray(motion.multipliers), system.energy_unit)
    doubtful = {"energy_balance": {"work_uncertainty": doubt}}
    return Variables(
        {
            n: (dims, x, {"units": unit, "long_name": long, **doubtful.get(n, {})})
            for n, (dims, x, unit, long) in data.items()
        },
        {
            "time": (("time",), t, {"units": "s", "long_name": "time"}),
            **_labels("coordinate", system.coordinates, coordinate_unit=coordinate_units),
            **_labels(
                "velocity",
                system.velocities,
                velocity_unit=velocity_units,
                force_unit=forces,
            ),
            **_labels(
                "constraint",
                constraints.names,
                constraint_unit=units.position,
                constraint_rate_unit=units.velocity,
            ),
            **_labels("row", labels, multiplier_unit=multiplier_units),
            **({} if model.servo is None else _actuators(model.servo, seen)),
        },
        {
            "model": model.name,
            **{
                k: x if isinstance(x, (int, float, str)) else json.dumps(x)
                for k, x in attrs.items()
            },
        },
    )


def _labels(dimension: str, names: Sequence[str], **further: Sequence[str]) -> dict:
    """What stands along a dimension: names, and more."""
    return {
        name: (
            (dimension,),
            np.array(values, dtype=str),
            {"units": TEXT, "long_name": LABELS[name]},
        )
        for name, values in {dimension: names, **further}.items()
    }


def _transmitted(units: RowUnits, multipliers: np.ndarray, energy_unit: str) -> dict:
    """What constraints transmit whose rows state that they are lengths or angles."""
    found = {}
    for name, unit, what in (
        ("transmitted_force", "m", "rows in m: tension of a rod, force at the point of a joint"),
        ("transmitted_torque", "rad", "rows in rad: torque that a joint transmits"),
    ):
        norms = units.transmitted(multipliers, unit)
        if norms is not None:
            long = (
                f"norm of the multipliers of each constraint's {what}; NaN where it has no such "
                "rows"
            )
            found[name] = (("time", "constraint"), norms, force_unit(unit, energy_unit), long)
    return found


def _servo(servo: AbstractControlLaw, seen: Observation, power_unit: str) -> dict:
    """Variables of a closed loop."""
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
    """Names along the dimensions of a closed loop."""
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
    """Units of φ and ψ of each servo constraint."""
    known = servo.residual_units()
    both = [known.get(name, (MODEL_UNITS, MODEL_UNITS)) for name in names]
    return [x for x, _ in both], [x for _, x in both]
