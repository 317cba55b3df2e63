"""The command line: `zwang COMMAND …`. Nothing here imports JAX before a command runs that needs
it.

| file | what |
|---|---|
| `run.py`, `check.py`, `kinematics.py`, ... | one command each, listed in `COMMANDS` |
| `subject.py` | what analyses of mechanisms work on, ranges of inputs |
| `target.py`, `script.py` | MODEL: a gallery name, or a user's `.py` file |
| `values.py` | `--set name=value` |
| `options.py` | names of methods → methods |
| `startup.py` | float64 and the compile cache |
| `progress.py`, `timing.py`, `summary_table.py` | progress, time spent, closing table |
| `failure.py`, `advice.py` | one sentence and an exit code, with advice that fits a command line |
| `terminal.py` | text on the terminal, control codes escaped |
| `interruption.py` | Ctrl-C, which must not lose a run |
| `streaming.py` | `zwang run --stream` and `--resume` |
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import time
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

import zwang
from zwang.cli import (
    assembly_modes,
    branches,
    check,
    continuation,
    derive,
    design,
    driving_torque,
    equilibrium,
    export,
    kinematics,
    linearize,
    listing,
    modes,
    reproduce,
    run,
    sweep,
    view,
    workspace,
)
from zwang.cli.failure import FAULT, explain
from zwang.cli.terminal import complain, ready
from zwang.errors import ModelError

GARBAGE = 100_000, 20, 50
"""Thresholds of Python's search for circular garbage: with its own ones it takes a tenth of a short
command, and finds nothing.
"""
COMMANDS = {
    "list": listing.command,
    "run": run.command,
    "sweep": sweep.command,
    "view": view.command,
    "check": check.command,
    "equilibrium": equilibrium.command,
    "continuation": continuation.command,
    "linearize": linearize.command,
    "modes": modes.command,
    "kinematics": kinematics.command,
    "driving-torque": driving_torque.command,
    "assembly-modes": assembly_modes.command,
    "branches": branches.command,
    "workspace": workspace.command,
    "design": design.command,
    "derive": derive.command,
    "export": export.command,
    "reproduce": reproduce.command,
}

app = typer.Typer(
    name="zwang",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: [bold]zwang list[/], then [bold]zwang run five-bar[/] and open "
    "results/five-bar/report.html",
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"zwang {zwang.__version__}")
        raise typer.Exit


@app.callback()
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
    """Raise a `ModelError` for a word that no shell passes on; how a parser ends at one depends on
    its version.
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
        interrupted, 1 a file that cannot be written, or a fault of the program.
    """
    gc.set_threshold(*GARBAGE)
    # threads of OpenBLAS wait for each other at matrices of a few hundred rows: on a busy machine a
    # report took four times as long
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # or Python looks through all that JAX has made before it ends, which takes a second
    atexit.register(gc.freeze)
    ready()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        refuse_null_bytes(words)
        return (
            app(
                words,
                prog_name="zwang",
                standalone_mode=False,
                obj={"started": time.perf_counter(), "words": words},
            )
            or 0
        )
    except BaseException as error:  # a user's file may raise anything, SystemExit included
        if _reader_has_left(error):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAULT
        if debug:
            raise
        sentence, code = explain(error)
        complain(sentence)
        return code


def _reader_has_left(error: BaseException) -> bool:
    """Whether who reads the output has gone, as `head` does; tables and help then end in a
    `SystemExit` of their own.
    """
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, BrokenPipeError)


def console() -> NoReturn:
    """`main` as a program of its own: the process ends at once, even if the compiler is still at
    work behind a run that has ended first.
    """
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if (
        "zwang.compile.background" in sys.modules
        and sys.modules["zwang.compile.background"].abandon()
    ):
        os._exit(code)  # the compiler cannot be interrupted, and nothing is left to be cleaned up
    sys.exit(code)
