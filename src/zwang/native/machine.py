"""Machine code in this process."""

from __future__ import annotations

import atexit
import ctypes
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import llvmlite.binding as llvm

from zwang.native.library import provide
from zwang.native.translate import host


class Code:
    """Machine code in this process.

    Args:
        binary: an object file.
        name: of its function.
        routines: that it calls (`zwang.native.library`).
    """

    _signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

    _of_members = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
    )

    def __init__(self, binary: bytes, name: str, routines: Iterable[str] = ()):
        for routine in routines:
            provide(routine)
        target, cpu, features = host()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(binary))
        self._engine.finalize_object()
        self.address = self._engine.get_function_address(name)
        self.call = self._signature(self.address)
        self.call_members = self._of_members(self._engine.get_function_address(f"{name}_members"))


SCRIPT = Path(__file__).with_name("translate.py")
_one_at_a_time = threading.Lock()
_running: set[subprocess.Popen] = set()


def optimized_apart(text: str, then: Callable[[bytes], None]) -> None:
    """Translate a module into fast code in a process of its own, and call `then` with it, in a
    thread; nothing happens where that process cannot be started or fails.
    """

    def wait() -> None:
        with _one_at_a_time:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-I", str(SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return
            _running.add(process)
            try:
                binary, _ = process.communicate(text.encode())
            except (OSError, ValueError):
                return
            finally:
                _running.discard(process)
        if process.returncode == 0 and binary:
            then(binary)

    threading.Thread(target=wait, name="zwang optimizer", daemon=True).start()


@atexit.register
def _end_running() -> None:
    """A process ends when its work has ended, and not when its code is optimized."""
    for process in list(_running):
        process.kill()
