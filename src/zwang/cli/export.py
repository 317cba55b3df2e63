"""`zwang export`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.target import load_target, locate
from zwang.cli.terminal import say
from zwang.cli.values import assignments


class Form(enum.StrEnum):
    c = "c"
    fmu2 = "fmu2"
    fmu3 = "fmu3"
    stablehlo = "stablehlo"


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A gallery name ([bold]zwang list[/]), a .py file, a .toml mechanism or a robot.",
        ),
    ],
    form: Annotated[
        Form,
        typer.Option("--as", help="C99, an FMU of FMI 2.0 or 3.0, or StableHLO."),
    ] = Form.c,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; repeat for more."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder; results/MODEL-code by default."),
    ] = None,
) -> int:
    """Write a model of any size as code for other programs: C without allocation, an FMU, or
    StableHLO.

    Examples:

    [cyan]zwang export 3rrr[/]

    [cyan]zwang export cart-pole-track --as fmu2[/]
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    target = load_target(model, given)
    chosen = target.model
    if target.params:
        import equinox as eqx

        merged = chosen.merged(target.params)
        chosen = eqx.tree_at(lambda m: m.params, chosen, merged, is_leaf=lambda x: x is None)
    folder = Path("results") / f"{target.name}-code" if out is None else out
    for path in written(chosen, target.q0, target.v0, form, folder):
        say(str(path))
    return 0


def written(model, q0, v0, form: Form, folder: Path) -> list[Path]:
    """The files of a model in a form."""
    if form is Form.c:
        from zwang.codegen.c import c_code

        return c_code(model, q0, v0).write(folder)
    if form is Form.stablehlo:
        from zwang.codegen.stablehlo import stablehlo

        return stablehlo(model).write(folder)
    from zwang.codegen.fmu import fmu

    return [fmu(model, q0, v0, version=2 if form is Form.fmu2 else 3).write(folder)]
