"""Members of the gallery to play in a page: a directive that runs one and shows its viewer,
which simulates on from where one lets go.

    ```{live} four-bar
    :duration: 4
    :height: 400
    ```

The page of the run is written beside the built pages and asks the network for nothing.
"""

import contextlib
import io
from pathlib import Path

import jax
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

import zwang as zw
from zwang.output.viewer import write_view

FOLDER = "_static/live"
LONGEST = 8.0
"""A longer run plays no more [s]; seconds of motion, not of computing."""
RTOL = 1e-6


def write_member(name: str, folder: Path, duration: float | None = None) -> Path:
    """Run a member of the gallery, and write the page that plays it and simulates on."""
    page = folder / f"{name}.html"
    if page.exists():
        return page
    folder.mkdir(parents=True, exist_ok=True)
    example = zw.gallery.load(name)
    seconds = min(example.duration, LONGEST) if duration is None else duration
    with contextlib.redirect_stdout(io.StringIO()):
        run = example.run(duration=seconds, rtol=max(RTOL, example.rtol))
    if example.scene is None:
        page.write_text("<!doctype html><title>no picture</title>", encoding="utf-8")
    else:
        said = example.description
        try:
            write_view(run, example.scene, page, description=said, simulates=True)
        except zw.ModelError as why:
            reason = str(why).partition("\n")[0].removeprefix(f"{run.name}: ")
            said = f"{said} The run is played, not simulated: {reason}"
            write_view(run, example.scene, page, description=said)
    return page


class Live(SphinxDirective):
    """An inline frame that plays a run."""

    required_arguments = 1
    option_spec = {
        "duration": lambda text: float(text),
        "height": directives.positive_int,
    }

    def run(self):
        name = self.arguments[0]
        if not self.env.config.live_runs:
            said = f"The command below writes view.html, which plays {name}."
            return [nodes.paragraph("", said)]
        folder = Path(self.env.app.outdir) / FOLDER
        write_member(name, folder, self.options.get("duration"))
        up = "../" * self.env.docname.count("/")
        frame = (
            f'<iframe src="{up}{FOLDER}/{name}.html" title="{name}, in motion" loading="lazy" '
            f'style="width:100%;height:{self.options.get("height", 440)}px;border:0"></iframe>'
        )
        return [nodes.raw("", frame, format="html")]


def setup(app):
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    app.add_config_value("live_runs", True, "env")  # -D live_runs=0 builds without running them
    app.add_directive("live", Live)
    return {"parallel_read_safe": True}
