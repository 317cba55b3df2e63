"""A process that has imported MuJoCo and runs a program in forks of itself: the same program with
the same limits as `zwang.files.isolation`, without a second for imports for every file.
"""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from zwang.errors import ModelError
from zwang.inputs.text import escaped

SERVER = """
import json, os, runpy, signal, sys, mujoco
for line in sys.stdin:
    program, words, folder, seconds = json.loads(line)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(write, 2)
        os.chdir(folder)
        signal.alarm(seconds)
        sys.argv, code = [program, *words], 1
        try:
            runpy.run_path(program, run_name="__main__")
            code = 0
        except SystemExit as end:
            code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
            if isinstance(end.code, str):
                sys.stderr.write(end.code)
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(write)
    said = b""
    while part := os.read(read, 65536):
        said += part
    os.close(read)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, said.decode(errors="replace")]), flush=True)
"""


@functools.cache
def _server() -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.kill)
    return server


def run_isolated(program: Path, arguments: Sequence[str], folder: Path, shown: str) -> None:
    """What `zwang.files.isolation.run_isolated` does, in a fork."""
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    print(json.dumps([str(program), list(arguments), str(folder), 60]), file=server.stdin)
    server.stdin.flush()
    code, said = json.loads(server.stdout.readline())
    if code < 0:
        raise ModelError(f"{shown}: the parser died of it (signal {-code}).")
    if code:
        raise ModelError(f"{shown}: {escaped(' '.join(said.split()), lines=False)[-400:]}")
