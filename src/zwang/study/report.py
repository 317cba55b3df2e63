"""The page of a study: results, maps of two quantities, parallel coordinates, cases."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from zwang.errors import ModelError
from zwang.files import make_folder, page, write_text
from zwang.output.report import render
from zwang.plots import Curve, Panel, Picture
from zwang.plots.svg import svg

if TYPE_CHECKING:
    from zwang.study.result import Sweep

HERE = Path(__file__).parent
MOST_DRAWN_CASES = 3000
"""Largest number of cases in the parallel coordinates and in their table; more are thinned evenly.
"""
MOST_CELLS = 60
"""Number of cells along each side of a map."""
MOST_OUTPUTS = 6
"""Largest number of outputs with a map and a table of extreme cases."""
BINS = 24
"""Largest number of classes of each quantity of a map if the cases are not a grid."""
DECADES = 3.0
"""Range of positive values, in decades, from which on their logarithm is drawn."""


@dataclasses.dataclass(frozen=True)
class Map:
    """An output over two quantities: the mean in each cell, and its color.

    Attributes:
        output, across, up: names with units.
        ends: the values of the lightest and the darkest cell, in words.
        columns, rows: values at the cells.
        cells: for each row, from the top, (text, share of the range or None).
    """

    output: str
    across: str
    up: str
    ends: str
    columns: list[str]
    rows: list[tuple[str, list[tuple[str, float | None]]]]


def write_report(study: Sweep, path: Path) -> Path:
    """Write the page of a study."""
    make_folder(page(path).parent)
    # evenly thinned, so that the picture keeps the spread of the cases
    kept = np.unique(np.linspace(0, len(study) - 1, min(len(study), MOST_DRAWN_CASES)).astype(int))
    names = [*study.quantities, *study.outputs]
    data = study.table[["case", *names, "result"]].iloc[kept]
    rows = [
        [None if isinstance(x, float) and not np.isfinite(x) else x for x in row]
        for row in data.itertuples(index=False, name=None)
    ]
    units = ["", *(study.plan.units.get(name, "") for name in names), ""]
    content = {"names": ["case", *names, "result"], "units": units, "rows": rows}
    failures = study.failures["sentence"].value_counts()
    text = render(
        HERE / "study.html",
        study=study,
        summary=study.summary().to_dict("index"),
        units=study.plan.units,
        success=study.success([]),
        asked=" and ".join(map(str, study.conditions)),
        met=study.success(),
        failures=[(int(n), str(sentence)) for sentence, n in failures.items()],
        maps=maps(study),
        curves=Markup(curves(study)),
        indices=indices(study),
        worst=worst(study),
        shown=len(kept),
        program=Markup((HERE / "study.js").read_text(encoding="utf-8")),
        data=Markup(json.dumps(content, allow_nan=False).replace("<", "\\u003c")),
    )
    write_text(path, text)
    return path


def indices(study: Sweep) -> dict[str, list]:
    """Sobol indices of each output, if the sample allows them."""
    found = {}
    for name in study.outputs if study.sample.indices else ():
        try:
            found[name] = list(study.sobol_indices(name).itertuples(name=None))
        except ModelError:  # Some cases failed, or all are equal; the page says so elsewhere.
            continue
    return found


def worst(study: Sweep) -> dict[str, tuple[str, list[dict]]]:
    """The extreme cases of each output, by title, with the output.

    They are the smallest ones if success requires large values, otherwise the largest.
    """
    large = {x.name for x in study.conditions if x.wants_large}
    # Outputs in conditions of success come first.
    asked = [x.name for x in study.conditions if x.name in study.outputs]
    names = list(dict.fromkeys([*asked, *study.outputs]))
    return {
        f"{'smallest' if name in large else 'largest'} {_titled(study, name)}": (
            name,
            study.worst(name, 3, least=name in large).to_dict("records"),
        )
        for name in names[:MOST_OUTPUTS]
    }


def curves(study: Sweep) -> str:
    """Each output over the quantity, if there is only one."""
    if len(study.quantities) != 1:
        return ""
    (name,) = study.quantities
    x = study.table[name].to_numpy(float)
    order = np.argsort(x, kind="stable")
    panels = [
        Panel(
            [Curve(x[order], study.table[y].to_numpy(float)[order], marker="o", size=3.0)],
            _titled(study, y),
        )
        for y in study.outputs[:MOST_OUTPUTS]
    ]
    return svg(Picture(panels, _titled(study, name), height=1.5), f"outputs over {name}")


def maps(study: Sweep) -> list[Map]:
    """Each output over the first two quantities."""
    if len(study.quantities) < 2:
        return []
    x, y = study.quantities[:2]
    ends = [_classes(study, name) for name in (x, y)]
    made = []
    for output in study.outputs[:MOST_OUTPUTS]:
        values = study.table[output].to_numpy(float)
        known = np.isfinite(values)
        shape = len(ends[1][0]), len(ends[0][0])
        total, count = np.zeros(shape), np.zeros(shape)
        # A cell with several cases shows their mean.
        np.add.at(total, (ends[1][1][known], ends[0][1][known]), values[known])
        np.add.at(count, (ends[1][1][known], ends[0][1][known]), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
        share, colors = _shares(mean)
        cells: list[list[tuple[str, float | None]]] = [
            [
                ("", None) if not np.isfinite(m) else (f"{m:.4g}", round(float(s), 3))
                for m, s in zip(*row, strict=True)
            ]
            for row in zip(mean, share, strict=True)
        ]
        label = [f"{v:.4g}" for v in ends[1][0]]
        # upwards as in a plot, whereas a table runs downwards
        rows = list(zip(label, cells, strict=True))[::-1]
        across = [f"{v:.4g}" for v in ends[0][0]]
        titles = [_titled(study, name) for name in (output, x, y)]
        made.append(Map(titles[0], titles[1], titles[2], colors, across, rows))
    return made


def _shares(mean: np.ndarray) -> tuple[np.ndarray, str]:
    """Values relative to their range, 0 … 1, and a description of its ends."""
    if not np.isfinite(mean).any():
        return np.zeros_like(mean), "no case reached its end"
    low, high = float(np.nanmin(mean)), float(np.nanmax(mean))
    wide = low > 0 and np.log10(high / low) > DECADES
    x, least, most = (np.log(mean), np.log(low), np.log(high)) if wide else (mean, low, high)
    share = (x - least) / (most - least) if most > least else np.zeros_like(mean)
    by = ", by the logarithm" if wide else ""
    return share, f"{low:.4g} is light, {high:.4g} is dark{by}"


def _classes(study: Sweep, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Values at the cells along a quantity, and the cell of each case."""
    values = study.plan.values[name]
    distinct = np.unique(values)
    if len(distinct) <= MOST_CELLS and study.sample.kind == "grid":
        return distinct, np.searchsorted(distinct, values)
    # Each cell needs a few cases, or the map would be mostly empty.
    bins = int(np.clip(np.sqrt(len(values) / 4), 4, BINS))
    edges = np.linspace(values.min(), values.max(), bins + 1)
    cell = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    return (edges[1:] + edges[:-1]) / 2, cell


def _titled(study: Sweep, name: str) -> str:
    unit = study.plan.units.get(name, "")
    return f"{name} [{unit}]" if unit else name
