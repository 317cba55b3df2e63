"""The figures of a report, and the data of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

from zwang.equations.constraint.units import MODEL_UNITS
from zwang.output.report.tables import Table, stem
from zwang.plots import Curve, Mark, Panel, Picture
from zwang.plots.data import MARK, MUTED, PANEL
from zwang.simulation.results import Run, Variables
from zwang.simulation.results.plot import labels_of, lines, panel, units_of
from zwang.simulation.results.variables import ADDED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_MARKS = 60
"""Largest number of crossings that are marked in the figures; more would cover them."""
MOST_NAMED = 12
"""Largest number of switches that are named in the figure of violations."""
NOISE = 1e-12
"""Power below this times the largest energy per second is not drawn."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """A figure with its data.

    Attributes:
        key: file name of its data, and identifier in the page.
        title, caption: heading and explanation.
        figure: a picture, or a matplotlib figure of the model; None if there is nothing to draw,
            for the reason in the caption.
        tables: by file name.
    """

    key: str
    title: str
    caption: str
    figure: Picture | Figure | None
    tables: dict[str, Table]


def charts(run: Run, transmitted: Sequence[Chart] = ()) -> list[Chart]:
    """Every applicable figure of a run, in reading order, with `transmitted` among the forces."""
    made = [*added(run), coordinates(run), velocities(run)]
    if run.model.servo is not None:
        made += [control(run), tracking(run)]
    made += [energy(run)]
    if run.model.constraints.m:
        made += [*transmitted, forces(run), violation(run), rank(run)]
    return [*made, step_size(run)]


def added(run: Run) -> list[Chart]:
    """A chart of each quantity that `run.add` has added."""
    names = [n for n, x in run.variables.items() if x.attrs.get(ADDED)]
    stems = [f"added_{stem(n)}" for n in names]
    files = [x if stems.count(x) == 1 else f"{x}_{i}" for i, x in enumerate(stems)]
    return [
        _drawn(run, n, f"added-{i}", n, f"{n}, added to the run.", file)
        for i, (n, file) in enumerate(zip(names, files, strict=True))
    ]


def coordinates(run: Run) -> Chart:
    return _drawn(run, "q", "coordinates", "Coordinates", "Generalized coordinates q.")


def velocities(run: Run) -> Chart:
    return _drawn(run, "v", "velocities", "Velocities", "Generalized velocities v.")


def violation(run: Run) -> Chart:
    """|φ|, |ψ| in the constraints' own units, and |φ| without units."""
    constraints, data = run.model.constraints, run.variables
    names = ["violation", "relative_violation"] if len(constraints.position_rows) else []
    # Linear constraints have no relative violation. Only exact zeros are left out, for which the
    # logarithmic axis would be empty.
    names = [n for n in names if n == "violation" or data[n].values.any()]
    names += ["velocity_violation"] if len(constraints.velocity_rows) else []
    labels = {
        "violation": "|φ| [own unit]",
        "relative_violation": "relative |φ| [1]",
        "velocity_violation": "|ψ| [own unit/s]",
    }
    if not names:
        reason = (
            "The constraints are given at the acceleration level only: they have no φ and no ψ."
        )
        return Chart("violation", "Violation", reason, None, {})
    panels = [_residuals(data, name, labels[name]) for name in names]
    caption = (
        "Largest residual of each constraint at every sample: position φ in the constraint's "
        "own unit and relative to the size of its rows, velocity ψ. Round-off of the "
        "coordinates is the least that can be reached; exact zeros are not drawn"
        + (", nor is a constraint while it is switched off." if run.switches else ".")
    )
    return finished(
        run,
        "violation",
        "Violation",
        caption,
        panels,
        {n: _table(data, n) for n in names},
        named=True,
    )


def control(run: Run) -> Chart:
    """A curve for each actuator."""
    return _drawn(run, "control", "control", "Control", "Control u of each actuator.")


