"""Isolation of a program that may crash or hang, in a process with limits."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from zwang.errors import ModelError, OutputError
from zwang.files.limits import limit
from zwang.files.reading import reason
from zwang.inputs.text import escaped

NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""Error numbers of the system for lack of disk space."""


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder for the output of another program.

    Raises:
        OutputError: one sentence, if the folder cannot be created, or if the disk is full; errors
            of files written elsewhere meanwhile must be reported separately.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix="zwang-")
    except OSError as error:
        raise OutputError(error.errno, _full(reason(error))) from None
    with made as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise OutputError(error.errno, _full(reason(error))) from None
            raise


def _full(why: str) -> str:
    return (
        f"no temporary files can be written ({why}): free some room in their folder, or name "
        "another one by the variable TMPDIR."
    )


def refuse_full(said: str) -> None:
    """Raise the error of a full disk if another program has ended with that message."""
    if os.strerror(errno.ENOSPC).lower() in said.lower():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def run_isolated(program: Path, arguments: Sequence[str], folder: Path, shown: str) -> None:
    """Run a Python file in a separate process.

    The file must limit its own memory (`zwang` is not imported there, because the import would take
    longer than the work); its time is limited here.

    Args:
        program: the file; its folder is not on its import path.
        arguments: its command line arguments.
        folder: an empty folder to work in.
        shown: the input, for messages.

    Raises:
        ModelError: one sentence, if the process crashes, fails or takes too long.
    """
    seconds = limit("parser_time")
    command = [sys.executable, "-P", str(program), *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            # Every thread of OpenBLAS reserves memory, which counts against the limit.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{shown}: reading it takes more than {seconds} s; make the model smaller."
        ) from None
    except OSError as error:
        raise ModelError(
            f"{shown}: no process can be started to read it: {error.strerror}."
        ) from None
    if done.returncode == 0:
        return
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise ModelError(
            f"{shown}: the parser died of it ({name}); "
            f"it may need more than {limit('parser_memory') // 2**20} MiB of memory."
        )
    said = escaped(" ".join(done.stderr.decode(errors="replace").split()), lines=False)
    refuse_full(said)
    raise ModelError(f"{shown}: {said[-400:] or f'the parser ended with code {done.returncode}'}")
