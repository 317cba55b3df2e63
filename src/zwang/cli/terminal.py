"""The only module that writes sentences to the terminal. Text from outside must not control it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable

from zwang.cli.advice import fitted
from zwang.inputs.text import escaped


def ready() -> None:
    """Escape characters that the terminal cannot show, so that they do not end the program."""
    for stream in (sys.stdout, sys.stderr):
        # a stream that replaces the terminal, as in a test, may be of another kind
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


_before: list[Callable[[], None]] = []


@contextlib.contextmanager
def cleared(end: Callable[[], None]):
    """Within this context, call `end` before any output, to remove moving text from the
    terminal.
    """
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
    """Print one sentence about an error to stderr."""
    print(f"zwang: {escaped(sentence, lines=False)}", file=sys.stderr, flush=True)


def warn(sentence: str) -> None:
    """Print one warning to stderr."""
    complain(f"warning: {fitted(sentence)}")
