"""Machine code loaded into this process, and optimized code made by another process."""

from __future__ import annotations

import atexit
import ctypes
import functools
import itertools
import mmap
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import llvmlite.binding as llvm

from zwang.errors import ModelError
from zwang.native.library import address_of
from zwang.native.translate import host, piece, pieces


class Code:
    """Machine code loaded into this process.

    Args:
        binaries: object files.
        name: of the function that is called.
        routines: LAPACK routines that it calls (`zwang.native.library`).
    """

    _signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

    _of_members = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
    )

    def __init__(self, binaries: Sequence[bytes], name: str, routines: Iterable[str] = ()):
        builder = llvm.JITLibraryBuilder().add_current_process()
        for binary in binaries:
            builder.add_object_img(binary)
        for routine in routines:
            builder.import_symbol(routine, address_of(routine))
        names = name, f"{name}_members"
        for each in names:
            builder.export_symbol(each)
        # The memory of the code is freed with this object.
        self._library = builder.link(_linker(), f"zwang_{next(_numbers)}")
        one, many = (self._library[each] for each in names)
        self.call, self.call_members = self._signature(one), self._of_members(many)


_numbers = itertools.count()


@functools.cache
def _linker() -> llvm.LLJIT:
    """The JIT linker, which loads object code into the memory of this process.

    Raises:
        ModelError: if this process may not execute memory that it has written.
    """
    if not _may_execute():
        raise ModelError(
            "this process may not execute memory that it has written, which machine code needs, "
            "that of JAX, too: run it without that restriction (MemoryDenyWriteExecute of systemd, "
            "PR_SET_MDWE, a policy of SELinux)."
        )
    target, cpu, features = host()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=1, jit=True)
    return llvm.create_lljit_compiler(machine, use_jit_link=True)


def _may_execute() -> bool:
    """Return whether written memory may become executable; if not, LLVM aborts the process."""
    if os.name != "posix":
        return True
    page = mmap.mmap(-1, mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    allowed = protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) == 0
    protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
    return allowed


SCRIPT = Path(__file__).with_name("translate.py")
_one_at_a_time = threading.Lock()
_running: set[subprocess.Popen] = set()


def fast_code_apart(modules: Sequence[str]) -> Iterator[bytes]:
    """Yield optimized object code of each module, made by one other process at a time.

    If that process fails or cannot be started, the remaining modules are missing. The calling
    thread waits without holding up other threads.
    """
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
            with process:
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(b"".join(piece(x.encode()) for x in modules))
                process.stdin.close()  # It reads all modules before it writes the first object.
                yield from pieces(process.stdout)
        except (OSError, ValueError):
            return
        finally:
            _running.discard(process)


def optimized_apart(modules: Sequence[str], then: Callable[[int, bytes], None]) -> None:
    """Optimize modules in another process; a thread calls `then` with each number and object."""

    def wait() -> None:
        for k, binary in enumerate(fast_code_apart(modules)):
            then(k, binary)

    in_background(wait, OPTIMIZER)


OPTIMIZER = "zwang optimizer"
"""Name of the threads that wait for optimized code."""


def in_background(work: Callable[[], None], name: str) -> None:
    """Do work in a thread of this name, which does not delay the end of this process."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    _background.add(thread)
    thread.start()


_background: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
LAST_WAIT = 5.0
"""Time that threads in the background have to end when this process ends [s]; they need less than
0.1 s, and a process must not hang because of one.
"""


@atexit.register
def _end_running() -> None:
    """End the optimizing process and the threads in the background when this process ends.

    A thread inside LLVM or JAX would crash this process, which frees the memory of both. It ends
    before its next Python instruction, and its results are lost.
    """
    alive = [thread for thread in _background if thread.is_alive()]
    for thread in alive:
        ident, ends = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ends)
    until = time.monotonic() + LAST_WAIT
    while True:
        for process in list(_running):  # one of the threads may have started another one
            process.kill()
        if not any(thread.is_alive() for thread in alive) or time.monotonic() > until:
            return
        time.sleep(1e-3)
