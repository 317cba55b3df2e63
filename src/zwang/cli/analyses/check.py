"""`zwang check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.analysis import Amplitude, folder, free_motion_pages, publish
from zwang.cli.failure import WRONG_INPUT
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import target_of
from zwang.files import write_text

MOST_PAGES = 12
"""Largest number of free motions with a page; the report's `free_motions` contains all."""


def command(
    model: ModelName,
    set_: Settings = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing", help="Also say how large the model's equations are, and compile them anew."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        folder("check.txt and, if the model has a scene, a page that plays each free motion"),
    ] = None,
    amplitude: Amplitude = 0.1,
) -> int:
    """Diagnose a model at its start: rank, redundant rows, degrees of freedom, consistency, kind of
    each constraint.

    Exit code 0 if the start is consistent, 2 if it is not.

    Examples:

    [cyan]zwang check five-bar[/]

    [cyan]zwang check my_model.py --set length=2[/]

    [cyan]zwang check sarrus --out results/sarrus[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.check import check

    # suggestions of less restrictive joints need the mechanism, not only its model
    subject = target.mechanism or target.model
    found = check(subject, target.q0, target.v0, params=target.params)
    text = str(found)
    if timing:
        from zwang.dynamics.evaluation import evaluation_size

        state = target.model.state(target.q0, target.v0)
        size = evaluation_size(target.model.dynamics(target.params), state)
        text += f"\n  evaluation         {size}"
    motions = found.free_motions[:MOST_PAGES] if found.consistent else ()
    ways = {
        f"free-motion-{i}": (f"Free motion {i}, {x.name}", x.direction)
        for i, x in enumerate(motions)
    }
    report = {"check.txt": lambda path: write_text(path, f"{found}\n")}
    pages = free_motion_pages(target, target.model, ways, amplitude)
    publish(text, out, {**report, **pages}, target.warnings)
    return 0 if found.consistent else WRONG_INPUT
