"""A picture as a matplotlib figure with the layout of the SVG, for PNG, PDF and further drawing."""

from __future__ import annotations

import io
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from zwang.plots import script
from zwang.plots.data import DASHED, INK, MUTED, PALETTE, RULE, Curve, Picture
from zwang.plots.layout import (
    DOT,
    INCH,
    NAME,
    NOTHING,
    SMALL_TEXT,
    START,
    TEXT,
    Place,
    layout,
)
from zwang.plots.names import ASCENT, names
from zwang.plots.points import lone

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(linestyle=["-", (0, [dash / 1.3 for dash in DASHED])])
    * cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "axes.formatter.useoffset": False,
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL_TEXT,
    "legend.frameon": False,
    "legend.title_fontsize": SMALL_TEXT,
    "lines.linewidth": 1.3,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": SMALL_TEXT,
    "ytick.labelsize": SMALL_TEXT,
}
"""Settings of matplotlib with the style of our pictures, also applied to a user's figures."""


class Shown(Figure):
    """A figure that a notebook shows without pyplot, and a script by `show`."""

    def show(self, warn: bool = True) -> None:
        """Open the figure in the web browser and return; `warn`, of matplotlib, has no effect."""
        script.show([self])

    def savefig(self, *args, **kwargs) -> None:
        """Save it like every matplotlib figure."""
        script.seen(self)
        super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=110)
        return stream.getvalue()


def figure(picture: Picture) -> Figure:
    """Draw the picture as a matplotlib figure, with an `Axes` for each panel."""
    page = layout(picture)
    with matplotlib.rc_context(STYLE):
        made = Shown(figsize=(page.width / INCH, page.height / INCH))
        first = None
        for place in page.places:
            # Matplotlib counts from the bottom of the page.
            bottom = page.height - place.top - place.y.length
            area = (
                place.left / page.width,
                bottom / page.height,
                place.x.length / page.width,
                place.y.length / page.height,
            )
            axes = made.add_axes(area, sharex=first)
            first = first or axes
            _draw(axes, place)
            axes.tick_params(labelbottom=place is page.places[-1])
        if first is not None:
            made.axes[-1].set_xlabel(plain(picture.xlabel))
        if picture.title:
            made.text(
                page.left / page.width,
                1 - 12 / page.height,
                plain(picture.title),
                fontsize=TEXT + 0.5,
            )
    return made


def _draw(axes, at: Place) -> None:
    for way, along in (("x", at.x), ("y", at.y)):
        getattr(axes, f"set_{way}scale")("log" if along.logarithmic else "linear")
        getattr(axes, f"set_{way}lim")(*along.ends)
        ticks = [] if at.empty and way == "y" else along.ticks()
        # Ticks come from the layout, so that PNG and SVG show the same numbers.
        ruler = getattr(axes, f"{way}axis")
        ruler.set_major_locator(FixedLocator([x for x, _ in ticks]))
        ruler.set_major_formatter(FixedFormatter([number for _, number in ticks]))
        ruler.set_minor_locator(NullLocator())
    axes.set_ylabel(plain(at.panel.ylabel))
    axes.yaxis.set_label_coords((NAME - at.left) / at.x.length, 0.5)
    for mark in at.panel.marks:
        for x in mark.x:
            axes.axvline(x, color=mark.color, lw=0.9, ls=_dashes(mark.dash, 0.9), zorder=0.6)
    handles = [_curve(axes, curve) for curve in at.panel.drawn]
    for name in names(at):
        edge = name.y is None
        axes.annotate(
            plain(name.text),
            (name.x, 1.0 if edge else name.y),
            xycoords=axes.get_xaxis_transform() if edge else "data",
            xytext=(name.right, name.up + ASCENT * name.size),
            textcoords="offset points",
            ha="right" if name.side == "end" else "left",
            va="top",
            color=name.color,
            fontsize=name.size,
        )
    if at.empty:
        axes.text(
            0.5, 0.5, NOTHING, transform=axes.transAxes, ha="center", va="center", color=MUTED
        )
    if at.entries or at.panel.heading:
        axes.legend(
            [line for line in handles if not line.get_label().startswith("_")],
            [plain(c.label) for c in at.panel.curves if c.label],
            title=plain(at.panel.heading),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            alignment="left",
            ncols=max(at.columns, 1),
            borderaxespad=0.1,
            handlelength=1.8,
            columnspacing=1.4,
            labelspacing=0.25,
        )


def _curve(axes, curve: Curve):
    """Draw a curve and return its line."""
    style = {"color": curve.color, "alpha": curve.alpha}
    kind = {
        "ls": _dashes(curve.dash, curve.width) if curve.width else "none",
        "lw": curve.width,
        "label": plain(curve.label) or None,
    }
    (drawn,) = axes.plot(
        curve.x,
        curve.y,
        marker=curve.marker,
        ms=curve.size,
        mew=0,
        solid_capstyle="round",
        **kind,
        **style,
    )
    alone = lone(curve.x, curve.y)
    if curve.width and alone.any():
        axes.plot(curve.x[alone], curve.y[alone], "o", ms=DOT, mew=0, **style)
    if curve.dot:
        axes.plot(curve.x[:1], curve.y[:1], "o", ms=START, mew=0, **style)
    return drawn


def _dashes(dash, width: float):
    """Convert dashes to matplotlib's unit, the width of the line."""
    return (0, [x / width for x in dash]) if len(dash) else "-"


def plain(text: str) -> str:
    """Escape text so that matplotlib finds no formulas in it."""
    return text.replace("$", r"\$")
