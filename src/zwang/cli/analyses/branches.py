"""`zwang branches`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from zwang.cli.analysis import Amplitude, folder, free_motion_pages, publish
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import target_of


def command(
    model: ModelName,
    set_: Settings = None,
    out: Annotated[
        Path | None, folder("a page that plays each branch, if the model has a scene")
    ] = None,
    amplitude: Amplitude = 0.1,
) -> int:
    """The branches of motion through a model's start, at which its constraints may lose rank;
    drives are ignored.

    Examples:

    [cyan]zwang branches five-bar --set angle=0[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.branches import branches

    free = target.model.passive
    if target.mechanism is not None:
        undriven = {"drives": {}, "servo": {}, "actuators": {}}
        free = dataclasses.replace(target.mechanism, **undriven).model
    found = branches(free, target.q0, params=target.params)
    ways = {f"branch-{i}": (f"Branch {i}", x.tangent) for i, x in enumerate(found.branches)}
    publish(found, out, free_motion_pages(target, free, ways, amplitude))
    return 0
