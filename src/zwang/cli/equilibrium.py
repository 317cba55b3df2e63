"""`zwang equilibrium`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.balance import Find, FindOption
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import start
from zwang.cli.target import load_target, made_folder
from zwang.cli.terminal import say, warn


def command(
    model: ModelName,
    set_: Settings = None,
    find: FindOption = Find.minimum,
    steady: Annotated[
        bool, typer.Option("--steady", help="A steady motion at the start's velocities.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for equilibrium.nc.")
    ] = None,
) -> int:
    """Find where forces balance near a model's start: coordinates, stability, constraint forces.

    Examples:

    [cyan]zwang equilibrium slider-crank[/]

    [cyan]zwang equilibrium bicycle --steady --set lean=0[/]
    """
    target = load_target(model, start(model, set_))
    from zwang.analysis.equilibrium import equilibrium

    found = equilibrium(
        target.model,
        target.q0,
        v=target.v0 if steady else None,
        params=target.params or None,
        find=find.value,
    )
    say(fitted(str(found)))
    for warning in target.warnings:
        warn(warning)
    if out is not None:
        say(f"written: {found.save(made_folder(out) / 'equilibrium.nc')}")
    return 0
