"""`zwang reproduce`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.failure import UserError
from zwang.cli.progress import Bar
from zwang.cli.target import made_folder
from zwang.cli.terminal import complain, warn
from zwang.inputs.suggestions import did_you_mean
from zwang.papers.index import PAPERS

CHANGED = 4
"""Exit code if a claim has another verdict than the expected one."""


def command(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help=f"{', '.join(PAPERS)}, or all.")
    ] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the pages.", metavar="DIR")] = Path(
        "results/papers"
    ),
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only what has changed.")
    ] = False,
) -> int:
    """Recompute the results of a paper: for each claim the printed value, our value, a verdict and
    its reason.

    Writes one HTML page per paper, with its figures redrawn.

    Examples:

    [cyan]zwang reproduce pseudoinverse[/]

    [cyan]zwang reproduce all --out results/papers[/]

    Exit code: 0 every claim has its expected verdict, 2 wrong input, 4 a verdict changed (each is
    named).
    """
    if paper != "all" and paper not in PAPERS:
        raise UserError(f"there is no paper {paper!r}{did_you_mean(paper, [*PAPERS, 'all'])}")
    names = list(PAPERS) if paper == "all" else [paper]
    made_folder(out)
    # Waiting of OpenBLAS threads for each other costs more than a 12 × 12 factorization. OpenBLAS
    # reads this variable once, when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with Bar(not quiet) as bar:
        from zwang.cli.startup import start_jax

        warning = start_jax()
        pages = [_reproduced(name, out / f"{name}.html", bar) for name in names]
    if warning:
        warn(warning)
    for page in pages:
        for claim in page.changed:
            said = (
                f"{page.paper}, {claim.place}, {claim.what}: {claim.verdict}, expected: "
                f"{claim.expected}"
            )
            complain(f"{said} (printed {claim.printed}, ours {claim.ours})")
    if not quiet:
        _say(pages, out)
    return CHANGED if any(page.changed for page in pages) else 0


def _reproduced(name: str, path: Path, bar: Bar):
    from zwang.papers import reproduce
    from zwang.papers.page import write_page

    started = time.perf_counter()
    page = reproduce(name, lambda fraction, what: bar.reaches(fraction, f"{name}: {what}"))
    write_page(page, path, seconds=time.perf_counter() - started)
    return page


def _say(pages, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from zwang.papers import Verdict

    table = Table(box=None, pad_edge=False)
    table.add_column("paper")
    for heading in ("claims", *Verdict, "changed"):
        table.add_column(heading, justify="right", no_wrap=True)
    for page in pages:
        counts = (sum(claim.verdict is verdict for claim in page.claims) for verdict in Verdict)
        table.add_row(page.paper, *map(str, (len(page.claims), *counts, len(page.changed))))
    Console(width=100).print(table)
    print(f"\nwritten: {', '.join(str(out / f'{page.paper}.html') for page in pages)}")
