"""`zwang workspace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import mechanism_or_model, ranges
from zwang.cli.target import locate, made_folder
from zwang.cli.terminal import say
from zwang.cli.values import assignments


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
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    spans = ranges(input_, "--input")
    subject, options = mechanism_or_model(model, given)
    from zwang.analysis.workspace import workspace

    found = workspace(subject, spans, point, samples=samples, **options)
    say(fitted(str(found)))
    if out is not None:
        folder = made_folder(out)
        found.save(folder / "workspace.nc")
        found.plot().save(folder / "workspace.svg")
        found.plot_inputs().save(folder / "inputs.svg")
        say(f"written to {folder}")
    return 0