def tracking(run: Run) -> Chart:
    """|φ| and |ψ| of the servo constraints, and residual accelerations above round-off."""
    data = run.variables
    labels = {
        "servo_violation": "|φ| [own unit]",
        "servo_velocity_violation": "|ψ| [own unit/s]",
        "missed": "missed acceleration [1]",
    }
    names = [n for n in labels if n != "missed" and np.isfinite(data[n].values).any()]
    names += ["missed"] if (data["control_result"].values != 0).any() or not names else []
    panels = [_residuals(data, name, labels[name]) for name in names]
    caption = (
        "Tracking error: largest residual of each servo constraint at every sample. Exact zeros "
        "are not drawn."
    )
    if "missed" in names:
        caption += (
            " Missed: what the actuators leave undone of the acceleration that a servo "
            "constraint asks for, relative to the accelerations involved."
        )
    return finished(
        run, "tracking", "Tracking error", caption, panels, {n: _table(data, n) for n in names}
    )


def energy(run: Run) -> Chart:
    """Energy, its balance, and powers if there are any."""
    data, t = run.variables, run.variables["time"].values
    total = data["energy"].values
    powers = ["applied_power", "constraint_power", "nonideal_power", "control_power"]
    # Round-off of a force that does no work is not drawn as power.
    loud = NOISE * max(np.max(np.abs(total)), np.max(np.abs(data["kinetic_energy"].values)))
    powers = [p for p in powers if p in data and np.max(np.abs(data[p].values)) > loud]
    has_potential = run.model.system.potential is not None
    shown = (
        ["kinetic_energy", "potential_energy", "energy"] if has_potential else ["kinetic_energy"]
    )
    kinds = [s.replace("_energy", "").replace("energy", "total") for s in shown]
    change = np.column_stack([total - total[0], data["energy_balance"].values])
    # An impact changes the energy in no time, without power.
    lossy = any(s.energy_loss for s in run.switches)
    names = (
        ["E − E₀", "E − E₀ − work" + " + impact losses" * lossy] if powers or lossy else ["E − E₀"]
    )
    panels = [
        lines(t, _columns(data, shown), kinds, "energy [J]"),
        lines(t, change[:, : len(names)], names, "change [J]"),
    ]
    if powers:
        panels.append(
            lines(t, _columns(data, powers), [p.replace("_power", "") for p in powers], "power [W]")
        )
    caption = "Energy and its change since the start. "
    caption += (
        "Forces without potential, moving constraints, nonideal constraints or actuators do "
        "work; what is left after subtracting it (by a spline over the samples, which resolve "
        f"it to {data['energy_balance'].attrs['work_uncertainty']:.1e} "
        f"{data['energy_balance'].attrs['units']}) is numerical."
        if powers or lossy
        else "Nothing does work on this system, so that any change is the integrator's error."
    )
    shown = [*shown, "energy_balance", *powers]
    table = Table(
        t,
        [(s.replace("_", " "), str(data[s].attrs["units"])) for s in shown],
        _columns(data, shown),
    )
    return finished(run, "energy", "Energy and power balance", caption, panels, {"energy": table})


