"""The table that ends a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zwang.cli.advice import fitted
from zwang.inputs.text import escaped

if TYPE_CHECKING:
    from zwang.cli.timing import WallTime
    from zwang.output.report import Summary
    from zwang.output.report.summary import Worst

MOST_CROSSINGS = 12
"""Largest number of crossings and mode changes that are listed; the report lists all."""


def closing_lines(s: Summary, wall: WallTime) -> Iterator[tuple[str, str]]:
    """Heading and content of each line."""
    from zwang.output.report.page import rank_range, seconds

    yield "end", fitted(s.sentence)
    # the requested duration is shown only if it was not reached
    asked = "" if s.reached >= s.asked else f" of {s.asked:.6g} s"
    yield "simulated time", f"{s.reached:.6g} s{asked}, {s.samples} samples"
    yield (
        "wall time",
        f"{seconds(wall.total)}: "
        + ", ".join(f"{name} {seconds(x)}" for name, x in wall.phases.items()),
    )
    yield "steps", f"{s.accepted} accepted, {s.rejected} rejected{s.limit}"
    if s.violation is not None:
        # absent for linear constraints, which have no reference size
        relative = f"; relative {s.relative_violation.value:.2e}" if s.relative_violation else ""
        yield "largest violation", f"|phi| {_worst(s.violation, 'its own unit')}{relative}"
    if s.velocity_violation is not None:
        yield "velocity violation", f"|psi| {_worst(s.velocity_violation, 'its own unit/s')}"
    if s.servo_error is not None:
        yield "largest servo error", f"|phi| {_worst(s.servo_error, 'its own unit')}"
    if s.servo_velocity_error is not None:
        yield "servo velocity error", f"|psi| {_worst(s.servo_velocity_error, 'its own unit/s')}"
    if s.servo_residual is not None:
        yield "servo residual", f"{_worst(s.servo_residual, 'parts of the accelerations involved')}"
    if s.energy.conserved:
        yield (
            "energy drift",
            f"{s.energy.drift:.2e} {s.energy.unit} (kinetic energy up to {s.energy.scale:.4g} "
            f"{s.energy.unit})",
        )
    else:
        e = s.energy
        kind = "energy" if e.potential else "kinetic energy"  # gravity is work if V is unknown
        changes = (
            f"{kind} changes by up to {e.drift:.4g} {e.unit}; samples resolve the work to "
            f"{e.doubt:.1e} {e.unit}"
        )
        yield "energy balance", f"{e.balance:.2e} {e.unit} off ({changes})"
    for error in s.errors:
        unit = error.unit or "SI"
        yield (
            "error",
            f"{error.value:.2e} {unit} against the exact solution (largest: {error.coordinate})",
        )
    if s.rows:
        yield "rank", f"{rank_range(s)} of {s.rows} rows"
    for i, crossing in enumerate(s.crossings[:MOST_CROSSINGS]):
        yield ("crossings" if i == 0 else ""), str(crossing)
    if len(s.crossings) > MOST_CROSSINGS:
        yield "", f"and {len(s.crossings) - MOST_CROSSINGS} more, in the report"
    for i, switched in enumerate(s.switches[:MOST_CROSSINGS]):
        yield ("switches" if i == 0 else ""), str(switched)
    if len(s.switches) > MOST_CROSSINGS:
        yield "", f"and {len(s.switches) - MOST_CROSSINGS} more, in the report"
    yield "start moved by", f"q {s.moved_q:.2g}, v {s.moved_v:.2g} (largest entry)"


def _worst(w: Worst, unit: str) -> str:
    return f"{w.value:.2e} in {unit} (constraint {w.constraint}, t = {w.time:.4g} s)"


def print_closing(s: Summary, wall: WallTime) -> None:
    """Print the table to stdout."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        show_header=False,
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        title=Text(escaped(s.model)),
        title_justify="left",
    )
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for heading, content in closing_lines(s, wall):
        style = "bold red" if heading == "end" and s.failed else ""
        table.add_row(Text(escaped(heading)), Text(escaped(content), style=style))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    console.print(table)
