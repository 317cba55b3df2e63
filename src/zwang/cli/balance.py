"""The equilibrium that a command uses, and a line that identifies it."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated

import typer

from zwang.cli.advice import fitted
from zwang.cli.terminal import say

if TYPE_CHECKING:
    from zwang.analysis.equilibrium import Equilibrium
    from zwang.cli.target import Target

MOST_NAMED_COORDINATES = 8
"""Largest number of coordinates in this line; `zwang equilibrium` prints all."""


class Find(enum.StrEnum):
    minimum = "minimum"
    nearest = "nearest"


FindOption = Annotated[
    Find,
    typer.Option(help="A minimum of the potential downhill, or the nearest zero of forces."),
]


def equilibrium_about(target: Target, find: Find) -> Equilibrium:
    """The equilibrium near a model's start; prints a line that identifies it."""
    from zwang.analysis.equilibrium import equilibrium
    from zwang.analysis.result import rounded

    found = equilibrium(target.model, target.q0, params=target.params, find=find.value)
    names = found.model.system.coordinates
    shown = [f"{x} = {rounded(q)}" for x, q in zip(names, found.q, strict=True)]
    more = (
        f" and {len(shown) - MOST_NAMED_COORDINATES} more"
        if len(shown) > MOST_NAMED_COORDINATES
        else ""
    )
    kind = "a minimum of the potential" if find is Find.minimum else "the nearest to the start"
    say(f"about the equilibrium at {', '.join(shown[:MOST_NAMED_COORDINATES])}{more}, {kind}")
    if found.guess_balances:
        say(fitted(f"the start {found.other}"))
    return found