def forces(run: Run) -> Chart:
    """Forces and torques of constraints with known units, and generalized forces and multipliers.

    For constraints without units the norm of the generalized force is shown, over entries of one
    unit.
    """
    data = run.variables
    t, names = data["time"].values, [str(c) for c in data["constraint"].values]
    transmitted = [n for n in ("transmitted_force", "transmitted_torque") if n in data]
    known = np.zeros(len(names), bool)
    panels = []
    for name in transmitted:
        values, own = data[name].values, np.isfinite(data[name].values).all(axis=0)
        # A constraint with known units is not drawn a second time as a norm.
        known |= own
        label = f"{name.replace('_', ' ')} [{data[name].attrs['units']}]"
        shown = [names[i] for i in np.flatnonzero(own)]
        panels.append(lines(t, values[:, own], shown, label))
    norms, columns = _generalized_norms(data, names)
    for kind in dict.fromkeys(unit for _, unit in columns) if not known.all() else ():
        of = [i for i, (_, u) in enumerate(columns) if u == kind and not known[i % len(names)]]
        label = f"norm of generalized force [{kind}]"
        panels.append(lines(t, norms[:, of], [names[i % len(names)] for i in of], label))
    for unit in dict.fromkeys(units_of(data, "multipliers")):
        panels.append(
            dataclasses.replace(
                panel(data, "multipliers", unit), ylabel=f"multipliers λ [{unit or MODEL_UNITS}]"
            )
        )
    caption = (
        "Force and torque that each constraint transmits, where the units of its rows are "
        "stated: the tension of a rod, the force at the point of a joint. Of other constraints "
        "the norm of the generalized force, its entries of one unit together, which counts a "
        "force once for every body that it acts on. The multipliers λ of Q_c = +Aᵀλ are the "
        "forces conjugate to the residuals as they are written; where rows are redundant they "
        "are those of least norm."
    )
    tables = {
        **{n: _table(data, n) for n in transmitted},
        "generalized_force_norm": Table(t, [(f"{n} norm", u) for n, u in columns], norms),
        **{n: _table(data, n) for n in ("constraint_force", "multipliers")},
    }
    return finished(run, "forces", "Constraint forces", caption, panels, tables)


def _generalized_norms(
    data: Variables, names: list[str]
) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Norm of each constraint's generalized force over its entries of one unit.

    Returns the norms, shape (samples, units · constraints), and constraint and unit of each column.
    """
    force = data["constraint_force"].values
    units = [str(u) for u in data["force_unit"].values]
    of = lambda kind: force[:, :, [u == kind for u in units]]
    # Entries of different units must not be added under one root.
    kinds = [u for u in dict.fromkeys(units) if np.any(np.abs(of(u)) > 0)] or units[:1]
    columns = [(name, kind) for kind in kinds for name in names]
    return np.concatenate([np.linalg.norm(of(k), axis=2) for k in kinds], axis=1), columns


def rank(run: Run) -> Chart:
    """Rank over time, with a notch at each crossing."""
    data = run.variables
    t, values, rows = (
        data["time"].values,
        data["constraint_rank"].values.astype(float),
        float(run.model.constraints.m),
    )
    for c in run.crossings:
        at = int(np.searchsorted(t, c.time))
        # Three values at one instant draw the notch: before, at and after the singular
        # configuration.
        t = np.insert(t, at, [c.time] * 3)
        values = np.insert(values, at, [c.rank_before, c.rank, c.rank_after])
    # The rank is constant until the next sample, so the curve has steps and no slopes.
    stairs = Curve(np.repeat(t, 2)[1:], np.repeat(values, 2)[:-1], "rank")
    all_rows = Curve(t[[0, -1]], rows, "rows", color=MUTED, width=0.8, dash=(4.0, 2.4))
    panels = [
        Panel(
            [stairs, all_rows],
            "rank of A [1]",
            limits=(min(values) - 0.6, max(rows, *values) + 0.6),
            whole=True,
        )
    ]
    caption = (
        f"Rank of the constraint matrix; the dashed line is its number of rows, {rows:.0f}. "
        "A notch is a singular configuration, found between the steps."
    )
    return Chart(
        "rank",
        "Rank and crossings",
        caption,
        Picture(panels, height=0.95),
        {"constraint_rank": _table(data, "constraint_rank")},
    )


def step_size(run: Run) -> Chart:
    """Length of every accepted step."""
    t = np.asarray(run.steps.t)
    h = np.diff(t)
    caption = (
        "Length of every accepted step. Samples are stepped to, so that a step is shortened to "
        "end on one."
    )
    if not len(h):
        return Chart("steps", "Steps", caption, None, {})
    # each length at the end of its step
    panels = [lines(t[1:], h[:, None], [], "step [s]", logarithmic=True, span=np.inf)]
    return finished(
        run, "steps", "Steps", caption, panels, {"steps": Table(t[1:], [("step", "s")], h[:, None])}
    )


def phase(run: Run, name: str) -> Chart:
    """A coordinate's rate over the coordinate, through every accepted step."""
    system = run.model.system
    i = system.coordinates.index(name)
    t, q, v = run.steps.t, run.steps.y[:, : system.nq], run.steps.y[:, system.nq :]
    rate = np.asarray(
        jax.jit(jax.vmap(lambda q, v, t: system.rate(q, v, t, run.flow.dynamics.p)))(q, v, t)
    )[:, i]
    unit = system.units[i] or "1"
    figure = Picture(
        [Panel([Curve(q[:, i], rate, dot=True)], f"rate of {name} [{unit}/s]")],
        f"{name} [{unit}]",
        height=2 * PANEL,
    )
    table = Table(
        t,
        [(name, system.units[i]), (f"rate of {name}", f"{unit}/s")],
        np.column_stack([q[:, i], rate]),
    )
    key = f"phase{i}"
    return Chart(
        key,
        f"Phase plot of {name}",
        "The dot is the start; every accepted step is drawn.",
        figure,
        {key: table},
    )


