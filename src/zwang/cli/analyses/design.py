"""`zwang design`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from zwang.cli.analysis import (
    Driven,
    First,
    Last,
    Rate,
    folder,
    numbers,
    publish,
    ranges,
    saved,
    subject_of,
)
from zwang.cli.failure import UserError
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.quantities import Typed
from zwang.errors import ModelError
from zwang.thresholds import ALL_BUT_ZERO


def command(
    model: ModelName,
    input_: Driven,
    from_: First,
    to: Last,
    vary: Annotated[
        list[str],
        typer.Option(metavar="NAME=LOW:HIGH", help="A parameter and its bounds; repeatable."),
    ],
    straight: Annotated[
        list[str] | None, typer.Option(help="A point that is to move on a straight line.")
    ] = None,
    time_ratio: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=RATIO", help="Times of an output's two strokes."),
    ] = None,
    torque: Annotated[bool, typer.Option("--torque", help="Little driving torque.")] = False,
    transmission: Annotated[
        str | None,
        typer.Option(metavar="A,B,LEAST", help="Least angle between two links, such as a,b,40deg."),
    ] = None,
    stroke: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="Limits of an output's stroke; repeatable."),
    ] = None,
    rate: Rate = 1.0,
    samples: Annotated[int, typer.Option(help="Number of configurations.", min=3)] = 61,
    set_: Settings = None,
    out: Annotated[Path | None, folder("design.nc and its picture")] = None,
) -> int:
    """Optimize the dimensions of a mechanism for a desired motion, on the branch of its start.

    Exit code 0 if the design converged and satisfies its limits, 3 if not.

    Examples:

    [cyan]zwang design quick-return shaft --from 0 --to 6.2832 --vary crank=0.05:0.3
    --time-ratio guide=2[/]
    """
    bounds = ranges(vary, "--vary")
    from zwang.analysis.design import design
    from zwang.analysis.design_targets import (
        DrivingEffort,
        StraightLine,
        Stroke,
        TimeRatio,
        TransmissionAngle,
    )

    targets: list[Any] = [StraightLine(x) for x in straight or ()]
    targets += [TimeRatio(x, r) for x, r in numbers(time_ratio or [], "--time-ratio").items()]
    targets += [DrivingEffort()] if torque else []
    targets += [Stroke(x, *pair) for x, pair in ranges(stroke or [], "--stroke").items()]
    if transmission is not None:
        targets.append(TransmissionAngle(*links(transmission)))
    subject, options = subject_of(model, set_)
    outputs = tuple(x.output for x in targets if isinstance(x, (TimeRatio, Stroke)))
    found = design(
        subject,
        bounds,
        targets,
        input=input_,
        over=(from_, to),
        rate=rate,
        samples=samples,
        output=tuple(dict.fromkeys(outputs)),
        trace=tuple(straight or ()),
        **options,
    )
    publish(found, out, saved("design", found, design=found.plot))
    kept = all(x >= -ALL_BUT_ZERO for x in found.limits.values())
    return 0 if found.converged and kept else 3


def links(text: str) -> tuple[tuple[str, str], float]:
    """Parse `A,B,LEAST`: the names of two angles and the least angle between them [rad].

    Raises:
        UserError: for text of another form.
    """
    parts = text.split(",")
    try:
        first, second, least = parts[0], parts[1], float(Typed.of(parts[2], "rad"))
    except (IndexError, ValueError, ModelError):
        raise UserError(
            f"--transmission is {text!r:.80}, expected two angles and the least angle between "
            "them, such as coupler.angle,rocker.angle,40deg"
        ) from None
    return (first, second), least
