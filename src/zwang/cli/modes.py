"""`zwang modes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.balance import Find, FindOption, equilibrium_about
from zwang.cli.failure import UserError
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import start
from zwang.cli.target import Target, load_target, made_folder
from zwang.cli.terminal import say, warn


def command(
    model: ModelName,
    set_: Settings = None,
    at_start: Annotated[
        bool,
        typer.Option(
            "--at-start", help="About the start as it is, a steady motion or a moving state."
        ),
    ] = False,
    find: FindOption = Find.minimum,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for modes.nc, eigenvalues.svg and, if the model has a scene, a page that "
            "plays each mode.",
        ),
    ] = None,
    amplitude: Annotated[
        float, typer.Option(help="On these pages, of the coordinate that moves most.")
    ] = 0.1,
) -> int:
    """Modes of small motions about the equilibrium near a model's start: frequencies, damping,
    shapes.

    Examples:

    [cyan]zwang modes double-pendulum[/]

    [cyan]zwang modes bicycle --at-start --set lean=0[/]

    [cyan]zwang modes slider-crank --out results/slider-crank-modes[/]
    """
    target = load_target(model, start(model, set_))
    from zwang.analysis.linearize import linearize

    if at_start:
        linear = linearize(target.model, target.q0, target.v0, params=target.params or None)
    else:
        # small motions are about a point where forces balance; a start need not be one
        linear = equilibrium_about(target, find).linearization
    say(fitted(str(linear)))
    for warning in target.warnings:
        warn(warning)
    if out is not None:
        _write(target, linear, out, amplitude)
    return 0


def _write(target: Target, linear, out: Path, amplitude: float) -> None:
    folder, found = made_folder(out), linear.modes()
    if not len(found):
        raise UserError(f"{target.name} has no free motion, so there are no modes to write.")
    written = [found.save(folder / "modes.nc"), found.plot().save(folder / "eigenvalues.svg")]
    if target.scene is not None:
        from zwang.output.viewer import write_mode

        for i in range(len(found)):
            page = folder / f"mode-{i}.html"
            written.append(write_mode(found, target.scene, page, mode=i, amplitude=amplitude))
    say("written: " + ", ".join(map(str, written)))
