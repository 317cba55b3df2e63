"""`zwang driving-torque`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import Driven, First, Last, Rate, folder, publish, saved, subject_of
from zwang.cli.model_options import ModelName, Settings


def command(
    model: ModelName,
    input_: Driven,
    from_: First,
    to: Last,
    rate: Rate = 1.0,
    samples: Annotated[int, typer.Option(help="Number of configurations.", min=2)] = 201,
    set_: Settings = None,
    out: Annotated[Path | None, folder("driving-torque.nc, .csv and picture")] = None,
) -> int:
    """The torque or force that drives a mechanism through a range of its input at a constant rate,
    and the reactions of its joints.

    Examples:

    [cyan]zwang driving-torque four-bar A --from 0 --to 6.2832 --rate 3[/]
    """
    subject, options = subject_of(model, set_, {input_: (from_, to)}, rate)
    from zwang.analysis.driving_torque import driving_torque

    found = driving_torque(subject, input_, (from_, to), rate=rate, samples=samples, **options)
    name = "driving-torque"
    publish(found, out, saved(name, found, **{name: found.plot}))
    return 0 if found.motion.ended in ("range", "closed") else 3
