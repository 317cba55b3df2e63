"""A line drawing of a scene at one configuration, without a run and without round shapes."""

from __future__ import annotations

import numpy as np

from zwang.output.viewer.motion import upright
from zwang.plots import Curve, Panel, Picture, joined, projected
from zwang.plots.bodies import BODY, HEIGHT, JOINT, SPRING
from zwang.plots.data import HALF
from zwang.scene import Scene


def scene_picture(scene: Scene, q: np.ndarray) -> Picture:
    """Draw a scene at q, shape (nq,), in space in parallel projection.

    Bars and plates are lines, joints and free bodies are dots.

    Raises:
        ModelError: for a scene that does not fit the model.
    """
    q = np.asarray(q, float)
    at, turn = scene.at(q[None]), upright(scene, q)
    flat = scene.dimensions(q) == 2

    def seen(places: np.ndarray) -> np.ndarray:
        turned = places @ turn.matrix.T
        return turned[:, :2] if flat else projected(turned, *np.radians(scene.view))

    places = seen(at.places[0])
    index = {name: i for i, name in enumerate(scene.points)}
    lines = {"spring": [], "part": []}
    for bar in scene.bars:
        kind = "spring" if bar.kind == "spring" else "part"
        lines[kind].append(places[[index[x] for x in bar.ends]])
    for plate in scene.plates:
        lines["part"].append(places[[index[x] for x in (*plate.corners, plate.corners[0])]])
    dots = [places[index[mark.point]] for mark in scene.joints]
    curves = [
        joined(lines["part"], color=BODY, width=2.2, sketch=True),
        joined(lines["spring"], color=SPRING, dash=(4, 2), sketch=True),
        _dots([*seen(at.poses[0, :, :3])], BODY),
        _dots(dots or [*places], JOINT),
    ]
    unit = f"[{scene.unit}]"
    across, up = ("x", "y") if flat else ("to the right", "up in the picture")
    panel = Panel([c for c in curves if np.size(c.x)], f"{up} {unit}", heading="as described")
    return Picture([panel], f"{across} {unit}", width=HALF, height=HEIGHT, equal=True)


def _dots(places: list[np.ndarray], color: str) -> Curve:
    x, y = np.reshape(places, (-1, 2)).T
    return Curve(x, y, color=color, width=0, marker="o", size=4.0, sketch=True)
