"""`zwang assembly-modes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import mechanism_or_model, numbers
from zwang.cli.target import locate, made_folder
from zwang.cli.terminal import say
from zwang.cli.values import assignments


def command(
    model: ModelName,
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=VALUE", help="An input that is held; repeatable."),
    ] = None,
    starts: Annotated[
        int, typer.Option(help="Random starts, where no homotopy finds all modes.", min=1)
    ] = 2048,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for assembly-modes.nc and a picture."),
    ] = None,
) -> int:
    """All configurations of a mechanism at given inputs: of loops in the plane by a homotopy, which
    finds all of them with probability one, of others from random starts.

    Examples:

    [cyan]zwang assembly-modes four-bar --input A=1.1[/]
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    held = numbers(input_ or [], "--input")
    subject, options = mechanism_or_model(model, given)
    from zwang.analysis.assembly_modes import assembly_modes
    from zwang.mechanism.drawing import picture
    from zwang.mechanism.mechanism import Mechanism

    found = assembly_modes(subject, held, starts=starts, **options)
    say(fitted(str(found)))
    if out is not None:
        folder = made_folder(out)
        found.save(folder / "assembly-modes.nc")
        if isinstance(subject, Mechanism):
            picture(subject, found.q).save(folder / "assembly-modes.svg")
        say(f"written to {folder}")
    return 0
