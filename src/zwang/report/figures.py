"""Which figures a run gets in its report, and the numbers behind each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import numpy as np
from matplotlib.figure import Figure

from zwang.report.tables import Table
from zwang.run import Run, Variables
from zwang.run.plot import MARK, MUTED, PANEL, WIDTH, Picture, arrange, draw, labels_of, lines, plain, stacked, units_of

MOST_MARKS = 60
"""Crossings beyond this are not marked in the figures, which they would cover."""
MOST_NAMED = 12
"""Switches beyond this are not named in the figure of violations."""
NOISE = 1e-12
"""Power below this times the largest energy per second is not drawn."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """A figure with its numbers.

    Attributes:
        key: file name of its numbers, and identifier in the page.
        title, caption: heading, and what to see.
        figure: None where there is nothing to draw; the caption then says why.
        tables: by file name.
    """

    key: str
    title: str
    caption: str
    figure: Figure | None
    tables: dict[str, Table]


def charts(run: Run, transmitted: Sequence[Chart] = ()) -> list[Chart]:
    """Every figure that makes sense for a run, in reading order, `transmitted` among the forces; call it within
    `matplotlib.rc_context(STYLE)`."""
    made = [coordinates(run), velocities(run)]
    if run.model.constraints.m:
        made += [violation(run)]
    if run.model.servo is not None:
        made += [control(run), tracking(run)]
    made += [energy(run)]
    if run.model.constraints.m:
        made += [*transmitted, forces(run), rank(run)]
    return [*made, step_size(run)]


def coordinates(run: Run) -> Chart:
    return _drawn(run, "q", "coordinates", "Coordinates", "Generalized coordinates q.")


def velocities(run: Run) -> Chart:
    return _drawn(run, "v", "velocities", "Velocities", "Generalized velocities v.")


def violation(run: Run) -> Chart:
    """|φ|, |ψ| in the constraints' own units, and |φ| without units."""
    constraints, data = run.model.constraints, run.variables
    names = ["violation", "relative_violation"] if len(constraints.position_rows) else []
    names = [n for n in names if n == "violation" or data[n].values.any()]  # linear constraints have no size to relate to
    names += ["velocity_violation"] if len(constraints.velocity_rows) else []
    labels = {"violation": "|φ| [own unit]", "relative_violation": "relative |φ| [1]", "velocity_violation": "|ψ| [own unit/s]"}
    if not names:
        reason = "The constraints are given at the acceleration level only: they have no φ and no ψ."
        return Chart("violation", "Violation", reason, None, {})
    figure, panels = stacked(len(names))
    for axes, name in zip(panels, names, strict=True):
        lines(axes, data["time"].values, data[name].values, labels_of(data[name]), labels[name], logarithmic=True)
    for i, s in enumerate(run.switches if len(run.switches) <= MOST_NAMED else ()):
        place = {
            "xy": (s.time, 0.97 - 0.1 * (i % 3)),
            "xycoords": panels[0].get_xaxis_transform(),
            "xytext": (2, 0),
            "textcoords": "offset points",
        }
        panels[0].annotate(plain(s.what.replace(", ", "\n")), **place, va="top", fontsize=7, color=MUTED)
    caption = (
        "Largest residual of each constraint at every sample: position φ in the constraint's own unit and relative to "
        "the size of its rows, velocity ψ. Round-off of the coordinates is the least that can be reached; exact zeros "
        "are not drawn" + (", nor is a constraint while it is switched off." if run.switches else ".")
    )
    return finished(run, Chart("violation", "Violation", caption, figure, {n: _table(data, n) for n in names}), panels)


def control(run: Run) -> Chart:
    """A curve for each actuator."""
    return _drawn(run, "control", "control", "Control", "Control u of each actuator.")


def tracking(run: Run) -> Chart:
    """|φ| and |ψ| of the servo constraints, and what their accelerations miss where that is more than round-off."""
    data = run.variables
    labels = {
        "servo_violation": "|φ| [own unit]",
        "servo_velocity_violation": "|ψ| [own unit/s]",
        "missed": "missed acceleration [1]",
    }
    names = [n for n in labels if n != "missed" and np.isfinite(data[n].values).any()]
    names += ["missed"] if (data["control_result"].values != 0).any() or not names else []
    figure, panels = stacked(len(names))
    for axes, name in zip(panels, names, strict=True):
        lines(axes, data["time"].values, data[name].values, labels_of(data[name]), labels[name], logarithmic=True)
    caption = "Tracking error: largest residual of each servo constraint at every sample. Exact zeros are not drawn."
    if "missed" in names:
        caption += (
            " Missed: what the actuators leave undone of the acceleration that a servo constraint asks for, relative to the "
            "accelerations involved."
        )
    return finished(run, Chart("tracking", "Tracking error", caption, figure, {n: _table(data, n) for n in names}), panels)


