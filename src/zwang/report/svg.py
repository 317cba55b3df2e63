"""Matplotlib figures as inline SVG that follows the page: its fonts, and its colors in light and dark."""

from __future__ import annotations

import io
import re

import matplotlib
from matplotlib.figure import Figure

from zwang.run.plot import INK, MARK, MUTED, PALETTE, RULE

COLORS = {
    "#000000": "ink", INK: "ink", "#ffffff": "paper", MUTED: "muted", RULE: "rule", MARK: "mark",
    **{color: f"line{i}" for i, color in enumerate(PALETTE)},
}  # fmt: skip
"""Color in a figure → CSS variable of the page; the color itself stays as the fallback."""


def inline_svg(figure: Figure, key: str, title: str) -> str:
    """The figure as an `<svg>` element.

    Args:
        figure: a matplotlib figure.
        key: distinguishes its identifiers from other figures' on the page.
        title: read out by screen readers.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key, "path.simplify_threshold": 0.2}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"(<svg[^>]*?) width=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", text, count=1)
    text = _own_identifiers(text, key)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda m: f"var(--{COLORS[m[0]]}, {m[0]})" if m[0] in COLORS else m[0], text)
    text = re.sub(r"\n\s*", "\n", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{_attribute(title)}"', 1).strip()


def _own_identifiers(text: str, key: str) -> str:
    """Keep the identifiers that something refers to, made unique on the page; drop the others."""
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r"href=\"#([^\"]+)\"", text))
    text = re.sub(r" id=\"([^\"]+)\"", lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", text)
    return re.sub(r"(url\(#|href=\"#)", rf"\g<1>{key}-", text)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
