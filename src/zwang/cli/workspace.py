"""`zwang workspace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import mechanism_or_model, ranges, start, write
from zwang.cli.terminal import say


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
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for workspace.nc and its pictures.")
    ] = None,
) -> int:
    """What a point of a mechanism reaches over its inputs, how well, and where it is singular.

    Examples:

    [cyan]zwang workspace four-bar coupler.end --input A=0.5:2.5[/]
    """
    given = start(model, set_)
    spans = ranges(input_, "--input")
    subject, options = mechanism_or_model(model, given)
    from zwang.analysis.workspace import workspace

    found = workspace(subject, spans, point, samples=samples, **options)
    say(fitted(str(found)))
    pictures = {
        "workspace.svg": lambda path: found.plot().save(path),
        "inputs.svg": lambda path: found.plot_inputs().save(path),
    }
    write(out, {"workspace.nc": found.save, **pictures})
    return 0
