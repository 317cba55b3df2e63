"""Presentation of results by `run.report`, `run.view`, `run.animate` and notebooks.

Results find these functions by name (`zwang.simulation.results.presentation.present`).
"""

from __future__ import annotations

import html
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from zwang.errors import ModelError
from zwang.files import make_folder, page
from zwang.files.reading import shown_path
from zwang.inputs.text import counted
from zwang.output import described, named_tables
from zwang.output.described import (
    text_of_environment,  # noqa: F401 (found by name)
    text_of_example,  # noqa: F401
    text_of_presentation,  # noqa: F401
    text_of_scene,  # noqa: F401
    text_of_switch,  # noqa: F401
    text_of_values,  # noqa: F401
)
from zwang.output.film import frame as frame
from zwang.output.film import write_film
from zwang.output.named_tables import NamedTable, texts
from zwang.output.report import write_report
from zwang.output.start_picture import scene_picture
from zwang.output.viewer import write_view
from zwang.output.viewer.sketch import sketch_text
from zwang.plots import Curve, Panel, Picture
from zwang.plots.script import open_in_browser
from zwang.plots.svg import svg
from zwang.scene import Scene
from zwang.simulation.results import Run
from zwang.simulation.results.plot import MOST_NAMED_CURVES, plot
from zwang.simulation.results.presentation import Presentation, presentation_of

if TYPE_CHECKING:
    from zwang.analysis.check import Diagnosis
    from zwang.analysis.result import AbstractResult
    from zwang.gallery.example import Example
    from zwang.mechanism.mechanism import Mechanism
    from zwang.robots.robot import Robot
    from zwang.simulation.batch_result import Batch
    from zwang.symbolic.derivation import Derivation

FILMS = (".mp4", ".gif")
"""File name extensions of films that are drawn frame by frame."""
TABLES: dict[str, Callable[..., list[NamedTable]]] = {
    "batch": named_tables.batch_tables,
    "bodies": described.bodies_tables,
    "constraints": described.constraints_tables,
    "control": named_tables.control_tables,
    "mechanism": named_tables.mechanism_tables,
    "model": described.model_tables,
    "motion": named_tables.motion_tables,
    "placement": described.placement_tables,
    "reaction": described.reaction_tables,
    "robot": named_tables.robot_tables,
    "servo": described.servo_tables,
    "system": described.system_tables,
    "trajectory": described.trajectory_tables,
    "variables": described.variables_tables,
}
"""The tables that describe an object of each kind."""
SHOWN_MEMBERS = 24
"""Largest number of batch members that a notebook draws."""
UNFOLDED = 16
"""Largest number of table rows that a notebook shows at once."""
SHOWN_COORDINATES = 6
"""Largest number of coordinates of a batch that a notebook draws."""


def report(run: Run, path: str | Path, shown: Presentation) -> Path:
    """Write the report of a run."""
    path = page(path)
    make_folder(path.parent)
    write_report(
        run,
        path,
        figures=shown.figures,
        exact=shown.exact,
        description=shown.description,
        settings=shown.settings,
        command=str(run.attrs.get("command", "")),
        reactions=shown.reactions,
        derivation=shown.derivation,
    )
    return path


def view(
    run: Run, path: str | Path | None, shown: Presentation, *, must_simulate: bool = False
) -> Path:
    """Write the page that plays a run, and simulates on from an instant that it shows.

    A model that cannot be simulated in a browser is played, or refused if `must_simulate`.

    Without a path the page is shown in the cell of a notebook or in the browser.
    """
    scene = _scene_of(run, shown)
    shown_at = Path(tempfile.mkdtemp(prefix="zwang-")) / "view.html" if path is None else page(path)
    try:
        write_view(run, scene, shown_at, description=shown.description, simulates=True)
    except ModelError:
        if must_simulate:
            raise
        write_view(run, scene, shown_at, description=shown.description)
    if path is None:
        if (show := _cell()) is None:
            open_in_browser(shown_at)
        else:  # the kernel may run on another machine
            show({"text/html": _frame(shown_at.read_text(encoding="utf-8"))}, raw=True)
    return shown_at


