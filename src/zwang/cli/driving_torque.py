"""`zwang driving-torque`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.angles import First, Last, Rate
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import mechanism_or_model, start, write
from zwang.cli.terminal import say


def command(
    model: ModelName,
    input_: Annotated[
        str, typer.Argument(metavar="INPUT", help="The coordinate or joint that is driven.")
    ],
    from_: First,
    to: Last,
    rate: Rate = 1.0,
    samples: Annotated[int, typer.Option(help="Number of configurations.", min=2)] = 201,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for driving-torque.nc, .csv, picture."),
    ] = None,
) -> int:
    """The torque or force that drives a mechanism through a range of its input at a constant rate,
    and what its joints carry.

    Examples:

    [cyan]zwang driving-torque four-bar A --from 0 --to 6.2832 --rate 3[/]
    """
    subject, options = mechanism_or_model(model, start(model, set_))
    from zwang.analysis.driving_torque import driving_torque

    found = driving_torque(subject, input_, (from_, to), rate=rate, samples=samples, **options)
    say(fitted(str(found)))
    files = {f"driving-torque.{kind}": found.save for kind in ("nc", "csv")}
    write(out, {**files, "driving-torque.svg": lambda path: found.plot().save(path)})
    return 0 if found.motion.ended in ("range", "closed") else 3
