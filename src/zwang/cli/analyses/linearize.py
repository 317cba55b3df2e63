"""`zwang linearize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import folder, publish, saved
from zwang.cli.balance import Find, FindOption, equilibrium_about
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import target_of


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
        Path | None, folder("linearization.nc, eigenvalues.svg and regulator.nc")
    ] = None,
) -> int:
    """Minimal linear equations about a model's equilibrium or start: poles, controllability, gains
    of a regulator.

    Examples:

    [cyan]zwang linearize double-pendulum --input "rod 1.angle" --lqr[/]

    [cyan]zwang linearize double-pendulum --find nearest --set angle1=170 --set angle2=170[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.linearize import linearize

    q, v = target.q0, target.v0
    if not at_start:
        rest = equilibrium_about(target, find)
        q, v = rest.q, rest.v
    asked = {"inputs": tuple(input_ or ()), "outputs": output or None}
    linear = linearize(target.model, q, v, params=target.params, **asked)
    text = str(linear)
    if linear.inputs:
        text += f"\n  {linear.controllability()}; {linear.observability()}"
    publish(text, out, saved("linearization", linear, eigenvalues=linear.plot))
    if lqr_:
        from zwang.analysis.lqr import lqr

        regulator = lqr(linear)
        publish(regulator, out, saved("regulator", regulator))
    return 0
