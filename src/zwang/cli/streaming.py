"""`zwang run --stream` and `--resume`: a run that can be continued after its process has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from zwang.cli.failure import UserError
from zwang.files import is_file, read_text, write_text
from zwang.files.reading import shown_path

if TYPE_CHECKING:
    from zwang.cli.target import Target

COMMAND = "command.json"
"""File with the words of the command line that began a run."""


def remember(folder: Path, words: list[str]) -> Path:
    """Save the command line of a run in its folder, unless it was saved before; returns the
    folder.
    """
    if not is_file(folder / COMMAND):
        write_text(folder / COMMAND, json.dumps({"words": words}))
    return folder


def resumed(ctx: typer.Context, folder: Path | None, model: str | None) -> int:
    """Repeat the command line that began the run in a folder.

    Args:
        ctx: the context of the present command.
        folder: the folder of the run; None if it was not given.
        model: MODEL; required for a Python file, because a folder alone must not determine which
            code is executed.

    Raises:
        UserError: if the folder contains no such run, or if a Python file is not named.
    """
    if folder is None:
        raise UserError("missing argument 'MODEL'; or give --resume DIR.")
    if not is_file(folder / COMMAND):
        raise UserError(
            f"{shown_path(folder)} holds no run that was begun by zwang run --stream; continue a "
            "run started in Python with zw.study.resume."
        )
    found = json.loads(read_text(folder / COMMAND, "toml_size"))
    words = found.get("words") if isinstance(found, dict) else None
    if not isinstance(words, list) or not all(isinstance(x, str) for x in words) or not words:
        raise UserError(f"{shown_path(folder / COMMAND)} is damaged: it holds no command line.")
    again = ctx.command.make_context("run", words[1:], parent=ctx.parent)
    # parsed by the command itself, so that an invalid option is refused as usual
    begun = again.params["model"]
    if model is not None:
        again.params["model"] = model
    elif str(begun).endswith(".py"):
        raise UserError(
            f"the run is one of the Python file {shown_path(begun)}, which is executed; name it: "
            f"zwang run {shown_path(begun)} --resume {shown_path(folder)}"
        )
    # a folder may have been moved since
    again.params |= {"out": folder, "stream": True, "resume": None}
    ctx.obj["words"] = words
    return again.command.invoke(again)


def streamed(target: Target, folder: Path, options: dict[str, Any], progress):
    """The run, saved in a folder while it grows, as one run."""
    from zwang.study.long_run import long_run

    long = long_run(
        target.model,
        target.q0,
        target.v0,
        out=folder,
        params=target.params,
        progress=progress,
        **options,
    )
    return long.run()
