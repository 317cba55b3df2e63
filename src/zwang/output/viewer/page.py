"""The page: data, style and script in one file."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2
from markupsafe import Markup

from zwang.files import page, write_text
from zwang.output.viewer.motion import motion
from zwang.scene import Scene
from zwang.simulation.results import Run
from zwang.version import __version__

HERE = Path(__file__).parent


def write_view(
    run: Run,
    scene: Scene,
    path: Path,
    *,
    description: str = "",
    report: str | None = None,
    simulates: bool = False,
) -> None:
    """Write a run as a page that plays it, in one file without network access.

    Args:
        run: the run, complete or not.
        scene: the scene.
        path: the HTML file.
        description: a sentence about the model.
        report: name of the report in the same folder, for a link.
        simulates: whether the page computes other motions, too.

    Raises:
        ModelError: for a file name extension other than `.html`, a scene that does not fit the run,
            a mesh that cannot be read, or a model that cannot be simulated in a browser.
    """
    options = {"description": description, "report": report, "simulates": simulates}
    write_text(page(path), view_text(run, scene, **options))


def view_text(
    run: Run,
    scene: Scene,
    *,
    description: str = "",
    report: str | None = None,
    simulates: bool = False,
) -> str:
    """Render the page that plays a run; arguments as in `write_view`."""
    numbers = motion(run, scene)
    if simulates:
        from zwang.output.viewer.live import live  # imports the whole code generator

        numbers["live"] = live(run, scene)
    stopped = (
        ""
        if not run.result.is_failure
        else f"stopped at t = {run.steps.t[-1]:.6g} s: {run.sentence}"
    )
    return rendered(
        "view.html",
        numbers,
        name=run.name,
        description=description,
        stopped=stopped,
        report=report,
        simulates=simulates,
        lets_go=numbers["contact"] is not None,
        wasm=Markup(" 'wasm-unsafe-eval'") if simulates else "",
    )


def rendered(template: str, data: dict, **values) -> str:
    """Render a page with its data, texts, and the files that it names."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    # "<" is escaped, as a name in the data could close the script element.
    numbers = Markup(
        json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    )
    values = {"data": numbers, "file": _text, "version": __version__, **values}
    return environment.get_template(template).render(**values)


def _text(file: str) -> Markup:
    text = (HERE / file).read_text(encoding="utf-8")
    if file != "three.js":
        # Indentation and comments would be a fifth of a page's script.
        lines = map(str.strip, text.splitlines())
        return Markup("\n".join(x for x in lines if not x.startswith("//")))
    # The licence of the library must be included in every copy.
    return Markup("/*! three.js\n") + _text("three.LICENSE") + "*/\n" + Markup(text)
