"""Machine code in this process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import itertools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from zwang.native.library import address_of
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
        builder = llvm.JITLibraryBuilder().add_object_img(binary).add_current_process()
        for routine in routines:
            builder.import_symbol(routine, address_of(routine))
        names = name, f"{name}_members"
        for each in names:
            builder.export_symbol(each)
        # the memory of the code is given back with this object
        self._library = builder.link(_linker(), f"zwang_{next(_numbers)}")
        one, many = (self._library[each] for each in names)
        self.call, self.call_members = self._signature(one), self._of_members(many)


_numbers = itertools.count()


@functools.cache
def _linker() -> Any:
    """What puts object code into the memory of this process."""
    target, cpu, features = host()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)
    return llvm.create_lljit_compiler(machine, use_jit_link=True)


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
