"""Figures of contacts over a run: closed gaps, sticking friction, impulses, friction cones."""

from __future__ import annotations

import numpy as np

from zwang.compile.blocks import mapped
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, is_spent
from zwang.equations.constraint import DryFriction
from zwang.equations.constraint.units import MODEL_UNITS
from zwang.output.contact import Held, contacts_of, held, impulse_unit
from zwang.output.report.figures import Chart, finished
from zwang.output.report.tables import Table
from zwang.plots import Curve, Label, Panel, Picture
from zwang.plots.data import DASHED, HALF, INK, MARK, MUTED, PALETTE
from zwang.simulation.contact import Contacts
from zwang.simulation.results import Run
from zwang.simulation.results.plot import lines, units_of

THICK, THIN = 7.0, 2.0
"""Widths of the bands for closed or sticking contacts and for sliding ones [point]."""
BELOW = 0.22
"""Distance of the line that marks a force that is not unique below its band [bands]."""
CONES_HEIGHT = 2.6
"""Height of the picture of friction cones [inch]."""


def contact(run: Run) -> list[Chart]:
    """Charts of a model with gaps or dry friction; empty for other models.

    They are bands over time, impulses, friction relative to its limit, and friction against load.
    """
    bands = held(run)
    if not bands:
        return []
    contacts, modes = contacts_of(run)
    panels, tables = [_bands(run, bands)], {"held": _held(run, contacts, modes)}
    if hits := _impulses(run, bands):
        panels.append(hits)
    charts = []
    if len(contacts.frictions):
        forces, loads = _rubbed(run, contacts, modes[run.saved])
        used = np.abs(forces) / (loads * np.array([x.static or np.nan for x in contacts.frictions]))
        names = [x.law.name for x in contacts.frictions]
        panels.append(lines(run.t, used, names, "friction of its limit [1]"))
        tables["friction"] = Table(run.t, [(name, "1") for name in names], used)
        charts = [_cones(run, contacts, forces, loads)]
    caption = (
        "Thick: a gap that is closed, or a friction that sticks. Thin: a friction that slides. "
        "Dashed below: its force is not unique, as dependent rows share it. "
        "Impulses of the gaps at their impacts. Friction beside the largest force that sticks, "
        "μ₀ N: within its cone it is below 1; one that slides gives μ/μ₀."
    )
    return [finished(run, "contact", "Contact and friction", caption, panels, tables), *charts]


def _bands(run: Run, bands: list[Held]) -> Panel:
    """A row for each gap and friction, the first one on top."""
    curves, labels = [], []
    for k, band in enumerate(bands):
        up, own = float(len(bands) - k), PALETTE[0 if band.gap else 1]
        shown = (THICK, band.holds, up), (THIN, band.slides, up), (THIN, band.shared, up - BELOW)
        for width, times, at in shown:
            if len(times):
                x = np.column_stack([times, np.full(len(times), np.nan)]).ravel()
                color, dash = (own, ()) if at == up else (MARK, DASHED)
                curves.append(Curve(x, at, width=width, color=color, dash=dash))
        labels.append(Label((run.steps.t[0], up), band.name, INK, (2.0, 5.0), row=True))
    curves = curves or [Curve(run.steps.t[[0, -1]], np.nan)]
    limits = (0.5, len(bands) + 0.9)
    return Panel(curves, "gap or friction [1]", limits=limits, whole=True, labels=labels)


def _held(run: Run, contacts: Contacts, modes: np.ndarray) -> Table:
    """Modes of gaps and frictions at the ends of all steps.

    1 means a closed gap or sticking friction, 0 an open gap or unloaded friction, −1 sliding.
    """
    held = np.where((modes > HELD_OFF) | is_spent(modes), HELD_ON, np.sign(modes))
    return Table(run.steps.t, [(name, "1") for name in contacts.names], held)


def _impulses(run: Run, bands: list[Held]) -> Panel | None:
    """A line for each impulse of a gap."""
    curves = []
    for k, band in enumerate(bands):
        if len(band.impulses):
            (at, size), gap = band.impulses.T, np.full(len(band.impulses), np.nan)
            x, y = np.stack([at, at, gap], 1).ravel(), np.stack([0 * at, size, gap], 1).ravel()
            curves.append(Curve(x, y, band.name, PALETTE[k % len(PALETTE)], 1.6))
    return Panel(curves, f"impulse Λ [{impulse_unit(run, bands)}]") if curves else None


def _cones(run: Run, contacts: Contacts, forces: np.ndarray, loads: np.ndarray) -> Chart:
    """Each friction force against its load, signed if it has one row, and the lines ±μ₀ N."""
    rows = units_of(run.variables, "multipliers")
    units = {rows[x.rows[0]] for x in contacts.frictions}
    unit = units.pop() if len(units) == 1 and "" not in units else MODEL_UNITS
    most = float(np.nanmax(loads, initial=0.0)) or 1.0
    curves, sides = [], {x.static: len(x.rows) for x in contacts.frictions}
    for mu, count in sides.items():
        for side in (1.0,) if count == 2 else (-1.0, 1.0):
            edge = np.array([0.0, most])
            curves.append(Curve(side * mu * edge, edge, color=MUTED, width=0.9, dash=DASHED))
    for k, x in enumerate(contacts.frictions):
        points = {"width": 0.0, "marker": "o", "size": 2.5}
        color = PALETTE[k % len(PALETTE)]
        curves.append(Curve(forces[:, k], loads[:, k], x.law.name, color, **points))
    panel = Panel(curves, f"load N [{unit}]", limits=(0.0, None))
    caption = (
        "Friction force against load at every sample. The dashed lines are ±μ₀ N: a friction that "
        "sticks lies between them, and one that slides lies on ±μ N."
    )
    picture = Picture([panel], f"friction force [{unit}]", width=HALF, height=CONES_HEIGHT)
    return Chart("cones", "Friction cones", caption, picture, {})


def _rubbed(run: Run, contacts: Contacts, modes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force and load of each friction at the samples, shapes (samples, frictions); NaN if unloaded.

    A friction force of one row has its sign.
    """
    multipliers = run.variables["multipliers"].values.reshape(len(run.t), -1)
    found = np.full((2, len(run.t), len(contacts.frictions)), np.nan)
    for k, x in enumerate(contacts.frictions):
        own = modes[:, len(contacts.gaps) + k]
        slip = np.asarray(mapped(_slip, (x.law, x.p), run.q, run.v, run.t))
        for i, (mode, forces) in enumerate(zip(own, multipliers, strict=True)):
            load = x.load_of(forces, x.load, contacts.gaps)
            if mode == HELD_OFF or not load > 0:
                continue
            speed = float(np.linalg.norm(slip[i]))
            mu = x.static if is_spent(mode) else x.kinetic(speed)
            size = np.linalg.norm(forces[x.rows]) if mode == HELD_ON else mu * load
            way = forces[x.rows][0] if mode == HELD_ON else -slip[i, 0]
            found[:, i, k] = size * np.sign(way) if len(x.rows) == 1 else size, load
    return found[0], found[1]


def _slip(law: DryFriction, p, q, v, t):
    return law.sliding_velocity(q, v, t, p)
