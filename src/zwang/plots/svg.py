"""A picture as compact SVG, on request in the colors of the surrounding page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from zwang.plots.data import INK, MARK, MUTED, PALETTE, RULE, Curve, Mark, Picture
from zwang.plots.layout import (
    BOTTOM,
    DOT,
    HANDLE,
    INCH,
    NAME,
    NOTHING,
    ROW,
    SMALL_TEXT,
    START,
    TEXT,
    TINY_TEXT,
    Place,
    fitting,
    layout,
    wide,
)
from zwang.plots.names import LINE, names, position
from zwang.plots.points import fewer, lone, path

COLORS = {
    "#000000": "ink",
    INK: "ink",
    "#ffffff": "paper",
    MUTED: "muted",
    RULE: "rule",
    MARK: "mark",
    **{color: f"line{i}" for i, color in enumerate(PALETTE)},
}
"""Color in a picture → CSS variable of the page; the color itself stays as the fallback."""
SHAPES = {
    "o": "m-{r:.2f} 0a{r:.2f} {r:.2f} 0 1 0 {d:.2f} 0a{r:.2f} {r:.2f} 0 1 0-{d:.2f} 0z",
    "s": "m-{r:.2f}-{r:.2f}h{d:.2f}v{d:.2f}h-{d:.2f}z",
    "^": "m-{r:.2f} {r:.2f}h{d:.2f}l-{r:.2f}-{d:.2f}z",
}
"""Outlines of markers about a point, of half size r and size d."""
FONTS = 'Inter, "Segoe UI", system-ui, "Helvetica Neue", "Liberation Sans", Arial, sans-serif'
UNKNOWN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow."""


def svg(picture: Picture, title: str = "", key: str = "picture", *, themed: bool = False) -> str:
    """Render the picture as an `<svg>` element.

    Args:
        picture: the picture.
        title: read out by screen readers; that of the picture by default.
        key: distinguishes its identifiers from others of the page.
        themed: whether colors are the CSS variables of the page, for light and dark, on its
            background; plain colors on white otherwise.
    """
    page = layout(picture)
    parts = (
        [] if themed else [element("rect", width=page.width, height=page.height, fill="#ffffff")]
    )
    parts += (
        [text(page.left, NAME, fitting(picture.title, page.width, TEXT), size=TEXT + 0.5)]
        if picture.title
        else []
    )
    for place in page.places:
        parts += [*grid(place), *legend(place), *curves(place, key), *labels(place)]
    parts += across(page.places[-1], picture.xlabel) if page.places else []
    whole = element(
        "svg",
        "\n".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {page.width:.2f} {page.height:.2f}",
        width=f"{page.width / INCH:.2f}in",
        height=f"{page.height / INCH:.2f}in",
        font_family=FONTS,
        role="img",
        aria_label=title or picture.title or "figure",
    )
    return re.sub(r'((?:fill|stroke)=")(#[0-9a-f]{6})"', _of_the_page, whole) if themed else whole


def grid(at: Place) -> list[str]:
    """Grid lines, the two axes, and the name of the y axis."""
    ticks = at.y.ticks() if not at.empty else []
    x, y = at.points([tick for tick, _ in at.x.ticks()], [tick for tick, _ in ticks])
    lines = [f"M{a:.2f} {at.top:.2f}v{at.y.length:.2f}" for a in x] + [
        f"M{at.left:.2f} {b:.2f}h{at.x.length:.2f}" for b in y
    ]
    ends = [f"M{a:.2f} {at.bottom:.2f}v3" for a in x] + [f"M{at.left:.2f} {b:.2f}h-3" for b in y]
    axes = f"M{at.left:.2f} {at.top:.2f}v{at.y.length:.2f}h{at.x.length:.2f}"
    numbers = [
        text(at.left - 5.5, b + 2.8, number, MUTED, SMALL_TEXT, "end")
        for b, (_, number) in zip(y, ticks, strict=True)
    ]
    name, room = at.panel.ylabel, at.y.length + 2 * min(at.head, BOTTOM / 2)
    size = max(TINY_TEXT, min(TEXT, TEXT * room / wide(name, TEXT))) if name else TEXT
    middle = f"translate({NAME} {(at.top + at.bottom) / 2:.2f}) rotate(-90)"
    return [
        element("path", d="".join(lines), stroke=RULE, stroke_width=0.6),
        element("path", d="".join([axes, *ends]), stroke=MUTED, stroke_width=0.7, fill="none"),
        *numbers,
        text(0, 0, fitting(name, room, size), size=size, anchor="middle", transform=middle),
    ]


def across(at: Place, name: str) -> list[str]:
    """Numbers and name of the x axis, below the last panel."""
    numbers = [
        text(at.left + float(at.x.at(tick)), at.bottom + 12.5, number, MUTED, SMALL_TEXT, "middle")
        for tick, number in at.x.ticks()
    ]
    return [
        *numbers,
        text(
            at.left + at.x.length / 2,
            at.bottom + 25.5,
            fitting(name, at.x.length, TEXT),
            anchor="middle",
        ),
    ]


