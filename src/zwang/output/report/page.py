"""The page: headline numbers, settings, figures with their data, crossings, attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from zwang.errors import ModelError
from zwang.files import make_folder, page, write_text
from zwang.output.report import interactive
from zwang.output.report.contact import contact
from zwang.output.report.figures import Chart, charts, exact_error, phase
from zwang.output.report.html import HERE, render
from zwang.output.report.joints import driving_efforts, joint_forces
from zwang.output.report.summary import Summary, summarize
from zwang.output.report.svg import drawn, inline_svg, is_wide
from zwang.output.report.tables import Table, save_curves, stem
from zwang.plots import Picture
from zwang.simulation.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from zwang.mechanism import Reaction
    from zwang.symbolic.derivation import Derivation


@dataclasses.dataclass(frozen=True)
class Card:
    """One headline number: its label, the number, and a remark."""

    title: str
    value: str
    remark: str = ""
    alarming: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A figure in the page.

    It has its SVG, and a thinned table for each of its `tables` with a link to the complete one.
    Figures of the model are `own` and are placed side by side unless they are `wide`; their curves
    are in the file `curves`. `chart` has the attributes by which `charts.js` finds the figure.
    """

    key: str
    title: str
    caption: str
    svg: Markup | None
    tables: list[tuple[str, Table, str | None]]
    own: bool
    wide: bool
    curves: str | None
    chart: Markup


def write_report(
    run: Run,
    path: Path,
    *,
    summary: Summary | None = None,
    figures: Mapping[str, Callable[[Run], Picture | Figure]] | None = None,
    exact: Callable | None = None,
    description: str = "",
    settings: Mapping[str, Mapping[str, str]] | None = None,
    command: str = "",
    wall_time: Mapping[str, float] | None = None,
    results: str = "run.nc",
    reactions: Callable[[Run], Mapping[str, Reaction]] | None = None,
    phases: Sequence[str] = (),
    view: str = "",
    derivation: Derivation | None = None,
) -> list[str]:
    """Write the report of a run, and its curves into the folder `data` next to it.

    Args:
        run: the run, complete or not.
        path: the HTML file.
        summary: of the run; computed by default.
        figures: the model's own figures by name, shown first: pictures, or matplotlib figures.
        exact: known solution, `t (samples,)` → dict of values (samples,) by coordinate name.
        description: a paragraph about the model.
        settings: of the run, as tables by heading.
        command: the command line that repeats the run.
        wall_time: seconds by task.
        results: name of the file with all results, in the same folder.
        reactions: of a mechanism's joints.
        phases: names of coordinates whose rate is drawn over them.
        view: name of the page that plays the run, in the same folder.
        derivation: the model's equation of motion, as `zw.derive` gives it; a section of the page.

    Returns:
        A sentence for each of the model's own figures that could not be drawn, and one if the joint
        forces could not be computed.
    """
    path = page(path)
    summary = summarize(run, exact) if summary is None else summary
    own, complaints = _own_charts(run, figures or {})
    exact_chart = [exact_error(run, exact)] if exact is not None else []
    transmitted = []
    if reactions is not None:
        try:
            found = reactions(run)
            transmitted = [*driving_efforts(run, found)]
            if found:  # bodies may be connected by force laws and gaps alone
                transmitted.append(joint_forces(run, found))
        except ModelError as error:  # Other sections are shown if a run cannot give its reactions.
            complaints.append(f"the report has no joint forces: {error}")
    every = (
        own
        + [phase(run, name) for name in phases]
        + exact_chart
        + charts(run, [*contact(run), *transmitted])
    )
    sections = [_section(chart, path.parent / "data") for chart in every]
    live = {c.key: c.figure for c in every if interactive.is_interactive(c.figure)}
    text = render(
        HERE / "page.html",
        summary=summary,
        cards=cards(summary, wall_time),
        sections=sections,
        description=description,
        settings=settings or {},
        own=[s for s in sections if s.own],
        command=command,
        wall_time=wall_time or {},
        attributes=_attributes(run),
        complaints=complaints,
        results=results,
        view=view,
        derivation=None if derivation is None else _formulas(derivation),
        numbers=interactive.data(live),
        program=interactive.program() if live else None,
        chart_css=interactive.style(),
    )
    write_text(path, text)
    return complaints


def _formulas(derivation: Derivation) -> Markup:
    """The equation of motion as MathML, below the heading of a section."""
    from zwang.symbolic.printing.page import content

    return Markup(content(derivation, level=3))


