"""`zwang kinematics`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.angles import First, Last, Rate
from zwang.cli.model_options import Settings
from zwang.cli.subject import mechanism_or_model, start, write
from zwang.cli.terminal import say


def command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="As of [bold]zwang run[/]; drives are set aside."),
    ],
    input_: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="The name of a coordinate or of a joint."),
    ],
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
    out: Annotated[
        Path | None, typer.Option(help="Folder for kinematics.nc, .csv and pictures.")
    ] = None,
) -> int:
    """Follow a mechanism over its input: positions, velocities, accelerations, limit positions,
    dead points, on one branch, every step certified.

    Exit code 0 if the last value was reached, 3 if the branch ends before.

    Examples:

    [cyan]zwang kinematics four-bar A --from 0 --to 360deg --output D
    --transmission coupler.angle,rocker.angle --out results/four-bar[/]

    [cyan]zwang kinematics four-bar D --from 2 --to 1 --follow --out results/four-bar[/]
    """
    subject, options = mechanism_or_model(model, start(model, set_))
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
    say(fitted(str(found)))
    picture = lambda path: found.plot().save(path)
    files = {"kinematics.nc": found.save, "kinematics.csv": found.save, "kinematics.svg": picture}
    traces = {"traces.svg": lambda path: found.plot_traces().save(path)} if found.traces else {}
    write(out, {**files, **traces})
    # an exit code of its own where the branch ended early, so that scripts notice
    return 0 if found.ended in ("range", "closed") else 3
