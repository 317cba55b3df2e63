"""`zwang assembly-modes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import folder, numbers, publish, saved, subject_of
from zwang.cli.model_options import ModelName, Settings


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
    out: Annotated[Path | None, folder("assembly-modes.nc and a picture")] = None,
) -> int:
    """All configurations of a mechanism at given inputs. A homotopy finds all of them with
    probability one for loops in the plane; otherwise random starts are used.

    Examples:

    [cyan]zwang assembly-modes four-bar --input A=1.1[/]
    """
    held = numbers(input_ or [], "--input")
    subject, options = subject_of(model, set_, {name: (x,) for name, x in held.items()})
    from zwang.analysis.assembly_modes import assembly_modes

    found = assembly_modes(subject, held, starts=starts, **options)
    name = "assembly-modes"
    publish(found, out, saved(name, found, **{name: found.plot}))
    return 0
