"""`zwang kinematics`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import Driven, First, Last, Rate, folder, publish, saved, subject_of
from zwang.cli.model_options import Settings


def command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="As of [bold]zwang run[/]; drives are set aside."),
    ],
    input_: Driven,
    from_: First,
    to: Last,
    rate: Rate = 1.0,
    output: Annotated[
        list[str] | None,
        typer.Option(help="A coordinate whose rate and dead points are asked for; repeatable."),
    ] = None,
    transmission: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Angles of coupler and output link, for their angle."),
    ] = None,
    trace: Annotated[
        list[str] | None, typer.Option(help="A point whose path is drawn; repeatable.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Number of configurations.", min=2)] = 201,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on along the branch behind limit positions.")
    ] = False,
    set_: Settings = None,
    out: Annotated[Path | None, folder("kinematics.nc, .csv and pictures")] = None,
) -> int:
    """Follow a mechanism over its input: positions, velocities, accelerations, limit positions,
    dead points, on one branch, every step certified.

    Exit code 0 if the last value was reached, 3 if the branch ends before.

    Examples:

    [cyan]zwang kinematics four-bar A --from 0 --to 360deg --output D
    --transmission coupler.angle,rocker.angle --out results/four-bar[/]

    [cyan]zwang kinematics four-bar D --from 2 --to 1 --follow --out results/four-bar[/]
    """
    subject, options = subject_of(model, set_, {input_: (from_, to)}, rate)
    from zwang.analysis.kinematics import kinematics

    found = kinematics(
        subject,
        input_,
        (from_, to),
        rate=rate,
        samples=samples,
        output=tuple(output or ()),
        trace=tuple(trace or ()),
        transmission=None if transmission is None else tuple(transmission.split(",")),
        at_limit="follow" if follow else "stop",
        **options,
    )
    pictures = {"traces": found.plot_traces} if found.traces else {}
    publish(found, out, saved("kinematics", found, kinematics=found.plot, **pictures))
    # a separate exit code for a branch that ended early, so that scripts notice it
    return 0 if found.ended in ("range", "closed") else 3
