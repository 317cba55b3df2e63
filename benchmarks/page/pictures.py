"""Diagrams of the page: error against time, time against number of bodies. Units and names on every
axis.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.page.evaluation import FAMILIES, program
from benchmarks.page.precision import TITLES

STYLES = {
    "zwang": ("C0", "o", 2.4),
    "zwang-compiled": ("C0", "s", 1.2),
    "zwang-points": ("C0", "*", 1.2),
    "numpy-dop853": ("C7", "v", 1.0),
    "numpy-dop853-points": ("C7", "*", 1.0),
    "numpy-rk4": ("C7", "^", 1.0),
    "ida": ("C5", "D", 1.0),
    "ida-points": ("C5", "*", 1.0),
    "pinocchio": ("C1", "o", 1.2),
    "exudyn-alpha": ("C2", "o", 1.2),
    "exudyn-explicit": ("C2", "x", 1.0),
    "mujoco-stiff": ("C3", "o", 1.2),
    "mujoco-default": ("C3", "x", 1.0),
    "drake": ("C4", "o", 1.2),
}
"""Color, marker and width of each peer, the same in every picture."""


def draw(results: dict, folder: Path) -> list[Path]:
    """Draw what there is."""
    found, drawn = results.get("peers"), []
    if not found:
        return drawn
    folder.mkdir(parents=True, exist_ok=True)
    import matplotlib

    with matplotlib.rc_context(
        {
            "svg.hashsalt": "zwang",
            "svg.fonttype": "none",
            "font.size": 9,
            "font.family": "sans-serif",
        }
    ):
        for problem, title in TITLES.items():
            of = [
                r
                for r in found["runs"].values()
                if r["problem"] == problem and r["status"] == "ran"
            ]
            if of:
                drawn.append(_precision(found, of, title, folder / f"{problem}.svg"))
        for family, title in FAMILIES.items():
            of = [
                r
                for r in found["evaluations"].values()
                if r["family"] == family and r["status"] == "ran"
            ]
            if of:
                drawn.append(_bodies(found, of, title, folder / f"{family}.svg"))
    return drawn


def _figure(columns: int):
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, figure.subplots(1, columns, sharey=True, squeeze=False)[0]


def _save(figure, path: Path) -> Path:
    figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def _precision(found, of, title, path: Path) -> Path:
    figure, (warm, cold) = _figure(2)
    for key, (color, marker, width) in STYLES.items():
        runs = sorted((r for r in of if r["peer"] == key), key=lambda r: -r["setting"])
        if not runs:
            continue
        error = [max(r["error"], 1e-16) for r in runs]
        style = {
            "color": color,
            "marker": marker,
            "lw": width,
            "ms": 4,
            "label": found["peers"][key]["title"],
        }
        middle = np.array([r["warm"]["median"] for r in runs])
        span = np.abs(np.array([[r["warm"]["min"], r["warm"]["max"]] for r in runs]).T - middle)
        warm.errorbar(middle, error, xerr=span, elinewidth=0.6, **style)
        cold.plot([np.median(r["cold"]) if r["cold"] else np.nan for r in runs], error, **style)
    for axes, name in ((warm, "run after the first [s]"), (cold, "whole process [s]")):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(name)
        axes.grid(True, alpha=0.3)
        _label_times(axes)
    warm.set_ylabel("largest error [rad, m]")
    figure.suptitle(title)
    figure.legend(*warm.get_legend_handles_labels(), loc="outside right", fontsize=7)
    return _save(figure, path)


WIDE = 10**3.6
"""Ratio of the ends of an axis of times from which on there is room for powers of ten only."""


def _label_times(axes) -> None:
    """Times as 0.2, 1, 50, as many as find room: the usual labels of a short logarithmic axis
    overlap.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis, (first, last) = axes.xaxis, axes.get_xlim()
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if last < WIDE * first else (1.0,), numticks=8)
    )
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _bodies(found, of, title, path: Path) -> Path:
    figure, (axes,) = _figure(1)
    for key, (color, marker, width) in STYLES.items():
        runs = sorted((r for r in of if r["peer"] == key), key=lambda r: r["bodies"])
        if not runs:
            continue
        bodies = np.array([r["bodies"] for r in runs])
        per = (
            np.array([[r["seconds"][k] for k in ("median", "min", "max")] for r in runs]).T
            / bodies
            * 1e6
        )
        label = f"{program(found, key)}, {runs[0]['what']}"
        axes.errorbar(
            bodies,
            per[0],
            yerr=np.abs(per[1:] - per[0]),
            color=color,
            marker=marker,
            lw=width,
            ms=4,
            elinewidth=0.6,
            label=label,
        )
    axes.set(xscale="log", yscale="log", xlabel="bodies", ylabel="time per body [µs]")
    axes.set_title(title[0].upper() + title[1:])
    axes.grid(True, alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right", fontsize=7)
    return _save(figure, path)
