"""A run as a film: matplotlib draws its scene frame by frame, in the plane or in space.

The page of `run.view` shows more; a film can be sent, shown on slides and viewed without a browser.
GIF is written by Pillow, MP4 by ffmpeg, which the extra `film` installs if the system has none.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zwang.errors import ModelError
from zwang.files import read_bytes, write_bytes
from zwang.files.isolation import refuse_full, scratch_folder
from zwang.files.reading import shown_path
from zwang.objects.extras import installation
from zwang.output.viewer.motion import configurations
from zwang.output.wire import moved, wire
from zwang.scene import Everything, Scene
from zwang.simulation.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIF_COLORS = 128
"""Number of colors of a GIF."""
RATE, MOST_FILM_FRAMES = 25, 1500
"""Frames per second of the film, which runs in real time, and its largest number of frames."""
ROOM_AROUND = 0.08
"""Margin around the moving parts, relative to their extent."""
LEAST_SPREAD = 0.25
"""Least extent of an axis relative to that of the widest one, in space."""
MOST_TICKS = 6
"""Number of intervals between the ticks of the widest axis."""
WHOLE = (0.0, 0.0, 1.0, 0.92)
"""Position of three-dimensional axes on the page, below the line with the time; they have margins
of their own.
"""
COLORS = ("#3b6ea8", "#c8553d", "#4f8a4c", "#8a5fa8", "#b8862b", "#4a9a9a", "#7a7a7a")


def write_film(run: Run, scene: Scene, path: Path) -> None:
    """Write the motion of a run as a film, atomically.

    Raises:
        ModelError: if nothing on the system writes MP4.
        OutputError: if the file, or the temporary one before it, cannot be written.
    """
    start, end = float(run.steps.t[0]), float(run.steps.t[-1])
    count = int(np.clip(np.ceil(RATE * (end - start)) + 1, 2, MOST_FILM_FRAMES))
    times = np.linspace(start, end, count)
    seen = scene.at(configurations(run, times))
    figure, draw = _canvas(scene, seen, scene.dimensions(run.q[0]), times)
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    # An interrupted film leaves no file under the requested name.
    with scratch_folder() as folder:
        made = folder / path.name
        write(_frames(figure, draw, count), made)
        content = read_bytes(made, "result_size")
    write_bytes(path, content)


def _frames(figure: Figure, draw: Callable[[int], list], count: int) -> Iterator[np.ndarray]:
    """Every frame as numbers from 0 to 255, shape (height, width, 4).

    The axes are drawn once; only moving parts are drawn in every frame.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    moving = draw(0)
    for artist in moving:
        artist.set_animated(True)
    canvas.draw()
    ground = canvas.copy_from_bbox(figure.bbox)
    for k in range(count):
        canvas.restore_region(ground)
        for artist in draw(k):
            figure.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())


def _write_gif(frames: Iterator[np.ndarray], path: Path) -> None:
    """Write a GIF with the palette of its first frame."""
    from PIL import Image

    colors = Image.fromarray(next(frames)[..., :3].copy()).quantize(GIF_COLORS)
    others = (
        Image.fromarray(x[..., :3].copy()).quantize(palette=colors, dither=Image.Dither.NONE)
        for x in frames
    )
    colors.save(
        path, save_all=True, append_images=others, duration=1000 // RATE, loop=0, disposal=1
    )


def _write_mp4(frames: Iterator[np.ndarray], path: Path) -> None:
    """Write a film encoded by ffmpeg.

    Raises:
        ModelError: if nothing on the system writes MP4, or ffmpeg ends early.
    """
    first = next(frames)
    height, width = (x // 2 * 2 for x in first.shape[:2])  # the encoder requires even numbers
    given = ["-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{width}x{height}", "-r", str(RATE)]
    asked = ["-an", "-vcodec", "h264", "-pix_fmt", "yuv420p", str(path)]
    command = [_ffmpeg(), "-y", "-loglevel", "error", *given, "-i", "-", *asked]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe) as program:
        assert program.stdin is not None and program.stderr is not None
        with contextlib.suppress(BrokenPipeError):
            for x in itertools.chain([first], frames):
                program.stdin.write(x[:height, :width].tobytes())
            program.stdin.close()
        said = program.stderr.read().decode(errors="replace")
    if program.returncode:
        refuse_full(said)
        last = (said.strip().splitlines() or ["no message"])[-1]
        raise ModelError(f"cannot write {shown_path(path)}: ffmpeg ends with {last:.200}")