def energy(run: Run) -> Chart:
    """Energy, its balance, and powers where there are any."""
    data, t = run.variables, run.variables["time"].values
    total = data["energy"].values
    powers = ["applied_power", "constraint_power", "nonideal_power", "control_power"]
    loud = NOISE * max(np.max(np.abs(total)), np.max(np.abs(data["kinetic_energy"].values)))
    powers = [p for p in powers if p in data and np.max(np.abs(data[p].values)) > loud]
    has_potential = run.model.system.potential is not None
    shown = ["kinetic_energy", "potential_energy", "energy"] if has_potential else ["kinetic_energy"]
    figure, panels = stacked(3 if powers else 2)
    lines(panels[0], t, _columns(data, shown), [s.replace("_energy", "").replace("energy", "total") for s in shown], "energy [J]")
    change = np.column_stack([total - total[0], data["energy_balance"].values])
    lossy = any(s.energy_loss for s in run.switches)
    names = ["E − E₀", "E − E₀ − work" + " + impact losses" * lossy] if powers or lossy else ["E − E₀"]
    lines(panels[1], t, change[:, : len(names)], names, "change [J]")
    if powers:
        lines(panels[2], t, _columns(data, powers), [p.replace("_power", "") for p in powers], "power [W]")
    caption = "Energy and its change since the start. "
    caption += (
        "Forces without potential, moving constraints, nonideal constraints or actuators do work; what is left after subtracting it "
        f"(by a spline over the samples, which resolve it to {data['energy_balance'].attrs['work_uncertainty']:.1e} "
        f"{data['energy_balance'].attrs['units']}) is numerical."
        if powers or lossy
        else "Nothing does work on this system, so that any change is the integrator's error."
    )
    shown = [*shown, "energy_balance", *powers]
    table = Table(t, [(s.replace("_", " "), str(data[s].attrs["units"])) for s in shown], _columns(data, shown))
    return finished(run, Chart("energy", "Energy and power balance", caption, figure, {"energy": table}), panels)


def forces(run: Run) -> Chart:
    """Norm of each constraint's generalized force, entries of one unit together, and the multipliers."""
    data = run.variables
    force = data["constraint_force"].values
    units = [str(u) for u in data["force_unit"].values]
    names = [str(c) for c in data["constraint"].values]
    kinds = [u for u in dict.fromkeys(units) if np.any(np.abs(force[:, :, [x == u for x in units]]) > 0)] or [""]
    figure, panels = stacked(len(kinds) + 1)
    columns, values = [], []
    for axes, kind in zip(panels, kinds, strict=False):
        norm = np.linalg.norm(force[:, :, [x == kind for x in units]], axis=2)
        lines(axes, data["time"].values, norm, names, f"norm of force [{kind or 'SI'}]")
        columns += [(f"{n} norm", kind) for n in names]
        values.append(norm)
    draw(panels[-1], data, "multipliers")
    panels[-1].set_ylabel("multipliers λ [SI]")
    caption = (
        "Generalized force of each constraint, ideal and nonideal part together, as the norm of its entries of one unit, "
        "and the multipliers λ of Q_c = +Aᵀλ; where rows are redundant the multipliers are those of least norm."
    )
    norms = Table(data["time"].values, columns, np.concatenate(values, axis=1))
    tables = {"constraint_force_norm": norms, **{n: _table(data, n) for n in ("constraint_force", "multipliers")}}
    return finished(run, Chart("forces", "Constraint forces", caption, figure, tables), panels)


def rank(run: Run) -> Chart:
    """Rank over time, with a notch at each crossing."""
    data = run.variables
    figure, panels = stacked(1)
    t, values = data["time"].values, data["rank"].values.astype(float)
    for c in run.crossings:
        at = int(np.searchsorted(t, c.time))
        t = np.insert(t, at, [c.time] * 3)
        values = np.insert(values, at, [c.rank_before, c.rank, c.rank_after])
    panels[0].plot(t, values, drawstyle="steps-post")
    panels[0].set_ylabel("rank of A [1]")
    panels[0].margins(x=0.01)
    panels[0].set_ylim(min(values) - 0.6, max(run.model.constraints.m, max(values)) + 0.6)
    panels[0].yaxis.get_major_locator().set_params(integer=True)
    panels[0].axhline(run.model.constraints.m, color=MUTED, lw=0.8, ls=(0, (5, 3)))
    caption = (
        f"Rank of the constraint matrix; the dashed line is its number of rows, {run.model.constraints.m}. "
        "A notch is a singular configuration, found between the steps."
    )
    chart = Chart("rank", "Rank and crossings", caption, figure, {"rank": _table(data, "rank")})
    return finished(run, chart, panels, height=0.95, marks=False)


