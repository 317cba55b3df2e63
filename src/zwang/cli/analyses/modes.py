"""`zwang modes`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import Amplitude, folder, publish, saved, write
from zwang.cli.balance import Find, FindOption, equilibrium_about
from zwang.cli.failure import UserError
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import target_of


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
        folder(
            "modes.nc, eigenvalues.svg and, if the model has a scene, a page that plays each mode"
        ),
    ] = None,
    amplitude: Amplitude = 0.1,
) -> int:
    """Modes of small motions about the equilibrium near a model's start: frequencies, damping,
    shapes.

    Examples:

    [cyan]zwang modes double-pendulum[/]

    [cyan]zwang modes bicycle --at-start --set lean=0[/]

    [cyan]zwang modes slider-crank --out results/slider-crank-modes[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.linearize import linearize

    if at_start:
        linear = linearize(target.model, target.q0, target.v0, params=target.params)
    else:
        # small motions need an equilibrium, and the start may not be one
        linear = equilibrium_about(target, find).linearization
    publish(linear, warnings=target.warnings)
    if out is None:
        return 0
    found = linear.modes()
    if not len(found):
        raise UserError(f"{target.name} has no free motion, so there are no modes to write.")
    from zwang.output.viewer import write_mode

    page = lambda path, i, scene: write_mode(found, scene, path, mode=i, amplitude=amplitude)
    played = range(0 if target.scene is None else len(found))
    pages = {f"mode-{i}.html": functools.partial(page, i=i, scene=target.scene) for i in played}
    write(out, {**saved("modes", found, eigenvalues=found.plot), **pages})
    return 0
