"""The command line: `zwang COMMAND …`. JAX is imported only when a command runs that needs it.

| file | content |
|---|---|
| `analyses/` | commands of analyses, one file each, found by the file's name |
| `run.py`, `sweep.py`, `view.py`, ... | other commands, one file each, listed in `COMMANDS` |
| `analysis.py` | input and output of the commands of analyses |
| `target.py`, `script.py` | MODEL: a gallery name, or a user's `.py` file |
| `values.py` | `--set name=value` |
| `options.py` | methods by their names on the command line |
| `startup.py` | settings of JAX: float64 and the compile cache |
| `progress.py`, `timing.py`, `summary_table.py` | progress bar, wall time, closing table |
| `failure.py`, `advice.py` | errors as one sentence and an exit code; remedies as options |
| `explain.py` | explanations of messages |
| `words.py` | conversion of words of the command line to values |
| `terminal.py` | output to the terminal, with control codes escaped |
| `interruption.py` | Ctrl-C without loss of a run |
| `streaming.py` | `zwang run --stream` and `--resume` |
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import zwang
from zwang.cli.advice import options_of
from zwang.cli.failure import FAULT, heard, referred, sentence_of
from zwang.cli.terminal import complain, ready
from zwang.cli.words import Command, Commands, filled
from zwang.errors import ModelError
from zwang.remedy import speak_to

GARBAGE = 1_000_000, 20, 50
"""Thresholds of Python's cyclic garbage collector while a command starts. With the default
thresholds it takes a tenth of a short command, and finds nothing.
"""
ANALYSES = Path(__file__).parent / "analyses"
COMMANDS = {
    "list": "listing",
    "run": "run",
    "sweep": "sweep",
    "view": "view",
    **{x.stem.replace("_", "-"): f"analyses.{x.stem}" for x in sorted(ANALYSES.glob("[a-z]*.py"))},
    "derive": "derive",
    "export": "export",
    "reproduce": "reproduce",
    "explain": "explain",
}
"""Commands and their modules; only the module of the requested command is imported."""
OWN_BAR = ("explain", "listing", "run", "sweep", "reproduce", "view")
"""Modules of commands that have their own progress bar, finish at once, or run a server."""
COMPLETING = "_ZWANG_COMPLETE"
"""Environment variable by which a shell requests completions."""
COMPLETED = "_TYPER_COMPLETE_ARGS", "COMP_WORDS"
"""Environment variables in which shells pass the line to be completed."""
SUMMARY = re.compile(r'^def command\(.*?\n    """(.*?)(?:\n\n|""")', re.DOTALL | re.MULTILINE)
"""Pattern of the first paragraph of the docstring of a module's command."""


def application(words: Sequence[str]) -> typer.Typer:
    """The application with the commands that a command line needs.

    Args:
        words: after `zwang`.
    """
    app = typer.Typer(
        name="zwang",
        cls=Commands,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Start with: [bold]zwang list[/], then [bold]zwang run five-bar[/] and open "
        "results/five-bar/report.html",
    )
    # a shell that completes a line passes it in environment variables
    line = [*words, *(os.environ.get(name, "") for name in COMPLETED)]
    asked = asked_of([word for part in line for word in part.split()])
    for name, module in COMMANDS.items():
        app.command(name, cls=Command)(_command(module) if name == asked else _summary(module))
    app.callback()(_options)
    return app


def asked_of(words: Sequence[str]) -> str | None:
    """The command that a command line names; None without one."""
    return next((word for word in words if word in COMMANDS), None)


def speak_of(asked: str | None) -> None:
    """Select the form of remedies: options of a command, or Python for None."""
    speak_to(functools.partial(options_of, COMMANDS[asked]) if asked else None)


def _command(module: str) -> Callable:
    command = importlib.import_module(f"zwang.cli.{module}").command
    if module in OWN_BAR:
        return heard(command)
    # imported here, because the list of commands needs no progress bar
    from zwang.cli.progress import with_bar

    return heard(with_bar(command))


def _summary(module: str) -> Callable:
    """A command that only appears in the list of commands."""

    def listed() -> None:
        raise NotImplementedError

    found = SUMMARY.search(
        (Path(__file__).parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    )
    assert found is not None, module
    listed.__doc__ = filled(found[1])
    return listed


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"zwang {zwang.__version__}")
        raise typer.Exit


def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the full trace of an error. May stand anywhere.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Constrained motion, constraint forces and drift-free trajectories by the Udwadia-Kalaba
    equation.
    """


def refuse_null_bytes(words: Sequence[str]) -> None:
    """Raise a `ModelError` for a word with a null byte, which no shell passes. Parsers of different
    versions treat such words differently.
    """
    for word in words:
        if "\0" in word:
            raise ModelError(
                f"the word {word!r} has a null byte, and no file can have this name; "
                "expected text without one."
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: words after `zwang`; the process's own by default.

    Returns:
        Exit code: 0 done, 2 wrong input, 3 the run stopped early, 4 a verdict changed, 130
        interrupted, 1 a file cannot be written, or an internal error.
    """
    gc.set_threshold(*GARBAGE)
    # threads of OpenBLAS wait for each other with matrices of a few hundred rows; on a busy machine
    # a report took four times as long
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # otherwise Python's garbage collector examines all objects of JAX at exit, which takes a second
    atexit.register(gc.freeze)
    ready()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"] or ["--help"]
    try:
        speak_of(asked_of(words))
        refuse_null_bytes(words)
        return (
            application(words)(
                words,
                prog_name="zwang",
                standalone_mode=False,
                obj={"started": time.perf_counter(), "words": words},
            )
            or 0
        )
    except BaseException as error:  # a user's file may raise anything, even SystemExit
        if isinstance(error, SystemExit) and COMPLETING in os.environ:
            return 0  # the end of a completion
        if _reader_has_left(error):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAULT
        if debug:
            raise
        sentence, code = sentence_of(error)
        complain(referred(sentence, error))
        return code
    finally:
        speak_of(None)  # remedies in Python for the calling program


def _reader_has_left(error: BaseException) -> bool:
    """True if the reader of the output has closed it, as `head` does. Tables and help then end in a
    `SystemExit`.
    """
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, BrokenPipeError)


def console() -> NoReturn:
    """Run `main` as a program."""
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    sys.exit(code)
