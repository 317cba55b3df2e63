"""Pictures as data for `charts.js`, which draws them in the browser with zoom and readout.

A number y is written as the single-precision number y − base, where base is the middle of its
curve; it is then known to 1e-7 of the curve's extent, however large it is. Equal curves are written
once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from markupsafe import Markup

from zwang.output.report.html import HERE
from zwang.plots import Curve, Panel, Picture
from zwang.plots.svg import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_IN_PAGE = 3000
"""Number of points of a panel's curves in the page; longer curves are thinned to the smallest and
largest value of every curve in each interval.
"""


def is_interactive(figure: Picture | Figure | None) -> TypeGuard[Picture]:
    """Return whether each curve of a figure is a function of x; others are drawn as SVG.

    Paths and matplotlib figures are not interactive.
    """
    return (
        isinstance(figure, Picture)
        and not (figure.equal or figure.logarithmic)
        and any(panel.curves for panel in figure.panels)
        and all(_over_an_axis(panel) for panel in figure.panels)
    )


def _over_an_axis(panel: Panel) -> bool:
    return not panel.labels and all(
        len(c.x) > 0 and np.isfinite(c.x).all() and np.all(np.diff(c.x) >= 0) and not c.sketch
        for c in panel.curves
    )


def data(pictures: Mapping[str, Picture]) -> Markup:
    """The pictures as JSON for a script element.

    `numbers` is a list of arrays, to which the `pictures` refer by index.
    """
    numbers: dict[tuple[float, bytes], int] = {}
    shown = {key: _picture(picture, numbers) for key, picture in pictures.items()}
    arrays = [[base, base64.b64encode(raw).decode()] for base, raw in numbers]
    text = json.dumps({"numbers": arrays, "pictures": shown}, separators=(",", ":"))
    # Names come from the user; no markup may end the element.
    return Markup(text.replace("<", "\\u003c"))


def program() -> Markup:
    """uPlot and the script that calls it."""
    library, licence, own = (_text(f) for f in ("uplot.js", "uplot.LICENSE", "charts.js"))
    # The licence must be included in every copy; it replaces the short remark.
    return Markup(f"/*! uPlot\n{licence}*/\n{library.partition('*/')[2].lstrip()}\n{own}")


def style() -> Markup:
    """The style sheets of uPlot and of the charts."""
    return Markup("\n".join(_text(f) for f in ("uplot.css", "charts.css")))


def _text(file: str) -> str:
    return (HERE / file).read_text(encoding="utf-8")


def _picture(picture: Picture, numbers: dict[tuple[float, bytes], int]) -> dict[str, Any]:
    return {
        "across": picture.xlabel,
        "panels": [
            {
                "up": panel.ylabel,
                "log": panel.logarithmic,
                "whole": panel.whole,
                "limits": panel.limits,
                "heading": panel.heading,
                "marks": [
                    {
                        "x": np.asarray(mark.x, float).tolist(),
                        "names": list(mark.names),
                        "color": _of_the_page(mark.color),
                        "dash": list(mark.dash),
                    }
                    for mark in panel.marks
                ],
                "curves": _curves(panel, numbers),
            }
            for panel in picture.panels
        ],
    }


def _curves(panel: Panel, numbers: dict[tuple[float, bytes], int]) -> list[dict[str, Any]]:
    kept = _thinned(panel)
    return [
        {
            "label": curve.label,
            "color": _of_the_page(curve.color),
            "width": curve.width,
            "dash": list(curve.dash),
            "alpha": curve.alpha,
            "marker": curve.size if curve.marker else 0,
            # Equal x values stay equal, so that curves share them.
            "x": _written(curve.x[rows], 0.0, numbers),
            "y": _written(curve.y[rows], 0.0 if panel.logarithmic else _middle(curve.y), numbers),
        }
        for curve, rows in zip(panel.drawn, kept, strict=True)
    ]


def _thinned(panel: Panel) -> list[np.ndarray]:
    """Points of each curve that are written; curves with equal x values keep the same points."""
    drawn = panel.drawn
    alike: dict[bytes, list[Curve]] = {}
    for curve in drawn:
        alike.setdefault(curve.x.tobytes(), []).append(curve)
    rows = {x: _rows(np.column_stack([c.y for c in curves])) for x, curves in alike.items()}
    return [rows[curve.x.tobytes()] for curve in drawn]


def _rows(values: np.ndarray) -> np.ndarray:
    """Rows with the extremes of all columns in each of several intervals, or all if few."""
    n, columns = values.shape
    if n <= MOST_IN_PAGE:
        return np.arange(n)
    edges = np.linspace(0, n, max(MOST_IN_PAGE // (2 * columns), 1) + 1).astype(int)
    low, high = (np.where(np.isnan(values), s * np.inf, values) for s in (1.0, -1.0))
    found = [
        a + pick(part[a:b], axis=0)
        for a, b in zip(edges[:-1], edges[1:], strict=True)
        for pick, part in ((np.argmin, low), (np.argmax, high))
    ]
    return np.unique(np.concatenate([[0, n - 1], *found]))


def _middle(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.min() / 2 + finite.max() / 2) if finite.size else 0.0


def _written(values: np.ndarray, base: float, numbers: dict[tuple[float, bytes], int]) -> int:
    with np.errstate(over="ignore"):
        raw = np.asarray(values - base, "<f4").tobytes()
    return numbers.setdefault((base, raw), len(numbers))


def _of_the_page(color: str) -> str:
    """The page's CSS variable for a color, or the color."""
    return f"--{COLORS[color]}" if color in COLORS else color
