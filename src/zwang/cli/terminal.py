"""The only place that writes sentences to the terminal: nothing from outside may steer it."""

from __future__ import annotations

import contextlib
import io
import sys

from zwang.text import escaped


def ready() -> None:
    """Let characters that the terminal cannot show be escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        # a stream that stands in for the terminal, as under a test, may be of another kind
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Print text for the user to stdout."""
    print(escaped(text), flush=True)


def complain(sentence: str) -> None:
    """Print one sentence about a fault to stderr."""
    print(f"zwang: {escaped(sentence, lines=False)}", file=sys.stderr, flush=True)


def warn(sentence: str) -> None:
    """Print one warning to stderr."""
    complain(f"warning: {sentence}")
