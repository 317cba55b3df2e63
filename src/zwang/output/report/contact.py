"""What may let go, over a run: when gaps are closed and frictions stick, what impacts give, and how
much of what friction may give is asked for.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, is_spent
from zwang.output.report.figures import Chart, finished
from zwang.output.report.tables import Table
from zwang.plots import Curve, Label, Panel
from zwang.plots.data import INK, PALETTE
from zwang.simulation.contact import Contacts
from zwang.simulation.results import Run
from zwang.simulation.results.plot import lines, units_of

THICK, THIN = 7.0, 2.0
"""Widths of the bands of what holds and of what slides [point]."""


def contact(run: Run) -> list[Chart]:
    """Bands over time, impulses, and friction beside its limit; nothing of a model without what
    may let go.
    """
    if not run.model.constraints.loose:
        return []
    first = run.steps.applied.shape[1]
    contacts = Contacts(run.model, run.flow.dynamics.p, 0)
    first -= len(contacts.names)
    modes = np.asarray(run.steps.applied)[:, first:]
    panels, tables = [_bands(run, contacts, modes)], {"held": _held(run, contacts, modes)}
    if hits := _impulses(run, contacts):
        panels.append(hits)
    used = _used(run, contacts, modes[run.saved])
    if len(contacts.frictions):
        names = [x.law.name for x in contacts.frictions]
        panels.append(lines(run.t, used, names, "friction of its limit [1]"))
        tables["friction"] = Table(run.t, [(name, "1") for name in names], used)
    caption = (
        "Thick: a gap that is closed, or a friction that sticks. Thin: a friction that slides. "
        "Impulses of the gaps at their impacts. Friction beside the largest force that sticks, "
        "μ₀ N: within its cone it is below 1; one that slides gives μ/μ₀."
    )
    return [finished(run, "contact", "Contact and friction", caption, panels, tables)]


def _bands(run: Run, contacts: Contacts, modes: np.ndarray) -> Panel:
    """A row for each gap and friction, the first one on top."""
    t, count = run.steps.t, len(contacts.names)
    curves, labels = [], []
    for k, name in enumerate(contacts.names):
        up = float(count - k)
        holds = (modes[:, k] > HELD_OFF) | is_spent(modes[:, k])
        slides = ~holds & (modes[:, k] != HELD_OFF)
        color = PALETTE[0] if k < len(contacts.gaps) else PALETTE[1]
        for width, which in ((THICK, holds), (THIN, slides)):
            ends = np.diff(np.concatenate([[False], which[:-1], [False]]).astype(int))
            begins, stops = t[np.flatnonzero(ends > 0)], t[np.flatnonzero(ends < 0)]
            x = np.stack([begins, stops, np.full(len(begins), np.nan)], axis=1).ravel()
            if len(x):
                curves.append(Curve(x, up, color=color, width=width))
        labels.append(Label((t[0], up), name, INK, (2.0, 5.0)))
    curves = curves or [Curve(t[[0, -1]], np.nan)]
    return Panel(
        curves, "gap or friction [1]", limits=(0.5, count + 0.9), whole=True, labels=labels
    )


def _held(run: Run, contacts: Contacts, modes: np.ndarray) -> Table:
    """1 where a gap is closed or a friction sticks, 0 where it is open or not loaded, −1 where it
    slides; at the ends of all steps.
    """
    held = np.where((modes > HELD_OFF) | is_spent(modes), HELD_ON, np.sign(modes))
    return Table(run.steps.t, [(name, "1") for name in contacts.names], held)


def _impulses(run: Run, contacts: Contacts) -> Panel | None:
    """A line for each impulse of a gap."""
    unit = dict(zip(contacts.gaps, contacts.names, strict=False))
    curves = []
    for k, name in enumerate(contacts.names[: len(contacts.gaps)]):
        hits = [(x.time, *x.multipliers[name]) for x in run.switches if x.multipliers.get(name)]
        if hits:
            at, size = np.array(hits)[:, 0], np.array(hits)[:, 1]
            gap = np.full(len(at), np.nan)
            x, y = np.stack([at, at, gap], 1).ravel(), np.stack([0 * at, size, gap], 1).ravel()
            curves.append(Curve(x, y, name, PALETTE[k % len(PALETTE)], 1.6))
    units = {units_of(run.variables, "multipliers")[row] for row in unit}
    unit = f"{units.pop()} s" if len(units) == 1 and "" not in units else "force × s"
    return Panel(curves, f"impulse Λ [{unit}]") if curves else None


def _used(run: Run, contacts: Contacts, modes: np.ndarray) -> np.ndarray:
    """Force of each friction beside the largest that sticks, shape (samples, frictions); NaN where
    it is not loaded.
    """
    multipliers = run.variables["multipliers"].values.reshape(len(run.t), -1)
    used = np.full((len(run.t), len(contacts.frictions)), np.nan)
    for k, x in enumerate(contacts.frictions):
        own = modes[:, len(contacts.gaps) + k]
        for i, (mode, forces) in enumerate(zip(own, multipliers, strict=True)):
            most = x.static * x.load_of(forces, x.load, contacts.gaps)
            if mode == HELD_ON and most > 0:
                used[i, k] = np.linalg.norm(forces[x.rows]) / most
            elif mode < HELD_OFF and x.static > 0:
                used[i, k] = 1.0 if is_spent(mode) else x.kinetic(0.0) / x.static
    return used
