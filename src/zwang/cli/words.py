"""Words of a command line, converted without pydantic where nothing is to be converted."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose absent options, texts and plain paths are taken as they are.

    Some versions of typer convert each parameter by an adapter of pydantic, absent ones too: to
    import it and to make twenty adapters takes 0.07 s of every command.
    """

    def __init__(self, *args, help: str | None = None, **options):
        super().__init__(*args, help=help and filled(help), **options)

    def get_params(self, ctx: Any) -> Any:
        return _taken_as_they_are(super().get_params(ctx))


class Commands(TyperGroup):
    """All commands, with options that are taken like those of a `Command`."""

    def get_params(self, ctx: Any) -> Any:
        return _taken_as_they_are(super().get_params(ctx))


def filled(text: str) -> str:
    """Paragraphs without the line ends of the source, which are none of a terminal; examples stay
    as they are.
    """
    parts = inspect.cleandoc(text).split("\n\n")
    joined = (x if x.startswith("[cyan]") else " ".join(x.split()) for x in parts)
    return "\n\n".join(joined)


def _taken_as_they_are(params: list[Any]) -> list[Any]:
    for param in params:
        # of a version that does so, and once
        if hasattr(param, "type_descriptor") and "process_value" not in vars(param):
            param.process_value = functools.partial(_value, param, param.process_value)
    return params


def _value(param: Any, convert: Callable, ctx: Any, value: Any) -> Any:
    """The value of a parameter, after its callback if it has one."""
    if value is None and not param.required:
        value = () if param.multiple or param.nargs == -1 else None
        return value if param.callback is None else param.callback(ctx, param, value)
    kind = param.type_descriptor.annotation
    if param.callback is not None:
        return convert(ctx, value)
    if isinstance(value, str) and kind is str:
        return value
    if isinstance(value, (list, tuple)) and kind == list[str] and value:
        return [*value]
    if isinstance(value, str) and kind is Path and _is_free(param.type_descriptor.parameter_info):
        # what cannot be read is refused in typer's words
        if os.access(value, os.R_OK) or not os.path.lexists(value):
            return Path(value)
    return convert(ctx, value)


def _is_free(about: Any) -> bool:
    """Whether any path will do."""
    asked = about.exists or about.writable or about.resolve_path or about.allow_dash
    return not asked and about.file_okay and about.dir_okay and about.path_type is None
