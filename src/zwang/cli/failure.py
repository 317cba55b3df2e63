"""Failures of the command line: one sentence on stderr, and an exit code."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable

import typer

from zwang.cli.advice import fitted

WRONG_INPUT, RUN_FAILED, INTERRUPTED, FAULT = 2, 3, 130, 1
PARSER_ERROR = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
NOTHING_YET = "interrupted; each file that was written is whole, and others are missing"
LONGEST_SENTENCE = 600
"""Largest number of characters of a sentence; messages of JAX can be pages long."""


class UserError(Exception):
    """The command line, a file or a value is wrong; the message states the remedy."""


class InterruptedCommandError(Exception):
    """Ctrl-C has ended a command; the message states the completed part, without a full stop."""


def heard(command: Callable[..., int]) -> Callable[..., int]:
    """Decorate a command so that its end by Ctrl-C is reported; the parser would end it
    silently.
    """

    @functools.wraps(command)
    def hearing(*args, **kwargs) -> int:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt as error:
            raise InterruptedCommandError(str(error) or NOTHING_YET) from error

    return hearing


def sentence_of(error: BaseException) -> tuple[str, int]:
    """The sentence and the exit code for an error."""
    from zwang.errors import ModelError, OutputError

    if isinstance(error, KeyboardInterrupt):
        return f"{NOTHING_YET}.", INTERRUPTED
    if isinstance(error, InterruptedCommandError):
        return one_line(f"{fitted(str(error))}."), INTERRUPTED
    if isinstance(error, (UserError, ModelError)):
        return one_line(fitted(str(error))), WRONG_INPUT
    if isinstance(error, OutputError):
        return one_line(fitted(str(error))), FAULT
    if isinstance(error, PARSER_ERROR):
        said = getattr(error, "format_message", error.__str__)()
        return one_line(said.replace(": Value error, ", ": ")), WRONG_INPUT
    if isinstance(error, OSError) and error.strerror:
        file = f"{error.filename}: " if error.filename is not None else ""
        return one_line(f"{file}{error.strerror[:1].lower()}{error.strerror[1:]}."), FAULT
    if isinstance(error, MemoryError):
        return "there is not enough memory; take fewer samples or a smaller model.", FAULT
    where = traceback.extract_tb(error.__traceback__)
    place = f" at {where[-1].filename}, line {where[-1].lineno}" if where else ""
    return (
        f"unexpected {type(error).__name__}{place}: {one_line(text_of(error))} (--debug shows the "
        "trace)",
        FAULT,
    )


def referred(sentence: str, error: BaseException) -> str:
    """The sentence for an error, followed by the command that explains it if the user can correct
    it.
    """
    from zwang.cli.explain import explained
    from zwang.errors import ExplainedError
    from zwang.messages import code_of

    if not isinstance(error, (UserError, ExplainedError, PARSER_ERROR, OSError)):
        return sentence
    # a file of the user's whose code the library refuses is explained as in Python
    at = error.__cause__ if isinstance(error.__cause__, ExplainedError) else error
    return explained(sentence, code_of(sentence, at.__traceback__))


def text_of(error: BaseException) -> str:
    """The message of an error; empty if its own code fails."""
    try:
        return str(error)
    except Exception:
        return ""


def one_line(text: str) -> str:
    """Text without line breaks, shortened."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SENTENCE else f"{text[:LONGEST_SENTENCE]} …"


def where_in(file: str, error: BaseException) -> int | None:
    """The last line of `file` in the traceback of an error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    return lines[-1] if lines else None
