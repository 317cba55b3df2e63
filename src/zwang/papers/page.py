"""A paper's page as one self-contained HTML file."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup

from zwang.files import write_text
from zwang.output.report import inline_svg, render
from zwang.papers.claim import Grid, Page, Verdict
from zwang.papers.index import PAPERS

TEMPLATE = Path(__file__).parent / "paper.html"
SHADES = {Verdict.REPRODUCED: "good", Verdict.CORRECTED: "mended", Verdict.NOT: "bad"}


def write_page(page: Page, path: Path, *, seconds: float) -> None:
    """Write the page of a paper.

    Args:
        page: the paper, reproduced.
        path: the HTML file.
        seconds: time of the reproduction [s].
    """
    figures = [
        (chart, Markup(inline_svg(chart.figure, chart.key, chart.title)))
        for chart in page.charts
        if chart.figure
    ]
    counts = [
        (verdict, sum(claim.verdict is verdict for claim in page.claims)) for verdict in Verdict
    ]
    text = render(
        TEMPLATE,
        page=page,
        paper=PAPERS[page.paper],
        figures=figures,
        counts=counts,
        shades=SHADES,
        seconds=seconds,
        numeric=_numeric,
    )
    write_text(path, text)


def _numeric(grid: Grid) -> list[bool]:
    """Mask of the columns that contain only numbers (with units) and dashes, which are
    right-aligned; the first column names the rows.
    """
    columns = zip(*grid.rows, strict=True)
    held = [[cell for cell in column if cell not in ("", "–")] for column in columns]
    return [
        i > 0 and bool(cells) and all(re.match(r"[−-]?[\d.]", cell) for cell in cells)
        for i, cells in enumerate(held)
    ]
