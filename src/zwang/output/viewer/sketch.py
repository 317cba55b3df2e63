"""A run as moving lines, a page of thirty kilobytes for notebooks; `run.view` shows more."""

from __future__ import annotations

from zwang.files.packing import curves
from zwang.output.film import COLORS
from zwang.output.viewer.motion import motion
from zwang.output.viewer.page import rendered
from zwang.output.wire import wire
from zwang.scene import Scene
from zwang.simulation.results import Run

OF_NOBODY = "#7a8490"
"""Color of parts that belong to no body, visible on white and on black."""


def sketch_text(run: Run, scene: Scene) -> str:
    """Render a page that plays a run as lines on a canvas.

    Raises:
        ModelError: for a scene that does not fit the run.
    """
    made = motion(run, scene)
    color = lambda owner: COLORS[owner % len(COLORS)] if owner >= 0 else OF_NOBODY
    of = lambda part: {**part, "color": color(part["owner"])}
    kept = ("space", "view", "start", "end", "frames", "points", "traces", "places", "poses")
    return rendered(
        "sketch.html",
        {
            **{key: made[key] for key in kept},
            "bars": [of(x) for x in made["bars"]],
            "plates": [of(x) for x in made["plates"]],
            "dots": [x["point"] for x in made["joints"]] or list(range(len(made["points"]))),
            "wires": [curves(wire(shapes)) for shapes in scene.bodies.values()],
            "colors": [color(x["owner"]) for x in made["bodies"]],
        },
        name=run.name,
    )
