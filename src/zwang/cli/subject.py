"""What commands of analyses share: how they begin, what they work on, what they write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zwang.cli.failure import UserError
from zwang.cli.target import load_target, locate, made_folder
from zwang.cli.terminal import say
from zwang.cli.values import assignments, like
from zwang.errors import ModelError


def start(model: str, set_: list[str] | None) -> dict[str, str]:
    """What `--set` says of MODEL, with JAX ready. The model is looked for before that is imported,
    so that a misspelled name is reported at once.
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    return given


def write(out: Path | None, files: Mapping[str, Callable[[Path], object]]) -> None:
    """Write the files of an analysis, by the functions that save each at a path, where a folder is
    asked for.
    """
    if out is None:
        return
    folder = made_folder(out)
    for name, save in files.items():
        save(folder / name)
    say(f"written to {folder}")


def mechanism_or_model(model: str, given: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    """The mechanism of MODEL, or its model with its start."""
    from zwang.gallery.mechanisms import FOLDER
    from zwang.mechanism import read

    path = locate(model)
    file = FOLDER / f"{model}.toml" if path is None else path
    if file.suffix == ".toml" and file.is_file():
        known = read(file).parameters
        chosen: Any = {k: like(x, 0.0, f"--set {k}") for k, x in given.items() if k in known}
        if len(chosen) == len(given):
            return read(file, **chosen), {}
    target = load_target(model, given)
    return target.model, {"q": target.q0, "params": target.params or None}


def ranges(given: Sequence[str], option: str) -> dict[str, tuple[float, float]]:
    """`NAME=LOW:HIGH`, several times.

    Raises:
        UserError: for text of another form.
    """
    from zwang.mechanism.expression import quantity

    found = {}
    for text in given:
        name, _, span = text.partition("=")
        try:
            low, high = map(quantity, span.split(":"))
        except (ValueError, ModelError):
            raise UserError(
                f"{option} is {text!r:.80}, expected NAME=LOW:HIGH, such as left=0:3.1 or "
                "left=0:180deg"
            ) from None
        found[name] = (low, high)
    return found


def numbers(given: Sequence[str], option: str) -> dict[str, float]:
    """`NAME=VALUE`, several times.

    Raises:
        UserError: for text of another form.
    """
    from zwang.mechanism.expression import quantity

    found = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            found[name] = quantity(value)
        except ModelError:
            raise UserError(
                f"{option} is {text!r:.80}, expected NAME=VALUE, such as A=1.1 or A=60deg"
            ) from None
        if not name:
            raise UserError(f"{option} is {text!r:.80}, expected NAME=VALUE")
    return found
