"""`zwang linearize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.balance import Find, FindOption, equilibrium_about
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import start, write
from zwang.cli.target import load_target
from zwang.cli.terminal import say


def command(
    model: ModelName,
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", help="A parameter, or a velocity that is pushed; repeatable."),
    ] = None,
    output: Annotated[
        list[str] | None, typer.Option(help="A coordinate or velocity; all by default.")
    ] = None,
    at_start: Annotated[
        bool,
        typer.Option("--at-start", help="About the start itself, not the equilibrium near it."),
    ] = False,
    find: FindOption = Find.minimum,
    lqr_: Annotated[
        bool, typer.Option("--lqr", help="Also a regulator with unit weights on all outputs.")
    ] = False,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for linearization.nc, eigenvalues.svg and regulator.nc."
        ),
    ] = None,
) -> int:
    """Minimal linear equations about a model's equilibrium or start: poles, controllability, gains
    of a regulator.

    Examples:

    [cyan]zwang linearize double-pendulum --input "rod 1.angle" --lqr[/]

    [cyan]zwang linearize double-pendulum --find nearest --set angle1=170 --set angle2=170[/]
    """
    target = load_target(model, start(model, set_))
    from zwang.analysis.linearize import linearize

    params, q, v = target.params or None, target.q0, target.v0
    if not at_start:
        rest = equilibrium_about(target, find)
        q, v = rest.q, rest.v
    linear = linearize(
        target.model, q, v, params=params, inputs=tuple(input_ or ()), outputs=output or None
    )
    say(fitted(str(linear)))
    if linear.inputs:
        say(f"  {linear.controllability()}; {linear.observability()}")
    regulator = None
    if lqr_:
        from zwang.analysis.lqr import lqr

        regulator = lqr(linear)
        say(fitted(str(regulator)))
    picture = lambda path: linear.plot().save(path)
    files = {"linearization.nc": linear.save, "eigenvalues.svg": picture}
    write(out, files if regulator is None else {**files, "regulator.nc": regulator.save})
    return 0