def step_size(run: Run) -> Chart:
    """Length of every accepted step."""
    t = np.asarray(run.steps.t)
    h = np.diff(t)
    figure, panels = stacked(1)
    if len(h):
        lines(panels[0], t[1:], h[:, None], [], "step [s]", logarithmic=True, span=np.inf)
    caption = "Length of every accepted step. Samples are stepped to, so that a step is shortened to end on one."
    tables = {"steps": Table(t[1:], [("step", "s")], h[:, None])} if len(h) else {}
    return finished(run, Chart("steps", "Steps", caption, figure if len(h) else None, tables), panels)


def phase(run: Run, name: str) -> Chart:
    """A coordinate's rate over the coordinate, through every accepted step."""
    system = run.model.system
    i = system.coordinates.index(name)
    t, q, v = run.steps.t, run.steps.y[:, : system.nq], run.steps.y[:, system.nq :]
    rate = np.asarray(jax.jit(jax.vmap(lambda q, v, t: system.rate(q, v, t, run.flow.dynamics.p)))(q, v, t))[:, i]
    unit = system.units[i] or "1"
    figure = Picture(figsize=(WIDTH, 0.42 * WIDTH), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(q[:, i], rate)
    axes.plot(q[0, i], rate[0], "o", ms=5, color=MARK, label="start")
    axes.set(xlabel=plain(f"{name} [{unit}]"), ylabel=plain(f"rate of {name} [{unit}/s]"))
    axes.legend(loc="best")
    table = Table(t, [(name, system.units[i]), (f"rate of {name}", f"{unit}/s")], np.column_stack([q[:, i], rate]))
    key = f"phase{i}"
    return Chart(key, f"Phase plot of {name}", "The dot is the start; every accepted step is drawn.", figure, {key: table})


def exact_error(run: Run, exact) -> Chart:
    """Difference from a known solution."""
    system, known = run.model.system, exact(run.t)
    unit_of = dict(zip(system.coordinates, system.units, strict=True))
    difference = np.column_stack([np.abs(run.q[:, system.coordinates.index(name)] - x) for name, x in known.items()])
    units = list(dict.fromkeys(unit_of[name] for name in known))
    figure, panels = stacked(1)
    unit = ", ".join(u for u in units if u) or "SI"
    lines(panels[0], run.t, difference, list(known), f"|q − exact| [{unit}]", logarithmic=True)
    table = Table(run.t, [(f"error of {name}", unit_of[name]) for name in known], difference)
    caption = "Difference from the known solution at every sample."
    chart = Chart("exact", "Error against the exact solution", caption, figure, {"exact_error": table})
    return finished(run, chart, panels)


def _drawn(run: Run, name: str, key: str, title: str, caption: str) -> Chart:
    """A variable of the dataset, a panel per unit."""
    data = run.variables
    units = list(dict.fromkeys(units_of(data, name)))
    figure, panels = stacked(len(units))
    for axes, unit in zip(panels, units, strict=True):
        draw(axes, data, name, unit)
    return finished(run, Chart(key, title, caption, figure, {key: _table(data, name)}), panels)


def finished(run: Run, chart: Chart, panels: list, *, height: float = PANEL, marks: bool = True) -> Chart:
    """Arrange the panels and mark the crossings in each."""
    if chart.figure is not None:
        arrange(chart.figure, panels, height=height)
    if not marks or chart.figure is None:
        return chart
    for events, color, dashes, told in (
        (run.crossings, MARK, (0, (1, 2)), "Dotted: singular configurations."),
        (run.switches, MUTED, (0, (5, 2)), "Dashed: constraints switched on or off."),
    ):
        if 0 < len(events) <= MOST_MARKS:
            times = np.repeat([event.time for event in events], 3)
            heights = np.tile([0.0, 1.0, np.nan], len(events))  # one path for all, which draws in no time
            for axes in panels:
                axes.plot(times, heights, transform=axes.get_xaxis_transform(), color=color, lw=0.9, ls=dashes, zorder=0.5)
            chart = dataclasses.replace(chart, caption=f"{chart.caption} {told}")
    return chart


def _table(data: Variables, name: str) -> Table:
    values = data[name].values.reshape(len(data["time"]), -1)
    return Table(data["time"].values, list(zip(labels_of(data[name]), units_of(data, name), strict=True)), values)


def _columns(data: Variables, names: list[str]) -> np.ndarray:
    return np.column_stack([data[n].values for n in names])
