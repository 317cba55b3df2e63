"""Small pictures of members of the gallery, in the colors of the page, light or dark."""

import contextlib
import html
import io

import numpy as np

import zwang as zw
from zwang.output.start_picture import scene_picture
from zwang.output.viewer.motion import configurations, upright
from zwang.output.wire import moved, wire
from zwang.plots import projected
from zwang.plots.bodies import JOINT
from zwang.plots.points import fewer, path

WIDTH, HEIGHT, ROOM = 220.0, 140.0, 14.0
"""Size of a picture and room around what is drawn [pixels]."""
THICK, DOT, FEW = 3.0, 4.0, 3
"""Lines and dots [pixels]; where fewer points are seen, or points alone, their paths are drawn."""
BEGIN, SLOW = 4.0, 60.0
"""Part of a run whose paths are drawn, and duration of one that is drawn as a whole [s]."""
BRAND, INK = "var(--color-brand-primary)", "var(--color-foreground-primary)"
MUTED = "var(--color-foreground-muted)"


def coil(x, y) -> tuple[np.ndarray, np.ndarray]:
    """A spring between each two points as a zigzag, a sixth as wide as it is long."""
    ends = np.stack([x, y], axis=1)
    along = np.linspace(0.0, 1.0, 21)[:, None]
    side = np.concatenate([np.zeros(3), np.tile([1.0, -1.0], 8)[:15], np.zeros(3)])[:, None] / 12
    drawn = []
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        drawn.append(a + along * (b - a) + side * np.array([a[1] - b[1], b[0] - a[0]]))
    return tuple(np.concatenate(drawn).T)


def thumbnail(name: str) -> str:
    """The start of a member as an SVG element, without axes and words."""
    example = zw.gallery.load(name)
    scene = example.scene
    q, turn = np.asarray(example.q0, float), upright(scene, np.asarray(example.q0, float))
    flat = scene.dimensions(q) == 2

    def seen(places: np.ndarray) -> np.ndarray:
        turned = places @ turn.matrix.T
        return turned[..., :2] if flat else projected(turned, *np.radians(scene.view))

    def paths() -> list[np.ndarray]:
        seconds = BEGIN if example.duration < SLOW else np.inf
        with contextlib.redirect_stdout(io.StringIO()):
            run = example.run(duration=min(example.duration, seconds), rtol=1e-6)
        t = np.linspace(float(run.steps.t[0]), float(run.steps.t[-1]), 200)
        places = scene.at(configurations(run, t)).places
        return [seen(places[:, i]) for i in range(places.shape[1])]

    poses = scene.at(q[None]).poses
    wires = [seen(moved(wire(x), poses[:, i])[0]) for i, x in enumerate(scene.bodies.values())]
    curves = scene_picture(scene, q).panels[0].curves
    shaped = len(scene.points) >= FEW and (scene.bars or scene.plates or scene.bodies)
    traced = [] if shaped else [x for x in paths() if np.min(np.ptp(x, axis=0)) > 0]
    lines = [(x.T, MUTED, THICK / 2, "") for x in traced]
    lines += [(x.T, BRAND, THICK / 2, "") for x in wires if len(x)]
    lines += [
        (coil(c.x, c.y), BRAND, THICK / 2, "") if c.dash else ((c.x, c.y), BRAND, THICK, "")
        for c in curves
        if not c.marker
    ]
    dots = [
        (x, y, INK if c.color == JOINT else BRAND)
        for c in curves
        if c.marker
        for x, y in zip(c.x, c.y, strict=True)
    ]
    points = np.concatenate([np.stack(x, axis=1) for x, *_ in lines] + [[d[:2]] for d in dots])
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * ROOM
    scale = np.min(room / np.maximum(high - low, 1e-9))
    place = lambda x, y: (
        WIDTH / 2 + scale * (np.asarray(x) - (low + high)[0] / 2),
        HEIGHT / 2 - scale * (np.asarray(y) - (low + high)[1] / 2),
    )
    parts = [
        f'<path d="{path(*fewer(*place(*x)))}" stroke="{color}" stroke-width="{thick}"{dash}/>'
        for x, color, thick, dash in lines
    ]
    for x, y, color in dots:
        a, b = place(x, y)
        parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{DOT}" fill="{color}"/>')
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" fill="none" stroke-linecap="round" '
        f'aria-label="{html.escape(name)} at its start" stroke-linejoin="round">'
        f"{''.join(parts)}</svg>"
    )
