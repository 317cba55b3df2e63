"""Arguments and options that are common to several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_MODEL = typer.Argument(
    metavar="MODEL",
    help="A gallery name ([bold]zwang list[/]), a .py file, a .toml mechanism or a robot "
    "(URDF, MJCF, SDF).",
)
ModelName = Annotated[str, _MODEL]
ModelNameIfAny = Annotated[str | None, _MODEL]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting or parameter; repeat for more."),
]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder; results/MODEL by default."),
]
States = Annotated[int, typer.Option("--states", min=1, help="Random states to compare at.")]