def _cell() -> Callable | None:
    """The function that displays an object below a notebook cell, or None outside of notebooks."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if module is None or "IPKernelApp" not in getattr(shell, "config", ()):
        return None
    return module.display.display


def animate(run: Run, path: str | Path | None, shown: Presentation) -> Path | None:
    """Write the motion of a run as a film or as a page, or play it.

    Below a notebook cell it is played as lines on a canvas, a tenth of the page's size.
    """
    if path is None and (show := _cell()) is not None:
        return show({"text/html": _frame(sketch_text(run, _scene_of(run, shown)))}, raw=True)
    if path is None:
        return view(run, None, shown)
    path, ending = Path(path), Path(path).suffix.lower()
    if ending not in (*FILMS, ".html"):
        raise ModelError(
            f"cannot write {shown_path(path)}: the ending {ending!r:.40} names no film; expected "
            f"{', '.join(FILMS)} or .html."
        )
    scene = _scene_of(run, shown)
    if ending == ".html":
        return view(run, path, shown)
    write_film(run, scene, path)
    return path


def notebook(run: Run) -> str:
    """Show a run in a notebook: its summary, a player, and figures."""
    few = run.model.system.nv <= MOST_NAMED_CURVES
    names = ("q", "v", "energy") if few else ("q", "energy")
    pictures = [_picture(plot(run.variables, (name,)), name) for name in names]
    try:
        shown = presentation_of(run, {}, "scene")
        player = "" if shown.scene is None else _frame(sketch_text(run, shown.scene))
    except ModelError:  # the model of a loaded run that is not trusted: figures need none
        player = ""
    return f"{_text(str(run))}{player}{''.join(pictures)}"


def notebook_of_result(found: AbstractResult) -> str:
    """Show a result of an analysis in a notebook: its text, and its plot without arguments."""
    draw = getattr(found, "plot", None)
    if draw is None or any(
        x.default is x.empty and x.kind is not x.VAR_POSITIONAL
        for x in inspect.signature(draw).parameters.values()
    ):
        return _text(str(found))
    return _text(str(found)) + _picture(draw(), type(found).__name__)


def notebook_of_derivation(found: Derivation) -> str:
    """Show formulas in a notebook, typeset by the browser."""
    from zwang.symbolic.printing.page import content

    return f'<div style="overflow:auto">{content(found, level=4)}</div>'


def notebook_of_example(example: Example) -> str:
    """Show a member of the gallery in a notebook: its description and a picture of its start."""
    said = f"<p><b>{html.escape(example.model.name)}</b>: {html.escape(example.description)}</p>"
    picture = "" if example.scene is None else scene_picture(example.scene, example.q0)
    return (
        said + (_picture(picture, "start") if picture else "") + notebook_of(example.model, "model")
    )


def notebook_of_diagnosis(diagnosis: Diagnosis) -> str:
    """Show a diagnosis in a notebook: its lines, and a table of its constraints."""
    rows = [(c.name, c.kind, c.rows, c.redundant) for c in diagnosis.constraints]
    heading = ("constraint", "kind", "rows", "rows implied by those before")
    return _text(str(diagnosis)) + _table(heading, rows)


def notebook_of_batch(batch: Batch) -> str:
    """Show a batch in a notebook: how its members ended, and the coordinates of some of them."""
    failed, system = batch.failures, batch.model.system
    head = f"{batch.model.name}: {counted(len(batch.q), 'motion')}, {len(failed)} stopped early"
    sentences = [f"{i}: {sentence}" for i, sentence in list(failed.items())[:10]]
    panels = [
        Panel(
            [Curve(batch.t, x, width=0.8) for x in batch.q[:SHOWN_MEMBERS, :, i]],
            f"{name} [{unit}]" if unit else name,
        )
        for i, (name, unit) in enumerate(
            zip(system.coordinates[:SHOWN_COORDINATES], system.units, strict=False)
        )
    ]
    if (drawn := min(SHOWN_MEMBERS, len(batch.q))) < len(batch.q):
        sentences.append(f"drawn: the first {drawn}")
    return _text("\n".join([head, *sentences])) + _picture(Picture(panels), "coordinates")


def text_of(shown: object, kind: str) -> str:
    """Format the tables of an object as text."""
    return "\n".join(texts(TABLES[kind](shown)))


def notebook_of(shown: object, kind: str) -> str:
    """Show the tables of an object in a notebook, with titles and notes; long ones are
    collapsed.
    """
    parts = []
    for made in TABLES[kind](shown):
        table = _table(made.heading, made.rows) if made.rows else ""
        if len(made.rows) > UNFOLDED:
            table = f"<details><summary>{len(made.rows)} rows</summary>{table}</details>"
        title = _text(made.title) if made.title else ""
        parts.append(title + table + (_text(made.note) if made.note else ""))
    return "".join(parts)


def presentation_of_mechanism(mechanism: Mechanism) -> Presentation:
    """The figures, scene and texts for runs of a mechanism."""
    from zwang.mechanism.drawing import motion_picture, start_picture
    from zwang.mechanism.reactions import reactions
    from zwang.mechanism.scene import scene

    return Presentation(
        mechanism.description,
        {"At the start": start_picture(mechanism), "Motion": motion_picture(mechanism)},
        scene=scene(mechanism),
        reactions=lambda run: reactions(mechanism, run),
        mechanism=mechanism,
    )


def presentation_of_robot(robot: Robot) -> Presentation:
    """The figures, scene and texts for runs of a robot."""
    from zwang.robots.scene import scene

    return Presentation(scene=scene(robot))


def _scene_of(run: Run, shown: Presentation) -> Scene:
    from zwang.scene import particle_scene

    system = run.model.system
    found = shown.scene or particle_scene(system.coordinates, system.units)
    if found is None:
        raise ModelError(
            f"nothing says what there is to see of {run.name}: give scene=zw.Scene(...), "
            "as docs/viewer.md does for a point on a rod."
        )
    return found


def _text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _picture(picture: Picture, title: str) -> str:
    return f"<div>{svg(picture, title, f'zwang-{id(picture):x}', themed=False)}</div>"


def _frame(page: str) -> str:
    # srcdoc isolates the page's identifiers and styles from those of the notebook
    return (
        f'<iframe srcdoc="{html.escape(page)}" title="motion" loading="lazy" '
        'style="width:100%;height:420px;border:0"></iframe>'
    )


def _table(heading: Iterable, rows: Iterable[Iterable]) -> str:
    cells = lambda row, tag: "".join(f"<{tag}>{html.escape(str(x))}</{tag}>" for x in row)
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    head = f"<thead><tr>{cells(heading, 'th')}</tr></thead>"
    table = f"<table>{head}<tbody>{body}</tbody></table>"
    return f'<div style="font-family:monospace">{table}</div>'