def frame(scene: Scene, start: np.ndarray, q: np.ndarray, t: float) -> np.ndarray:
    """One picture of a scene as numbers from 0 to 255, shape (height, width, 3).

    The axes have room for motions about `start` and grow if that is not enough.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    seen = scene.at(np.stack([q, start]))
    dimensions = scene.dimensions(start)
    places = seen.places[1, :, :dimensions]
    reach = float(np.max(np.ptp(places, axis=0)))
    figure, draw = _canvas(
        scene, seen, dimensions, np.array([t, 0.0]), [places - 0.5 * reach, places + 0.5 * reach]
    )
    canvas = FigureCanvasAgg(figure)
    draw(0)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _ffmpeg() -> str:
    """Path of the program that encodes MP4."""
    if (found := shutil.which("ffmpeg")) is not None:
        return found
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        raise ModelError(
            "no program on this computer writes MP4: install ffmpeg, or write a .gif, or "
            f"{installation('film')}."
        )
    import imageio_ffmpeg

    return imageio_ffmpeg.get_ffmpeg_exe()


def _canvas(
    scene: Scene,
    seen: Everything,
    dimensions: int,
    times: np.ndarray,
    around: Sequence[np.ndarray] = (),
):
    """Make an empty figure with room for the scene, and the function that draws one frame into it.

    The axes also include the positions `around`.
    """
    from matplotlib.figure import Figure

    space = dimensions == 3
    figure = Figure(figsize=(6.4, 4.8), layout=None if space else "constrained")
    axes = figure.add_axes(WHOLE, projection="3d") if space else figure.add_subplot()
    index = {name: i for i, name in enumerate(scene.points)}
    places = seen.places[..., :dimensions]
    shapes = {name: wire(x) for name, x in scene.bodies.items()}
    wires = {
        name: moved(lines, seen.poses[:, i])[..., :dimensions]
        for i, (name, lines) in enumerate(shapes.items())
        if len(lines)
    }
    _scaled(axes, [places, *wires.values(), *around], scene)
    bodies = list(dict.fromkeys([*(x.body for x in (*scene.bars, *scene.plates)), *wires]))
    color = {body: COLORS[i % len(COLORS)] for i, body in enumerate(bodies)}
    empty = ([],) * dimensions
    parts = [(b.ends, color[b.body], 3.0) for b in scene.bars]
    parts += [((*p.corners, p.corners[0]), color[p.body], 2.0) for p in scene.plates]
    lines = [axes.plot(*empty, color=c, lw=w, solid_capstyle="round")[0] for _, c, w in parts]
    outlines = {name: axes.plot(*empty, color=color[name], lw=1.0)[0] for name in wires}
    marks = axes.plot(*empty, "o", color="#333333", ms=4)[0]
    traces = [axes.plot(*empty, color="#999999", lw=0.8)[0] for _ in scene.traces]
    points = [index[mark.point] for mark in scene.joints] or list(range(len(index)))

    def put(line, xyz: np.ndarray) -> None:
        line.set_data(xyz[:, 0], xyz[:, 1])
        if space:
            line.set_3d_properties(xyz[:, 2])

    def draw(frame: int):
        for line, (names, _, _) in zip(lines, parts, strict=True):
            put(line, places[frame, [index[name] for name in names]])
        for name, outline in outlines.items():
            put(outline, wires[name][frame])
        put(marks, places[frame, points])
        for line, name in zip(traces, scene.traces, strict=True):
            put(line, places[: frame + 1, index[name]])
        title = axes.set_title(f"t = {times[frame]:.2f} s")
        return [*lines, *outlines.values(), marks, *traces, title]

    return figure, draw


def _scaled(axes, shown: list[np.ndarray], scene: Scene) -> None:
    """Set the limits of the axes to contain all frames at one scale, so that nothing jumps."""
    every = np.concatenate([x.reshape(-1, x.shape[-1]) for x in shown])
    low, high = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    widest = max(float(np.max(high - low)), 1e-9)
    # An axis along which nothing moves still has room for its ticks.
    spread = np.maximum((LEAST_SPREAD * widest - (high - low)) / 2, 0.0)
    low, high = low - spread - ROOM_AROUND * widest, high + spread + ROOM_AROUND * widest
    for axis, a, b in zip("xyz", low, high, strict=False):
        getattr(axes, f"set_{axis}lim")(a, b)
        pad = 10.0 if len(low) == 3 else None  # distance from the ticks [point]
        getattr(axes, f"set_{axis}label")(f"{axis} [{scene.unit}]", labelpad=pad)
        # as many ticks as fit
        axes.locator_params(axis=axis, nbins=max(int(MOST_TICKS * (b - a) / widest), 2))
    axes.set_aspect("equal")
    if len(low) == 3:
        from mpl_toolkits.mplot3d import Axes3D

        assert isinstance(axes, Axes3D)
        azimuth, elevation = scene.view
        axes.view_init(elevation, azimuth)
        # Fill the page; matplotlib declares this number as an integer.
        zoom = 0.98 if high[2] - low[2] < max(high[:2] - low[:2]) else 0.8
        axes.set_box_aspect(high - low, zoom=zoom)  # pyright: ignore[reportArgumentType]