def exact_error(run: Run, exact) -> Chart:
    """Difference from a known solution."""
    system, known = run.model.system, exact(run.t)
    unit_of = dict(zip(system.coordinates, system.units, strict=True))
    difference = np.column_stack(
        [np.abs(run.q[:, system.coordinates.index(name)] - x) for name, x in known.items()]
    )
    units = list(dict.fromkeys(unit_of[name] for name in known))
    unit = ", ".join(u for u in units if u) or "SI"
    panels = [lines(run.t, difference, list(known), f"|q − exact| [{unit}]", logarithmic=True)]
    table = Table(run.t, [(f"error of {name}", unit_of[name]) for name in known], difference)
    caption = "Difference from the known solution at every sample."
    return finished(
        run, "exact", "Error against the exact solution", caption, panels, {"exact_error": table}
    )


def _drawn(run: Run, name: str, key: str, title: str, caption: str, file: str = "") -> Chart:
    """A chart of a variable of the dataset, a panel per unit; the data file is `key` or `file`."""
    data = run.variables
    panels = [panel(data, name, unit) for unit in dict.fromkeys(units_of(data, name))]
    return finished(run, key, title, caption, panels, {file or key: _table(data, name)})


def _residuals(data: Variables, name: str, ylabel: str) -> Panel:
    return lines(
        data["time"].values, data[name].values, labels_of(data[name]), ylabel, logarithmic=True
    )


def finished(
    run: Run,
    key: str,
    title: str,
    caption: str,
    panels: Sequence[Panel],
    tables: dict[str, Table],
    *,
    named=False,
) -> Chart:
    """A chart of panels over time, with crossings and switches marked in each panel.

    If `named`, the first panel shows the names of the switches.
    """
    marks = []
    if 0 < len(run.crossings) <= MOST_MARKS:
        marks.append(Mark([c.time for c in run.crossings], color=MARK, dash=(0.9, 1.8)))
        caption += " Dotted: singular configurations."
    if 0 < len(run.switches) <= MOST_MARKS:
        marks.append(Mark([s.time for s in run.switches]))
        caption += " Dashed: constraints switched on or off."
    panels = [dataclasses.replace(panel, marks=marks) for panel in panels]
    # more names would cover each other
    if named and 0 < len(run.switches) <= MOST_NAMED:
        marks = [
            *marks[:-1],
            dataclasses.replace(
                marks[-1], names=[s.what.replace(", ", "\n") for s in run.switches]
            ),
        ]
        panels[0] = dataclasses.replace(panels[0], marks=marks)
    return Chart(key, title, caption, Picture(panels), tables)


def _table(data: Variables, name: str) -> Table:
    values = data[name].values.reshape(len(data["time"]), -1)
    return Table(
        data["time"].values,
        list(zip(labels_of(data[name]), units_of(data, name), strict=True)),
        values,
    )


def _columns(data: Variables, names: list[str]) -> np.ndarray:
    return np.column_stack([data[n].values for n in names])
