"""Pictures and a user's matplotlib figures as inline SVG with the fonts and colors of the page."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from zwang.plots import Picture
from zwang.plots.data import HALF, WIDTH
from zwang.plots.svg import COLORS, svg
from zwang.simulation.results import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE_PICTURE = 1.9
"""Ratio of width to height above which a matplotlib figure takes the full width."""


def drawn(draw: Callable[[Run], Picture | Figure], run: Run) -> Picture | Figure:
    """Draw a model's figure of a run.

    A matplotlib figure gets the style of our pictures and the size in which it is shown, so
    that all letters have the same size.

    Raises:
        TypeError: if the result is neither a picture nor a figure.
    """
    loaded = "matplotlib" in sys.modules
    figure = _styled(draw, run) if loaded else draw(run)
    if isinstance(figure, Picture):
        return figure
    # The first drawing has imported matplotlib; the second one has the style.
    return _sized(figure if loaded else _styled(draw, run))


def _styled(draw: Callable[[Run], Picture | Figure], run: Run) -> Picture | Figure:
    import matplotlib

    from zwang.plots.figure import STYLE

    with matplotlib.rc_context(STYLE):
        return draw(run)


def _sized(figure) -> Figure:
    from matplotlib.figure import Figure

    if not isinstance(figure, Figure):
        raise TypeError(
            f"expected a zwang.plots.Picture or a matplotlib Figure, got {type(figure).__name__}"
        )
    width, height = figure.get_size_inches()
    shown = HALF if width < WIDE_PICTURE * height else WIDTH
    figure.set_size_inches(shown, height * shown / width)
    return figure


def is_wide(figure: Picture | Figure) -> bool:
    """Return whether a figure takes the full width."""
    return (figure.width if isinstance(figure, Picture) else figure.get_figwidth()) > HALF


def inline_svg(figure: Picture | Figure, key: str, title: str) -> str:
    """Render the figure as an `<svg>` element.

    Args:
        figure: a picture, or a matplotlib figure.
        key: distinguishes its identifiers from other figures' on the page.
        title: read out by screen readers.
    """
    return (
        svg(figure, title, key, themed=True)
        if isinstance(figure, Picture)
        else _of_matplotlib(figure, key, title)
    )


def _of_matplotlib(figure: Figure, key: str, title: str) -> str:
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": key, "path.simplify_threshold": 0.2}
    ):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    # An XML declaration must not be inside a page.
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"(<svg[^>]*?) width=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", text, count=1)
    # If two figures of a page shared identifiers, the first would be drawn twice.
    text = _own_identifiers(text, key)
    text = re.sub(
        r"#[0-9a-f]{6}\b",
        lambda m: f"var(--{COLORS[m[0]]}, {m[0]})" if m[0] in COLORS else m[0],
        text,
    )
    text = re.sub(r"\n\s*", "\n", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1).strip()


def _own_identifiers(text: str, key: str) -> str:
    """Make referenced identifiers unique on the page, and drop the others."""
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r"href=\"#([^\"]+)\"", text))
    text = re.sub(
        r" id=\"([^\"]+)\"", lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", text
    )
    return re.sub(r"(url\(#|href=\"#)", rf"\g<1>{key}-", text)
