"""The report of `zw.check` as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zwang.algebra.rank import DEPENDENT_ROWS, NEARLY_PARALLEL
from zwang.analysis.result import table
from zwang.dynamics.control_law import Control
from zwang.errors import Result
from zwang.hierarchy.describe import level_lines
from zwang.inputs.text import counted
from zwang.remedy import MOVED, advice
from zwang.thresholds import ACCEPTED_VIOLATION, DEFAULT_RTOL

if TYPE_CHECKING:
    from zwang.analysis.check import ConstraintReport, Diagnosis

MOST_DEPENDENCIES, MOST_SUGGESTIONS, MOST_LOOSE = 8, 5, 12
"""Largest numbers of entries that are printed."""
NOT_UNIQUE = "; the motion is not unique, as friction depends on them"


def lines(d: Diagnosis):
    """The lines of a report."""
    yield (
        f"{d.model}: {counted(d.nq, 'coordinate')}, {d.nv} velocit{'y' if d.nv == 1 else 'ies'}, "
        f"{counted(d.m, 'constraint row')} of rank {d.rank}"
    )
    yield f"  degrees of freedom   {d.degrees_of_freedom}" + (
        f" ({d.nv - d.position_rank} in configuration, {d.rank - d.position_rank} taken by "
        "rows given as velocities)"
        if d.position_rank != d.rank
        else ""
    )
    if d.independent:
        shown = ", ".join(d.independent[:8]) + (
            f" and {len(d.independent) - 8} more" if len(d.independent) > 8 else ""
        )
        yield f"  free to choose       {shown}"
    if d.reach is not None and d.reach.directions:
        sure = "" if d.reach.gap < 0.1 else ", uncertain: no clear gap of singular values"
        yield (
            f"  reachable            {d.reach.dimension} dimensions by {d.reach.directions} "
            f"directions of velocity (Frobenius){sure}"
        )
    if d.loose:
        held = [f"{name} {how}" for name, how in d.loose.items()]
        more = f" and {len(held) - MOST_LOOSE} more in .loose" if len(held) > MOST_LOOSE else ""
        yield f"  unilateral           {', '.join(held[:MOST_LOOSE])}{more}"
    yield f"  redundant rows       {d.redundant_rows}{'' if d.unique_motion else NOT_UNIQUE}"
    for x in d.dependencies[:MOST_DEPENDENCIES]:
        yield f"    {x}"
    if len(d.dependencies) > MOST_DEPENDENCIES:
        yield f"    and {len(d.dependencies) - MOST_DEPENDENCIES} more in .dependencies"
    for name, why in d.unheld.items():
        yield f"  cannot be held       {name}: {why}"
    for x in d.suggestions[:MOST_SUGGESTIONS]:
        yield f"  suggestion           {x}"
    if d.rank:
        small = d.singular_values[d.rank - 1]
        near = "; close to a singular configuration" if small < NEARLY_PARALLEL else ""
        span = f"{d.singular_values[0]:.3g} … {small:.3g}"
        beside = f"threshold {DEPENDENT_ROWS:.0e}, rows at unit length"
        yield f"  singular values      {span} ({beside}){near}"
    yield (
        "  mass matrix          "
        f"{'singular, held by constraints' if d.singular_mass else 'positive definite'}"
    )
    yield (
        f"  violation            position {d.position_violation:.1e}, velocity "
        f"{d.velocity_violation:.1e} (relative)"
    )
    yield f"  residual of A v̇ = b  {d.residual:.1e} (relative)"
    if d.accuracy > DEFAULT_RTOL:
        yield (
            f"  accuracy of v̇        {d.accuracy:.1e} (relative), condition of the mass matrix "
            f"{d.mass_condition:.0e}"
        )
    yield f"  verdict              {_verdict(d)}"
    if d.constraints:
        yield ""
        rows = [("constraint", "kind", "rows", "redundant", "force", "|phi|", "|psi|")]
        rows += [
            (
                c.name,
                c.kind,
                str(c.rows),
                str(c.redundant),
                _force(c),
                *("–" if x is None else f"{x:.1e}" for x in (c.phi, c.psi)),
            )
            for c in d.constraints
        ]
        yield from table(rows)

    if d.tree:
        yield ""
        yield from level_lines(d.levels)
        yield ""
        yield from d.tree
    if d.control is not None:
        yield ""
        yield from _control_lines(d, d.control)


def _control_lines(d: Diagnosis, c: Control):
    shown = ", ".join(f"{name} {float(u):.4g}" for name, u in zip(d.actuators, c.u, strict=True))
    yield f"  control              {shown or 'no actuators'}"
    if d.control_law:
        yield f"  control law          {d.control_law}"
    yield f"  control rank         {int(c.rank)} of {len(c.u)} actuators"
    yield (
        "  control verdict      "
        f"{'' if c.result else 'the servo constraints are met: '}residual "
        f"{float(c.residual):.1e}" + (f": {Result(int(c.result)).sentence}" if c.result else "")
    )
    yield ""
    rows: list[tuple[str, ...]] = [("servo constraint", "authority", "missed", "|phi|", "|psi|")]
    for name in c.missed:
        errors = (float(x[name]) for x in (c.violation, c.velocity_violation))
        rows.append(
            (
                name,
                f"{float(c.authority[name]):.2g}",
                f"{float(c.missed[name]):.1e}",
                *("–" if np.isnan(x) else f"{x:.1e}" for x in errors),
            )
        )
    yield from table(rows)


def _force(c: ConstraintReport) -> str:
    if not c.shares:
        return "unique"
    unique = sum(c.unique_rows)
    part = f" ({unique} of {c.rows} rows are)" if unique else ""
    return ("unique, multipliers not" if c.unique_force else "not unique") + part


def _verdict(d: Diagnosis) -> str:
    if d.consistent:
        return "consistent"
    if d.position_violation >= ACCEPTED_VIOLATION:
        return f"the state is off its constraints: {advice(MOVED)}"
    if d.velocity_violation >= ACCEPTED_VIOLATION:
        return f"the velocity does not obey the constraints: {advice(MOVED)}"
    if d.unheld:
        return f"no force can hold {', '.join(d.unheld)}: a run refuses it"
    return "the constraints contradict each other at this state"
