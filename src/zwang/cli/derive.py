"""`zwang derive`."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from zwang.cli.model_options import ModelName, OutFolder, Settings, States
from zwang.cli.target import results_folder, target_of
from zwang.cli.terminal import say


class Form(enum.StrEnum):
    page = "page"
    latex = "latex"
    python = "python"
    c = "c"
    octave = "octave"
    julia = "julia"


def command(
    model: ModelName,
    form: Annotated[
        list[Form] | None,
        typer.Option("--as", help="What is written; repeat for more, all by default."),
    ] = None,
    set_: Settings = None,
    out: OutFolder = None,
    states: States = 1000,
) -> int:
    """Derive the explicit equation of motion by symbols and write it as a page, LaTeX, Python, C,
    MATLAB and Julia.

    Every printed function is executed and compared with the numeric model before it is written.
    Needs the extra [bold]symbolic[/]. For large models see [bold]zwang export[/], which takes the
    same options.

    Examples:

    [cyan]zwang derive pendulum[/]

    [cyan]zwang derive scara --as latex --as c --out formulas[/]
    """
    target = target_of(model, set_)
    from zwang.symbolic import derive

    found = derive(target.own_model, target.q0, target.v0, states=states)
    folder = results_folder(out, target.name)
    written = found.write(folder, forms=form or list(Form))
    say(found.verdict())
    say(f"{folder}: {', '.join(path.name for path in written)}")
    return 0
