"""The only place that writes sentences to the terminal: nothing from outside may steer it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable

from zwang.cli.advice import fitted
from zwang.inputs.text import escaped


def ready() -> None:
    """Let characters that the terminal cannot show be escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        # a stream that stands in for the terminal, as under a test, may be of another kind
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


_before: list[Callable[[], None]] = []


@contextlib.contextmanager
def cleared(end: Callable[[], None]):
    """Inside, `end` clears the terminal of what moves on it before anything is said."""
    _before.append(end)
    try:
        yield
    finally:
        _before.remove(end)


def say(text: str) -> None:
    """Print text for the user to stdout."""
    for end in _before:
        end()
    print(escaped(text), flush=True)


def complain(sentence: str) -> None:
    """Print one sentence about a fault to stderr."""
    print(f"zwang: {escaped(sentence, lines=False)}", file=sys.stderr, flush=True)


def warn(sentence: str) -> None:
    """Print one warning to stderr."""
    complain(f"warning: {fitted(sentence)}")
