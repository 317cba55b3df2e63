"""Small tables of an object's numbers with names and units, for terminals and notebooks."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.dynamics.labels import Labels
from zwang.equations.constraint.units import per_second
from zwang.errors import Result
from zwang.inputs.text import counted
from zwang.simulation.results.units import force_unit
from zwang.thresholds import DEFAULT_RTOL

if TYPE_CHECKING:
    from zwang.dynamics.control_law import Control
    from zwang.dynamics.motion import Motion
    from zwang.mechanism.mechanism import Mechanism
    from zwang.robots.robot import Robot
    from zwang.simulation.batch_result import Batch

FORCE_COLUMNS = 4
"""Largest number of constraints with a column of forces each; more are summed up."""
TABLE_ROWS = 40
"""Largest number of rows of a table; further rows are only counted."""


@dataclasses.dataclass(frozen=True)
class NamedTable:
    """A small table.

    Attributes:
        title: a line above; None for none.
        heading: of the columns.
        rows: strings.
        note: a line below; empty for none.
    """

    title: str | None
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """Format the table in aligned columns."""
        shown = [self.heading, *self.rows[:TABLE_ROWS]] if self.rows else []
        widths = [
            max(len(row[i]) for row in shown) for i in range(len(self.heading) if shown else 0)
        ]
        lines = [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in shown
        ]
        if (beyond := len(self.rows) - TABLE_ROWS) > 0:
            lines.append(f"  … and {beyond} more")
        title = [] if self.title is None else [self.title]
        note = [f"  {self.note}"] if self.note else []
        return "\n".join(line.rstrip() for line in [*title, *lines, *note])


def texts(tables: Sequence[NamedTable]) -> list[str]:
    """Format tables in aligned columns."""
    return [table.text() for table in tables]


def number(value, unit: str = "") -> str:
    """Format a number with its unit; zero has no sign."""
    return f"{float(value) + 0.0:.6g}{f' {unit}' if unit else ''}"


def _named(labels: Labels | None, nv: int) -> tuple[str, Sequence[str], Sequence[str], str]:
    """Title, names, units of velocities, and unit of energy, with defaults without labels."""
    if labels is None:
        return "", [f"v{i}" for i in range(nv)], [""] * nv, ""
    return labels.model, labels.velocities, labels.velocity_units, labels.energy_unit


def motion_tables(motion: Motion) -> list[NamedTable]:
    """Acceleration, free acceleration and constraint forces by velocity."""
    if np.ndim(motion.acceleration) != 1:
        n = np.shape(motion.acceleration)[:-1]
        return [NamedTable(f"motions at {' × '.join(map(str, n))} instants", (), ())]
    nv = len(motion.acceleration)
    # A motion from `motion_of` has no labels.
    title, names, units, energy = _named(motion.labels, nv)
    forces = {name: np.asarray(x) for name, x in motion.by_constraint.items() if np.size(x) == nv}
    # More columns would wrap in a terminal of 80 characters.
    if len(forces) > FORCE_COLUMNS or not forces:
        forces = {"constraints": np.asarray(motion.constraint_force)}
    columns = {
        "acceleration": np.asarray(motion.acceleration),
        "without constraints": np.asarray(motion.free_acceleration),
        **{f"force of {name}": x for name, x in forces.items()},
    }
    if motion.labels and motion.labels.singular_mass:
        # A direction without mass has no acceleration without constraints.
        del columns["without constraints"]
    rows = []
    for i in range(nv):
        rate, force = per_second(units[i]), force_unit(units[i], energy) if units[i] else ""
        cells = [
            number(x[i], force if name.startswith("force of ") else rate)
            for name, x in columns.items()
        ]
        rows.append((names[i], *cells))
    note = (
        f"rank {int(motion.rank)} of {np.size(motion.multipliers)} rows, relative residual "
        f"{float(motion.residual):.1e}{_accuracy(motion)}{_outcome(motion.result)}"
    )
    if motion.note:
        note += f"\n  {motion.note}"
    title = f"{title}: motion" if title else "motion"
    return [NamedTable(title, ("velocity", *columns), rows, note)]


def control_tables(control: Control) -> list[NamedTable]:
    """Controls; accelerations and forces by velocity; tracking errors by servo constraint."""
    if np.ndim(control.u) != 1:
        n = np.shape(control.u)[:-1]
        return [NamedTable(f"controls at {' × '.join(map(str, n))} instants", (), ())]
    nu, nv, labels = len(control.u), len(control.acceleration), control.labels
    title, names, units, energy = _named(labels, nv)
    actuators = labels.actuators if labels else [f"u{i}" for i in range(nu)]
    control_units = labels.actuator_units if labels and labels.actuator_units else [""] * nu
    applied = [
        (name, number(x, unit))
        for name, x, unit in zip(actuators, np.asarray(control.u), control_units, strict=True)
    ]
    moved = []
    for i in range(nv):
        force = force_unit(units[i], energy) if units[i] else ""
        cells = (control.acceleration[i], control.actuator_force[i], control.passive_force[i])
        shown = zip(cells, (per_second(units[i]), force, force), strict=True)
        moved.append((names[i], *(number(x, unit) for x, unit in shown)))
    errors = [
        (name, *(number(x[name]) for x in (control.violation, control.velocity_violation)))
        + (number(control.authority[name]), number(control.missed[name]))
        for name in control.authority
    ]
    note = f"rank {int(control.rank)} of {nu} actuators{_outcome(control.result)}"
    heads = (
        ("actuator", "control"),
        ("velocity", "acceleration", "force of actuators", "force of passive constraints"),
        ("servo constraint", "|phi|", "|psi|", "authority", "missed"),
    )
    return [
        NamedTable(f"{title}: control" if title else "control", heads[0], applied, note),
        NamedTable("motion under it", heads[1], moved),
        NamedTable("tracking", heads[2], errors),
    ]


def batch_tables(batch: Batch) -> list[NamedTable]:
    """Results of the members, and the range of every final coordinate over the members."""
    system, members = batch.model.system, len(batch.q)
    counted = Counter(Result(int(code)).sentence for code in batch.result)
    ended = ", ".join(f"{n} {sentence}" for sentence, n in counted.items())
    # The end of each member may be before the last sample, after an early stop.
    last = np.asarray(batch.end.q).reshape(members, -1)
    rows = [
        (name, *(number(f(x), unit) for f in (np.nanmin, np.nanmedian, np.nanmax)))
        for name, unit, x in zip(system.coordinates, system.units, last.T, strict=True)
        if np.any(np.isfinite(x))
    ]
    if batch.model.servo is not None:  # Controls are computed on demand, which takes time.
        ended += "; for what the servo could not do see .warnings"
    title = f"{batch.model.name}: {members} motions over {number(batch.t[-1], 's')}"
    return [NamedTable(title, ("at the end", "least", "median", "largest"), rows, ended)]


def mechanism_tables(mechanism: Mechanism) -> list[NamedTable]:
    """Bodies with masses and inertias, joints with their two bodies, and other parts by number."""
    unit = "kg m²"
    bodies = []
    for body in mechanism.geometry.bodies:
        inertia = np.atleast_1d(np.asarray(body.inertia, float))
        if inertia.ndim == 2:  # the diagonal of a full tensor
            inertia = np.diag(inertia)
        moments = ", ".join(f"{x:.6g}" for x in np.ravel(inertia))
        bodies.append((body.name, number(body.mass, "kg"), f"{moments} {unit}"))
    joints = [
        (name, joint.kind, " and ".join(joint.between or joint.joints or ()))
        for name, joint in mechanism.joints.items()
    ]
    parts = ("drives", "laws", "springs", "bushings", "forces", "actuators")
    have = [
        f"{len(x)} {part if len(x) != 1 else part.removesuffix('s')}"
        for part in parts
        if (x := getattr(mechanism, part))
    ]
    where = "the plane" if mechanism.d == 2 else "space"
    title = f"{mechanism.name}: {len(bodies)} bod{'y' if len(bodies) == 1 else 'ies'} and "
    title += f"{counted(len(joints), 'joint')} in {where}"
    title += f", {', '.join(have)}" if have else ""
    heading, note = ("body", "mass", "inertia about the center"), "; ".join(mechanism.notes)
    tables = [NamedTable(title, heading, bodies, note)]
    return [*tables, NamedTable("", ("joint", "kind", "of"), joints)] if joints else tables


def robot_tables(robot: Robot) -> list[NamedTable]:
    """Coordinates of the tree, actuators, loops and couplings, and unused content of the file."""
    system = robot.tree.system
    coordinates = [
        (name, unit or "1") for name, unit in zip(system.coordinates, system.units, strict=True)
    ]
    loops, couplings = robot.description.loops, robot.description.couplings
    closed = [(name, loop.kind) for name, loop in loops.items()]
    closed += [(name, "coupling") for name in couplings]
    freedoms = f"{system.nv} degree{'' if system.nv == 1 else 's'} of freedom of the tree"
    title = (
        f"{robot.name}: {freedoms}, {counted(len(closed), 'constraint')}, "
        f"{counted(len(robot.actuators), 'actuator')}"
    )
    left_out = [f"not in the model: {'; '.join(robot.unsupported)}"] if robot.unsupported else []
    note = "; ".join([*left_out, *robot.notes])
    tables = [NamedTable(title, ("coordinate", "unit"), coordinates, note)]
    if closed:
        tables.append(NamedTable("", ("constraint", "kind"), closed))
    if robot.actuators:
        tables.append(NamedTable("", ("actuator",), [(name,) for name in robot.actuators]))
    return tables


def _accuracy(motion: Motion) -> str:
    """The number of correct digits of an acceleration, if lower than a run requires by default."""
    found = float(motion.accuracy)
    return f", accurate to {found:.1e} only" if found > DEFAULT_RTOL else ""


def _outcome(code) -> str:
    """The message of a result code other than success."""
    found = Result(int(code))
    return "" if found is Result.SUCCESS else f"; {found.sentence}"
