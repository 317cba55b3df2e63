"""`zwang workspace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import folder, publish, ranges, saved, subject_of
from zwang.cli.model_options import ModelName, Settings


def command(
    model: ModelName,
    point: Annotated[
        str, typer.Argument(metavar="POINT", help="What is moved: a body, or body.point.")
    ],
    input_: Annotated[
        list[str],
        typer.Option("--input", metavar="NAME=LOW:HIGH", help="An input's range; repeatable."),
    ],
    samples: Annotated[int, typer.Option(help="Values of each input.", min=2)] = 41,
    set_: Settings = None,
    out: Annotated[Path | None, folder("workspace.nc and its pictures")] = None,
) -> int:
    """Map the workspace of a point over the inputs of a mechanism, with conditioning and
    singularities.

    Examples:

    [cyan]zwang workspace four-bar coupler.end --input A=0.5:2.5[/]
    """
    spans = ranges(input_, "--input")
    subject, options = subject_of(model, set_, spans)
    from zwang.analysis.workspace import workspace

    found = workspace(subject, spans, point, samples=samples, **options)
    pictures = {"workspace": found.plot, "inputs": found.plot_inputs}
    publish(found, out, saved("workspace", found, **pictures))
    return 0
