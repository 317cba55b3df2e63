"""The argument MODEL and the option --set, which most commands take."""

from __future__ import annotations

from typing import Annotated

import typer

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A gallery name ([bold]zwang list[/]), a .py file, a .toml mechanism or a robot "
        "(URDF, MJCF, SDF).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting or parameter; repeat for more."),
]
