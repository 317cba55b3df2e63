"""Conversion of words of the command line, without pydantic for words that need no conversion."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose absent options, strings and plain paths are used without conversion.

    Some versions of typer convert each parameter, even an absent one, by an adapter of pydantic.
    Importing pydantic and creating twenty adapters takes 0.07 s of every command.
    """

    def __init__(self, *args, help: str | None = None, **options):
        super().__init__(*args, help=help and filled(help), **options)

    def get_params(self, ctx):
        return _taken_as_they_are(super().get_params(ctx))


class Commands(TyperGroup):
    """All commands, with options that are treated like those of a `Command`."""

    def get_params(self, ctx):
        return _taken_as_they_are(super().get_params(ctx))


def filled(text: str) -> str:
    """Paragraphs without the line breaks of the source, which do not fit a terminal; examples are
    unchanged.
    """
    parts = inspect.cleandoc(text).split("\n\n")
    joined = (x if x.startswith("[cyan]") else " ".join(x.split()) for x in parts)
    return "\n\n".join(joined)


def _taken_as_they_are(params: list) -> list:
    for param in params:
        # only for such a version of typer, and once
        if hasattr(param, "type_descriptor") and "process_value" not in vars(param):
            param.process_value = functools.partial(_value, param, param.process_value)
    return params


def _value(param, convert: Callable, ctx, value: object) -> object:
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
        # an unreadable path is refused by typer's own message
        if os.access(value, os.R_OK) or not os.path.lexists(value):
            return Path(value)
    return convert(ctx, value)


def _is_free(about) -> bool:
    """True if the parameter accepts any path."""
    asked = about.exists or about.writable or about.resolve_path or about.allow_dash
    return not asked and about.file_okay and about.dir_okay and about.path_type is None