def curves(at: Place, key: str) -> list[str]:
    """Marks and curves, clipped to the data area."""
    area = element("rect", x=at.left, y=at.top, width=at.x.length, height=at.y.length)
    drawn = [marked(at, mark) for mark in at.panel.marks]
    drawn += [part for curve in at.panel.drawn for part in curved(at, curve)]
    # The name has the position: pictures that share it have the same clip path.
    own = f"{key}-{at.left:.0f}-{at.top:.0f}-{at.x.length:.0f}-{at.y.length:.0f}"
    return [
        element("clipPath", area, id=own),
        element(
            "g", "\n".join(drawn), clip_path=f"url(#{own})", stroke_linejoin="round", fill="none"
        ),
    ]


def curved(at: Place, curve: Curve) -> list[str]:
    """The line of a curve, its markers, and dots at isolated points."""
    x, y = at.points(curve.x, curve.y)
    # A point between two gaps has no line and would not be seen.
    alone = lone(x, y)
    parts = [line(path(*fewer(x, y)), curve)] if curve.width else []
    parts += [spots(x[alone], y[alone], curve, "o", DOT)] if curve.width and alone.any() else []
    parts += [spots(x, y, curve, curve.marker, curve.size)] if curve.marker else []
    return parts + ([spots(x[:1], y[:1], curve, "o", START)] if curve.dot else [])


def line(data: str, curve: Curve) -> str:
    """Path data in the style of a curve."""
    return element(
        "path",
        d=data,
        stroke=curve.color,
        stroke_width=curve.width,
        opacity=curve.alpha,
        stroke_dasharray=dashes(curve.dash),
        stroke_linecap="butt" if curve.dash else "round",
    )


def dashes(lengths: Sequence[float]) -> str:
    return " ".join(f"{length:g}" for length in lengths)


def spots(x: np.ndarray, y: np.ndarray, curve: Curve, marker: str, size: float) -> str:
    """Markers in the color of a curve."""
    shape = SHAPES[marker].format(r=size / 2, d=size)
    there = np.isfinite(x) & np.isfinite(y)
    data = "".join(f"M{a:.2f} {b:.2f}{shape}" for a, b in zip(x[there], y[there], strict=True))
    return element("path", d=data, fill=curve.color, opacity=curve.alpha)


def marked(at: Place, mark: Mark) -> str:
    """The vertical lines of a mark."""
    ups = "".join(f"M{at.left + x:.2f} {at.top:.2f}v{at.y.length:.2f}" for x in at.x.at(mark.x))
    return element(
        "path", d=ups, stroke=mark.color, stroke_width=0.9, stroke_dasharray=dashes(mark.dash)
    )


def legend(at: Place) -> list[str]:
    """The heading and the entries above the data area."""
    parts = (
        [text(at.left, at.top - at.head + 9, fitting(at.panel.heading, at.x.length), MUTED)]
        if at.panel.heading
        else []
    )
    named = [curve for curve in at.panel.drawn if curve.label]
    for curve, (right, up) in zip(named, at.entries, strict=True):
        x, y = at.left + right, at.top + up
        parts += [line(f"M{x:.2f} {y + 7:.2f}h{HANDLE - 5:.2f}", curve)] if curve.width else []
        if curve.marker:
            middle = x + (HANDLE - 5) / 2
            parts.append(
                spots(
                    np.array([middle]),
                    np.array([y + 7]),
                    curve,
                    curve.marker,
                    min(curve.size, ROW / 2),
                )
            )
        parts.append(
            text(x + HANDLE, y + 9.8, fitting(curve.label, at.x.length - HANDLE), size=SMALL_TEXT)
        )
    return parts


def labels(at: Place) -> list[str]:
    """Names of labels and marks, and a text in the middle of an empty panel."""
    x, y = at.left + at.x.length / 2, (at.top + at.bottom) / 2
    parts = [text(x, y, NOTHING, MUTED, TEXT, "middle")] if at.empty else []
    for name in names(at):
        x, y = position(at, name)
        for i, row in enumerate(name.text.split("\n")):
            down = LINE * name.size * i
            parts.append(text(x, y + down, row, name.color, name.size, name.side))
    return parts


def text(
    x, y, content: str, color: str = INK, size: float = TEXT, anchor: str = "start", **attributes
) -> str:
    """A line of text whose baseline begins, is centered or ends at a point."""
    # A control character in a name would make the whole page invalid XML.
    plain = escape(UNKNOWN.sub("�", content))
    return element(
        "text",
        plain,
        x=float(x),
        y=float(y),
        fill=color,
        font_size=size,
        text_anchor=anchor,
        **attributes,
    )


def element(name: str, content: str = "", **attributes: str | float) -> str:
    """Format an element.

    Underscores in names of attributes become hyphens; empty attributes are left out.
    """
    texts = {
        key.replace("_", "-"): f"{x:.2f}".rstrip("0").rstrip(".")
        if isinstance(x, float)
        else str(x)
        for key, x in attributes.items()
    }
    inside = "".join(f' {key}="{escape(UNKNOWN.sub("�", x))}"' for key, x in texts.items() if x)
    return f"<{name}{inside}>{content}</{name}>" if content else f"<{name}{inside}/>"


def _of_the_page(found: re.Match) -> str:
    attribute, color = found.groups()
    return f'{attribute}var(--{COLORS[color]}, {color})"' if color in COLORS else found[0]
