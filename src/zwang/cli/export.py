"""`zwang export`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.code_options import ModelName, OutFolder, Settings, States, folder_of, loaded
from zwang.cli.terminal import say


class Form(enum.StrEnum):
    c = "c"
    fmu2 = "fmu2"
    fmu3 = "fmu3"
    stablehlo = "stablehlo"


def command(
    model: ModelName,
    form: Annotated[
        list[Form] | None,
        typer.Option("--as", help="C99, an FMU of FMI 2.0 or 3.0, or StableHLO; repeat for more."),
    ] = None,
    set_: Settings = None,
    out: OutFolder = None,
    states: States = 100,
) -> int:
    """Write a model of any size as code for other programs: C without allocation, an FMU, or
    StableHLO.

    C, also that inside an FMU, is executed and compared with the numeric model before it is
    written. For formulas see [bold]zwang derive[/], which takes the same options.

    Examples:

    [cyan]zwang export 3rrr[/]

    [cyan]zwang export cart-pole-track --as c --as fmu2[/]
    """
    chosen, target = loaded(model, set_)
    forms = form or [Form.c]
    if set(forms) - {Form.stablehlo}:
        say(_compared(chosen, target.q0, target.v0, states))
    for kind in forms:
        for path in written(chosen, target.q0, target.v0, kind, folder_of(target, out)):
            say(str(path))
    return 0


def _compared(model, q0, v0, states: int) -> str:
    """How well the C agrees, in words.

    Raises:
        ModelError: if it does not.
    """
    from zwang.codegen.c import agreement, c_code, compiler

    if compiler() is None:
        return "The C was not executed: there is no C compiler here."
    found = agreement(c_code(model, q0, v0), q0, v0, states)
    shown = [f"  {name:32s} {error:.1e}" for name, error in found.items()]
    return "\n".join([f"C compared with the numeric model at {states} random states:", *shown])


def written(model, q0, v0, form: Form, folder: Path) -> list[Path]:
    """The files of a model in a form."""
    if form is Form.c:
        from zwang.codegen.c import c_code

        return c_code(model, q0, v0).write(folder)
    if form is Form.stablehlo:
        from zwang.codegen.stablehlo import stablehlo

        return stablehlo(model).write(folder)
    from zwang.codegen.fmu import fmu

    unit = fmu(model, q0, v0, version=2 if form is Form.fmu2 else 3)
    return [unit.write(folder / f"{unit.name}_{form.value}.fmu")]
