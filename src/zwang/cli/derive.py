"""`zwang derive`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.target import load_target, locate
from zwang.cli.terminal import say
from zwang.cli.values import assignments


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A gallery name ([bold]zwang list[/]), a .py file, a .toml mechanism or a robot.",
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting; repeat for more."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder; results/MODEL-formulas by default."),
    ] = None,
    states: Annotated[
        int, typer.Option("--states", min=1, help="Random states to compare at.")
    ] = 1000,
) -> int:
    """Derive the explicit equation of motion by symbols and write it as LaTeX, Python, C, MATLAB
    and Julia.

    Every printed function is executed and compared with the numeric model before it is written.
    Needs the extra [bold]symbolic[/]. For large models see [bold]zwang export[/].

    Examples:

    [cyan]zwang derive pendulum[/]

    [cyan]zwang derive scara --out formulas[/]
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    target = load_target(model, given)
    from zwang.symbolic import derive

    found = derive(target.model, target.q0, target.v0, states=states)
    folder = Path("results") / f"{target.name}-formulas" if out is None else out
    written = found.write(folder)
    say(found.verdict())
    say(f"{folder}: {', '.join(path.name for path in written)}")
    return 0
