"""Figures of a run's dataset: a panel per variable and unit, at most `MOST_LINES` lines in it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from zwang.errors import ModelError
from zwang.run.variables import Variable, Variables

LOGARITHMIC = ("violation", "velocity_violation", "relative_violation", "residual") + (
    "servo_violation", "servo_velocity_violation", "missed", "servo_residual",
)  # fmt: skip
MOST_LINES = 12
MOST_POINTS = 800
"""Points of a line; a longer one keeps the smallest and the largest of each interval, so that no peak is lost."""
LEGEND_WIDTH = 120
"""Characters in one row of a legend."""
SPAN = 3
"""Decades that a logarithmic axis shows below the median; residuals of 1e-180 happen and mean nothing."""
WIDTH, PANEL = 9.2, 1.75
"""Width of a figure and height of one panel's data area [inch]."""
LEFT, RIGHT, BOTTOM, GAP, LEGEND_ROW = 0.72, 0.08, 0.42, 0.2, 0.165
"""Room beside and below the data areas, between two of them, and for one row of a legend [inch]; fixed, so that the time axes
of all figures are aligned, and because letting matplotlib search for room takes as long as drawing."""

INK, MUTED, RULE, MARK = "#1f2328", "#59636e", "#d8dee4", "#8250df"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colors of Okabe and Ito, distinct for all kinds of color vision; dashed where a seventh line begins."""

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(linestyle=["-", (0, (4, 1.5))]) * cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "axes.formatter.useoffset": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.title_fontsize": 7.5,
    "lines.linewidth": 1.3,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=110)
        return stream.getvalue()


def plot(data: Variables, variables: Sequence[str]) -> Figure:
    """One panel per variable and unit over time; residuals on a logarithmic axis."""
    unknown = [v for v in variables if v not in data]
    if unknown:
        raise ModelError(f"the run has no variable {unknown[0]!r}; it has: {', '.join(data)}.")
    wanted = [(name, unit) for name in variables for unit in dict.fromkeys(units_of(data, name))]
    with matplotlib.rc_context(STYLE):
        figure, panels = stacked(len(wanted))
        for axes, (name, unit) in zip(panels, wanted, strict=True):
            draw(axes, data, name, unit)
        arrange(figure, panels, title=plain(str(data.attrs.get("model", ""))))
    return figure


def stacked(count: int) -> tuple[Figure, list]:
    """A figure of panels above each other that share their time axis; `arrange` it when they are drawn."""
    figure = Picture(figsize=(WIDTH, PANEL * count))
    first = figure.add_subplot(count, 1, 1)
    return figure, [first] + [figure.add_subplot(count, 1, i, sharex=first) for i in range(2, count + 1)]


def arrange(figure: Figure, panels: Sequence, *, title: str = "", height: float = PANEL) -> None:
    """Give every panel its place, with room for the legends as they are; label the time axis below the last one."""
    heads = [GAP / 2 + LEGEND_ROW * _legend_rows(axes) for axes in panels]
    total = sum(heads) + len(panels) * height + (len(panels) - 1) * GAP + BOTTOM + (0.25 if title else 0)
    figure.set_size_inches(WIDTH, total)
    top = total - (0.25 if title else 0)
    for axes, head in zip(panels, heads, strict=True):
        top -= head + height
        axes.set_position((LEFT / WIDTH, top / total, (WIDTH - LEFT - RIGHT) / WIDTH, height / total))
        axes.yaxis.set_label_coords(-0.6 / (WIDTH - LEFT - RIGHT), 0.5)
        axes.tick_params(labelbottom=axes is panels[-1])
        top -= GAP
    panels[-1].set_xlabel("time [s]")
    if title:
        figure.text(LEFT / WIDTH, 1 - 0.18 / total, title, fontsize=10)


def _legend_rows(axes) -> int:
    box = axes.get_legend()
    return -(-len(box.get_texts()) // box._ncols) + bool(box.get_title().get_text()) if box else 0


def draw(axes, data: Variables, name: str, unit: str | None = None) -> None:
    """Draw one variable into axes, or those of its entries that have one unit; a line per entry.

    Args:
        axes: matplotlib axes.
        data: a run's dataset.
        name: a variable with a time axis.
        unit: which entries, by unit; all unless given.
    """
    units, labels = units_of(data, name), labels_of(data[name])
    values = data[name].values.reshape(len(data["time"]), -1)
    chosen = [i for i, u in enumerate(units) if unit is None or u == unit]
    shown_unit = unit if unit is not None else ", ".join(dict.fromkeys(u for u in units if u))
    lines(
        axes, data["time"].values, values[:, chosen], [labels[i] for i in chosen],
        f"{name.replace('_', ' ')} [{shown_unit or 'SI'}]", logarithmic=name in LOGARITHMIC,
    )  # fmt: skip


def lines(
    axes,
    t: np.ndarray,
    values: np.ndarray,
    labels: Sequence[str],
    ylabel: str,
    *,
    logarithmic: bool = False,
    span: float = SPAN,
) -> None:
    """Draw columns of values over time with a legend above the axes; those that vary most, where there are too many."""
    shown = most_varying(values)
    handles = []
    for i in shown:
        x, y = thinned(t, values[:, i])
        y = np.where(y > 0, y, np.nan) if logarithmic else y
        handles += axes.plot(x, y, lw=0.9 if logarithmic else None)
        missing = np.r_[True, np.isnan(y), True]
        alone = ~missing[1:-1] & missing[:-2] & missing[2:]  # points that a line does not show
        if alone.any():
            axes.plot(x[alone], y[alone], ".", ms=2.5, color=handles[-1].get_color())
    if logarithmic:
        decades(axes, values, span)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: number(x)))
    axes.set_ylabel(plain(ylabel))
    if len(labels) > 1 or (labels and not ylabel.startswith(labels[0])):
        left_out = len(shown) < values.shape[1]
        title = f"{len(shown)} of {values.shape[1]}, those that vary most" if left_out else ""
        legend(axes, handles, [labels[i] for i in shown], title)
    margin = 0.01 * (t[-1] - t[0])
    if margin > 0:
        axes.set_xlim(t[0] - margin, t[-1] + margin)


def legend(axes, handles: Sequence, labels: Sequence[str], title: str = "") -> None:
    """A legend above the axes, where it covers no data, in as few rows as it fits into."""
    axes.legend(
        handles, [plain(label) for label in labels], title=title, loc="lower left", bbox_to_anchor=(0, 1), alignment="left",
        ncols=columns_for([len(label) for label in labels]), borderaxespad=0.1, handlelength=1.8, columnspacing=1.4,
        labelspacing=0.25,
    )  # fmt: skip


def columns_for(widths: Sequence[int]) -> int:
    """Number of columns of a legend, filled downward, for labels of so many characters."""
    for rows in range(1, len(widths) + 1):
        columns = -(-len(widths) // rows)
        if sum(max(part) + 6.5 for part in np.array_split(widths, columns)) <= LEGEND_WIDTH:
            return columns
    return 1


def decades(axes, values: np.ndarray, span: float) -> None:
    """A logarithmic axis over whole decades, labeled as 1e-15."""
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        axes.text(0.5, 0.5, "zero at every sample", transform=axes.transAxes, ha="center", va="center", color=MUTED)
        axes.set_yticks([])
        return
    low, high = np.floor(np.log10(positive.min())), np.ceil(np.log10(positive.max()))
    low = max(low, np.floor(np.log10(np.median(positive))) - span)
    axes.set_yscale("log")
    axes.set_ylim(10.0**low, 10.0 ** max(high, low + 1))
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"1e{np.log10(x):.0f}".replace("-", "−")))


def most_varying(values: np.ndarray) -> list[int]:
    """Indices of the columns to show, in their order."""
    if values.shape[1] <= MOST_LINES:
        return list(range(values.shape[1]))
    return sorted(np.argsort(-np.ptp(values, axis=0), kind="stable")[:MOST_LINES])


def thinned(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most about `MOST_POINTS` points of a line, with the smallest and largest of each interval among them."""
    if len(t) <= MOST_POINTS:
        return t, y
    edges = np.linspace(0, len(t), MOST_POINTS // 2 + 1).astype(int)
    low, high = np.where(np.isnan(y), np.inf, y), np.where(np.isnan(y), -np.inf, y)
    spans = list(zip(edges[:-1], edges[1:], strict=True))
    index = [a + int(np.argmin(low[a:b])) for a, b in spans] + [a + int(np.argmax(high[a:b])) for a, b in spans]
    index = np.unique([0, *index, len(t) - 1])
    return t[index], y[index]


def units_of(data: Variables, name: str) -> list[str]:
    """The unit of each entry of a variable; empty where none was given."""
    variable = data[name]
    count = int(np.prod(variable.shape[1:], dtype=int))
    source = {"q": "coordinate_unit", "constraint_force": "force_unit", "control": "actuator_unit"}.get(name, "velocity_unit")
    if variable.attrs.get("units") or data[source].dims[0] not in variable.dims:
        return [variable.attrs.get("units", "")] * count
    units = [str(u) for u in data[source].values]
    if name in ("acceleration", "free_acceleration"):
        units = [f"{u}²" if u.endswith("/s") else u for u in units]
    return units * (count // max(len(units), 1))


def labels_of(variable: Variable) -> list[str]:
    """A name for each entry of a variable."""
    names = [[str(x) for x in variable.labels[d]] for d in variable.dims if d != "time"]
    if not names:
        return [str(variable.name).replace("_", " ")]
    return names[0] if len(names) == 1 else [f"{a}: {b}" for a in names[0] for b in names[1]]


def number(x: float) -> str:
    """A tick's label, such as −0.5 or 1e−15."""
    mantissa, _, exponent = f"{x:.6g}".partition("e")
    return (mantissa + (f"e{int(exponent)}" if exponent else "")).replace("-", "−")


def plain(text: str) -> str:
    """Text that matplotlib takes as it is: no formulas."""
    return text.replace("$", r"\$")
