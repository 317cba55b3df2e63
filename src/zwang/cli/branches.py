"""`zwang branches`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import start
from zwang.cli.target import load_target, made_folder
from zwang.cli.terminal import say


def command(
    model: ModelName,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for a page that plays each branch, if the model has a scene.",
        ),
    ] = None,
    amplitude: Annotated[
        float, typer.Option(help="On these pages, of the coordinate that moves most.")
    ] = 0.1,
) -> int:
    """The branches of motion through a model's start, where its constraints may lose rank; drives
    are set aside.

    Examples:

    [cyan]zwang branches five-bar --set angle=0[/]
    """
    target = load_target(model, start(model, set_))
    from zwang.analysis.branches import branches

    free = target.model.passive
    if target.mechanism is not None:
        undriven = {"drives": {}, "servo": {}, "actuators": {}}
        free = dataclasses.replace(target.mechanism, **undriven).model
    found = branches(free, target.q0, params=target.params or None)
    say(fitted(str(found)))
    if out is not None and target.scene is not None:
        from zwang.output.viewer import write_free_motion

        folder, written = made_folder(out), []
        for i, branch in enumerate(found.branches):
            page = folder / f"branch-{i}.html"
            options = {"params": target.params or None, "amplitude": amplitude}
            ways = (free, target.q0, branch.tangent, target.scene, page)
            written.append(write_free_motion(*ways, name=f"Branch {i}", **options))
        say("written: " + ", ".join(map(str, written)))
    return 0
