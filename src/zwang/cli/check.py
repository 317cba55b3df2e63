"""`zwang check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.failure import WRONG_INPUT
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.subject import start
from zwang.cli.target import Target, load_target, made_folder
from zwang.cli.terminal import say, warn
from zwang.files import write_text

if TYPE_CHECKING:
    from zwang.analysis.check import Diagnosis

MOST_PAGES = 12
"""Free motions that get a page; all are in the report's `free_motions`."""


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
        typer.Option(
            metavar="DIR",
            help="Folder for check.txt and, if the model has a scene, a page that plays each free "
            "motion.",
        ),
    ] = None,
    amplitude: Annotated[
        float, typer.Option(help="On these pages, of the coordinate that moves most.")
    ] = 0.1,
) -> int:
    """Diagnose a model at its start: rank, redundant rows, degrees of freedom, consistency, kind of
    each constraint.

    Exit code 0 if the start is consistent, 2 if it is not.

    Examples:

    [cyan]zwang check five-bar[/]

    [cyan]zwang check my_model.py --set length=2[/]

    [cyan]zwang check sarrus --out results/sarrus[/]
    """
    target = load_target(model, start(model, set_))
    from zwang.analysis.check import check

    # a mechanism knows which of its joints could be looser, its model does not
    subject = target.mechanism or target.model
    diagnosis = check(subject, target.q0, target.v0, params=target.params or None)
    say(fitted(str(diagnosis)))
    if timing:
        from zwang.dynamics.evaluation import evaluation_size

        dynamics = target.model.dynamics(target.params or None)
        state = target.model.state(target.q0, target.v0)
        say(f"  evaluation         {evaluation_size(dynamics, state)}")
    for warning in target.warnings:
        warn(warning)
    if out is not None:
        _write(target, diagnosis, out, amplitude)
    return 0 if diagnosis.consistent else WRONG_INPUT


def _write(target: Target, diagnosis: Diagnosis, out: Path, amplitude: float) -> None:
    """The report as text, and a page for each free motion."""
    folder = made_folder(out)
    written = [folder / "check.txt"]
    write_text(written[0], f"{diagnosis}\n")
    if target.scene is not None and diagnosis.consistent:
        from zwang.output.viewer import write_free_motion

        for i, motion in enumerate(diagnosis.free_motions[:MOST_PAGES]):
            page = write_free_motion(
                target.model,
                target.q0,
                motion.direction,
                target.scene,
                folder / f"free-motion-{i}.html",
                name=f"Free motion {i}, {motion.name}",
                params=target.params or None,
                amplitude=amplitude,
            )
            written.append(page)
    say("written: " + ", ".join(map(str, written)))
