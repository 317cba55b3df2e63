"""`zwang check`."""

from __future__ import annotations

from typing import Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.failure import WRONG_INPUT
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import load_target, locate
from zwang.cli.terminal import say, warn
from zwang.cli.values import assignments


def command(
    model: ModelName,
    set_: Settings = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing", help="Also say how large the model's equations are, and compile them anew."
        ),
    ] = False,
) -> int:
    """Diagnose a model at its start: rank, redundant rows, degrees of freedom, consistency, kind of
    each constraint.

    Exit code 0 if the start is consistent, 2 if it is not.

    Examples:

    [cyan]zwang check five-bar[/]

    [cyan]zwang check my_model.py --set length=2[/]
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    target = load_target(model, given)
    from zwang.analysis.check import check

    diagnosis = check(target.model, target.q0, target.v0, params=target.params or None)
    say(fitted(str(diagnosis)))
    if timing:
        from zwang.dynamics.evaluation import evaluation_size

        dynamics = target.model.dynamics(target.params or None)
        state = target.model.state(target.q0, target.v0)
        say(f"  evaluation         {evaluation_size(dynamics, state)}")
    for warning in target.warnings:
        warn(warning)
    return 0 if diagnosis.consistent else WRONG_INPUT
