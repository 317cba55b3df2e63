"""`zwang assembly-modes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import mechanism_or_model, numbers, start, write
from zwang.cli.terminal import say


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
    given = start(model, set_)
    held = numbers(input_ or [], "--input")
    subject, options = mechanism_or_model(model, given)
    from zwang.analysis.assembly_modes import assembly_modes

    found = assembly_modes(subject, held, starts=starts, **options)
    say(fitted(str(found)))
    picture = lambda path: found.plot().save(path)
    write(out, {"assembly-modes.nc": found.save, "assembly-modes.svg": picture})
    return 0
