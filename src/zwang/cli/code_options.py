"""The options that `zwang derive` and `zwang export` share, and the model that both begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.subject import start
from zwang.cli.target import Target, load_target, results_folder

OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder; results/MODEL by default."),
]
States = Annotated[int, typer.Option("--states", min=1, help="Random states to compare at.")]


def loaded(model: str, settings: list[str] | None):
    """The model that a command names, with its settings as its own parameters, and the target."""
    target = load_target(model, start(model, settings))
    return target.own_model, target


def folder_of(target: Target, out: Path | None) -> Path:
    """Where files go."""
    return results_folder(out, target.name)
