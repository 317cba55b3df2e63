"""`zwang continuation`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import Steady, folder, publish, saved
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.quantities import number
from zwang.cli.target import target_of


def command(
    model: ModelName,
    over: Annotated[
        str,
        typer.Argument(metavar="OVER", help="A parameter, or a velocity of a steady motion."),
    ],
    from_: Annotated[
        float,
        typer.Option("--from", parser=number, metavar="X", help="Lowest value of the parameter."),
    ],
    to: Annotated[
        float,
        typer.Option("--to", parser=number, metavar="X", help="Highest value of the parameter."),
    ],
    steady: Steady = False,
    hold: Annotated[
        list[str] | None, typer.Option(help="A coordinate or velocity that is kept; repeatable.")
    ] = None,
    set_: Settings = None,
    out: Annotated[Path | None, folder("continuation.nc and its picture")] = None,
) -> int:
    """Follow an equilibrium or a steady motion in a parameter, through folds, branch points and
    Hopf points.

    Examples:

    [cyan]zwang continuation my_governor.py speed --from 1 --to 6[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.continuation import continuation

    found = continuation(
        target.model,
        target.q0,
        over=over,
        to=(from_, to),
        v=target.v0 if steady else None,
        hold=tuple(hold or ()),
        params=target.params,
    )
    publish(found, out, saved("continuation", found, continuation=found.plot))
    return 0
