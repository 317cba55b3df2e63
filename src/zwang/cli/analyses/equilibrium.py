"""`zwang equilibrium`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from zwang.cli.analysis import Steady, folder, publish, saved
from zwang.cli.balance import Find, FindOption
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.target import target_of


def command(
    model: ModelName,
    set_: Settings = None,
    find: FindOption = Find.minimum,
    steady: Steady = False,
    out: Annotated[Path | None, folder("equilibrium.nc")] = None,
) -> int:
    """Find where forces balance near a model's start: coordinates, stability, constraint forces.

    Examples:

    [cyan]zwang equilibrium slider-crank[/]

    [cyan]zwang equilibrium bicycle --steady --set lean=0[/]
    """
    target = target_of(model, set_)
    from zwang.analysis.equilibrium import equilibrium

    found = equilibrium(
        target.model,
        target.q0,
        v=target.v0 if steady else None,
        params=target.params,
        find=find.value,
    )
    publish(found, out, saved("equilibrium", found), target.warnings)
    return 0