def cards(s: Summary, wall_time: Mapping[str, float] | None = None) -> list[Card]:
    """The headline numbers."""
    end = "" if s.reached >= s.asked else f"of {s.asked:.6g} s asked for"
    made = [
        Card("Simulated", f"{s.reached:.6g} s", end or f"{s.samples} samples", s.failed),
        Card("Steps", f"{s.accepted}", f"{s.rejected} rejected"),
    ]
    if s.violation is not None:
        relative = f"; relative {s.relative_violation.value:.2g}" if s.relative_violation else ""
        made.append(
            Card("Largest violation", f"{s.violation.value:.2g}", s.violation.constraint + relative)
        )
    if s.velocity_violation is not None:
        made.append(
            Card(
                "Velocity violation",
                f"{s.velocity_violation.value:.2g}",
                s.velocity_violation.constraint,
            )
        )
    tracking = s.servo_error or s.servo_velocity_error
    if tracking is not None:
        made.append(Card("Largest servo error", f"{tracking.value:.2g}", tracking.constraint))
    if s.servo_residual is not None:
        made.append(
            Card(
                "Servo residual",
                f"{s.servo_residual.value:.2g}",
                s.servo_residual.constraint,
                bool(s.unmet),
            )
        )
    if s.energy.conserved:
        made.append(
            Card(
                "Energy drift",
                f"{s.energy.drift:.2g} {s.energy.unit}",
                f"kinetic energy up to {s.energy.scale:.3g} {s.energy.unit}",
            )
        )
    else:
        made.append(
            Card(
                "Energy balance",
                f"{s.energy.balance:.2g} {s.energy.unit}",
                f"kinetic energy up to {s.energy.scale:.3g} {s.energy.unit}",
            )
        )
    if s.rows:
        passed = f", {len(s.crossings)} singular configurations passed" if s.crossings else ""
        made.append(Card("Rank", rank_range(s), f"of {s.rows} rows{passed}"))
    if s.switches:
        lost = sum(x.dissipated for x in s.switches)
        made.append(
            Card("Switches", f"{len(s.switches)}", f"{lost:.3g} {s.energy.unit} lost in impacts")
        )
    if s.contact:
        worst = max(s.contact, key=lambda kind: s.contact[kind])
        other = ", ".join(f"{kind} {x:.1g}" for kind, x in s.contact.items() if kind != worst)
        made.append(Card("Contact residual", f"{s.contact[worst]:.1g}", f"{worst}; {other}"))
    for error in s.errors:
        made.append(
            Card(
                "Error",
                f"{error.value:.2g} {error.unit}",
                f"{error.coordinate} against the exact solution",
            )
        )
    if wall_time:
        integration = wall_time.get("integration")
        remark = "" if integration is None else f"integration {seconds(integration)}"
        made.append(Card("Wall time", seconds(sum(wall_time.values())), remark))
    return made


def rank_range(s: Summary) -> str:
    """The rank along a run, as "14" or "12 … 14"."""
    return (
        f"{s.highest_rank}"
        if s.lowest_rank == s.highest_rank
        else f"{s.lowest_rank} … {s.highest_rank}"
    )


def seconds(x: float) -> str:
    """Format a wall time with a fitting unit."""
    return f"{1e3 * x:.0f} ms" if x < 0.9995 else f"{x:.1f} s"


def _own_charts(
    run: Run, figures: Mapping[str, Callable[[Run], Picture | Figure]]
) -> tuple[list[Chart], list[str]]:
    """The model's own figures; if one fails, only that figure is missing."""
    made, complaints = [], []
    for i, (name, draw) in enumerate(figures.items()):
        try:
            made.append(Chart(f"own{i}", name[:1].upper() + name[1:], "", drawn(draw, run), {}))
        except Exception as error:  # The model's code may not expect a run that stopped early.
            complaints.append(
                f"figure {name!r} could not be drawn: {type(error).__name__}: {error}"
            )
    return made, complaints


def _section(chart: Chart, folder: Path) -> Section:
    svg = None if chart.figure is None else Markup(inline_svg(chart.figure, chart.key, chart.title))
    tables = []
    for name, table in chart.tables.items():
        make_folder(folder)
        saved = table.save(folder / f"{name}.csv")
        tables.append(
            (name.replace("_", " "), table, f"{folder.name}/{name}.csv" if saved else None)
        )
    wide = chart.figure is not None and is_wide(chart.figure)
    own, curves = chart.key.startswith("own"), None
    if own and chart.figure is not None:
        make_folder(folder)
        name = stem(chart.title.lower()) or chart.key
        curves = (
            f"{folder.name}/{name}.csv"
            if save_curves(chart.figure, folder / f"{name}.csv")
            else None
        )
    found = Markup("")
    if interactive.is_interactive(chart.figure):
        found = Markup(' data-chart="{}" data-title="{}"').format(chart.key, chart.title)
    return Section(chart.key, chart.title, chart.caption, svg, tables, own, wide, curves, found)


def _attributes(run: Run) -> dict[str, str]:
    hidden = ("crossings", "switches", "settings", "command", "warnings")
    return {
        name.replace("_", " "): _shown(value)
        for name, value in run.variables.attrs.items()
        if name not in hidden and value != ""
    }


def _shown(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
