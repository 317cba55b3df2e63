"""A run as named variables, with units and long names on everything."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.simulation.results.observe import Observation
from zwang.simulation.results.switched import Switched
from zwang.simulation.results.variables import Variables

FORCE_UNITS = {"m": "N", "rad": "N m", "m/s": "N", "rad/s": "N m"}


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
    work, doubt = _work(t, np.asarray(power))
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
        "q": (("time", "coordinate"), q, "", "generalized coordinate"),
        "v": (("time", "velocity"), v, "", "generalized velocity"),
        "acceleration": (("time", "velocity"), motion.acceleration, "", "generalized acceleration"),
        "free_acceleration": (
            ("time", "velocity"),
            motion.free_acceleration,
            "",
            "acceleration without constraints",
        ),
        "constraint_force": (
            ("time", "constraint", "velocity"),
            force,
            "",
            "generalized force of each constraint",
        ),
        "multipliers": (
            ("time", "row"),
            motion.multipliers,
            "",
            "Lagrange multiplier, Q_c = +A^T lambda",
        ),
        "violation": (
            ("time", "constraint"),
            per_constraint(seen.phi),
            "",
            "largest position residual |phi|",
        ),
        "velocity_violation": (
            ("time", "constraint"),
            per_constraint(seen.psi),
            "",
            "largest velocity residual |psi|",
        ),
        "relative_violation": (
            ("time", "constraint"),
            per_constraint(seen.relative),
            "1",
            "|phi| in row lengths times curvature",
        ),
        "rank": (("time",), motion.rank, "1", "rank of the constraint matrix"),
        "residual": (("time",), motion.residual, "1", "relative residual of A vdot = b"),
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
    if seen.control is not None:
        data |= _servo(seen, power_unit)
    doubtful = {"energy_balance": {"work_uncertainty": doubt}}
    return Variables(
        {
            n: (dims, x, {"units": unit, "long_name": long, **doubtful.get(n, {})})
            for n, (dims, x, unit, long) in data.items()
        },
        {
            "time": (("time",), t, {"units": "s", "long_name": "time"}),
            **_labels("coordinate", system.coordinates, coordinate_unit=system.units),
            **_labels(
                "velocity",
                system.velocities,
                velocity_unit=system.velocity_units,
                force_unit=[FORCE_UNITS.get(u, "") for u in system.velocity_units],
            ),
            **_labels("constraint", constraints.names),
            **_labels("row", labels),
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
        name: ((dimension,), np.array(values, dtype=str), {})
        for name, values in {dimension: names, **further}.items()
    }


def _work(t: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, float]:
    """∫ P dt by a cubic spline over the samples, and how far it is at most from that over every
    other sample, which says how well the
    samples resolve the power; NaN where they are too few to tell.
    """
    work, coarse = spline_integral(t, power), spline_integral(t[::2], power[::2])
    return work, float(np.max(np.abs(work[::2] - coarse))) if len(t) > 4 or not np.any(
        power
    ) else np.nan


def spline_integral(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """∫ y dt up to each t of the cubic spline through y whose third derivative does not jump at its
    second and last but one point.

    A cubic over an interval h has the integral `½ h (y₀ + y₁) + h² (s₀ − s₁) / 12` from its values
    and slopes.
    """
    return np.concatenate([np.zeros(1), np.cumsum(_cubics(np.diff(t), np.diff(y), y[:-1] + y[1:]))])


def _cubics(h: np.ndarray, rise: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Integrals over the intervals from their lengths, and differences and sums of the values at
    their ends.
    """
    from scipy.linalg import (
        solve_banded,
    )  # a third of a second, which an import of zwang need not take

    n, slope = len(h), rise / h
    if n < 3:  # a line, or a parabola
        bend = (slope[-1] - slope[0]) / np.sum(h) if n == 2 else 0.0
        return h * both / 2 - bend * h**3 / 6
    tridiagonal = np.zeros((3, n + 1))  # SciPy's own spline would take half a second to import
    tridiagonal[0, 1], tridiagonal[1, 0] = h[0] + h[1], h[1]
    tridiagonal[2, -2], tridiagonal[1, -1] = h[-1] + h[-2], h[-2]
    tridiagonal[0, 2:], tridiagonal[1, 1:-1], tridiagonal[2, :-2] = (
        h[:-1],
        2 * (h[:-1] + h[1:]),
        h[1:],
    )

    def end(h0, h1, d0, d1):
        return ((3 * h0 + 2 * h1) * h1 * d0 + h0**2 * d1) / (h0 + h1)

    inner = 3 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
    right = np.concatenate([[end(*h[:2], *slope[:2])], inner, [end(*h[:-3:-1], *slope[:-3:-1])]])
    return h * both / 2 - h**2 * np.diff(solve_banded((1, 1), tridiagonal, right)) / 12


def _servo(seen: Observation, power_unit: str) -> dict:
    """Variables of a closed loop."""
    c = seen.control
    assert c is not None

    def table(by_name: dict) -> np.ndarray:
        return np.stack(list(by_name.values()), axis=1) if by_name else np.zeros((len(c.u), 0))

    each = ("time", "servo_constraint")
    return {
        "control": (("time", "actuator"), c.u, "", "control u"),
        "servo_violation": (
            each,
            table(c.violation),
            "",
            "tracking error: largest |phi| of each servo constraint",
        ),
        "servo_velocity_violation": (
            each,
            table(c.velocity_violation),
            "",
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
    nu = c.u.shape[1]
    return {
        **_labels("actuator", servo.names(nu), actuator_unit=servo.units(nu)),
        **_labels("servo_constraint", list(c.missed)),
    }
