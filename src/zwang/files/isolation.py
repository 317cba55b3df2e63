"""A program that may die or never end, in a process of its own with limits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.text import escaped


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what another program writes, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="zwang-") as folder:
        yield Path(folder)


def run_isolated(program: Path, arguments: Sequence[str], folder: Path, shown: str) -> None:
    """Run a Python file in a process of its own.

    The file has to limit its own memory (`zwang` is not imported there, which would take longer
    than the work); its time is limited here.

    Args:
        program: the file; what stands beside it is not on its import path.
        arguments: words for it.
        folder: an empty folder to work in.
        shown: what is read, for messages.

    Raises:
        ModelError: one sentence, if the process dies, ends with an error or takes too long.
    """
    seconds = limit("parser_time")
    command = [sys.executable, "-P", str(program), *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            # every thread of OpenBLAS reserves memory, which the limit counts
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
    raise ModelError(f"{shown}: {said[-400:] or f'the parser ended with code {done.returncode}'}")
