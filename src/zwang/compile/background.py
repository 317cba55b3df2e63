"""Programs compiled behind what the host is doing, on another core."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Callable

PATIENCE = 1.0
"""Seconds that the end of a process waits for the compiler before it says so."""
_running: set[threading.Thread] = set()
_registered = 0
"""Functions that were registered with `atexit` up to `_end`."""
_main = sys.modules["__main__"]
_is_script = hasattr(_main, "__file__") and getattr(_main, "__spec__", None) is None


class Background:
    """A task in a thread of its own.

    The compiler cannot be interrupted, and Python must not clean up beside it: a process that ends
    first leaves without cleaning up where its status is known (`abandon`, `_exit_status`), and
    waits elsewhere. XLA compiles one program at a time: another one that is needed meanwhile waits
    for this one.

    Args:
        task: what is to be done, without a result.
    """

    def __init__(self, task: Callable[[], object]):
        self.error: BaseException | None = None
        self._task = task
        self._thread = threading.Thread(target=self._run, name="zwang compiler", daemon=True)
        _running.add(self._thread)
        _register()
        self._thread.start()

    def _run(self) -> None:
        try:
            self._task()
        except BaseException as error:  # it is looked at where the result is wanted
            self.error = error
        finally:
            _running.discard(threading.current_thread())

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()


def is_compiling() -> bool:
    """Whether something is being compiled behind."""
    return bool(_running)


def abandon() -> bool:
    """Whether something is being compiled; its process may then end without cleaning up, after
    what is registered with `atexit` has been done.
    """
    if not is_compiling():
        return False
    atexit.unregister(_end)
    atexit._run_exitfuncs()
    return True


def _end() -> None:
    """End the process without its compiler where the status it ends with is known; wait else."""
    waiting = list(_running)
    for thread in waiting:
        thread.join(PATIENCE)
    if not is_compiling():
        return
    # functions that were registered later have been called, and would be called once more
    if (status := _exit_status()) is not None and atexit._ncallbacks() == _registered:
        abandon()
        _leave(status)
    print("zwang: waiting for the compiler, which cannot be interrupted", file=sys.stderr)
    for thread in waiting:
        thread.join()


def _register() -> None:
    """Call `_end` before all that is registered with `atexit` so far."""
    global _registered
    atexit.unregister(_end)
    atexit.register(_end)
    _registered = atexit._ncallbacks()


def _exit_status() -> int | None:
    """The status of a script that ended by itself or by an exception, negative for a signal; None
    where it cannot be known.

    Python removes `__file__` from a script's names as soon as the script has ended, but not when
    `SystemExit` ends it, whose code nobody can read afterwards.
    """
    if not _is_script or sys.flags.inspect or hasattr(sys, "ps1"):
        return None
    if "__file__" in vars(sys.modules["__main__"]):
        return None
    raised = getattr(sys, "last_type", None)
    if raised is None:
        return 0
    return -signal.SIGINT if issubclass(raised, KeyboardInterrupt) else 1


def _leave(status: int) -> None:
    """End the process as Python would, except for what runs beside it: what the script left open
    is written first.
    """
    vars(sys.modules["__main__"]).clear()
    gc.collect()
    for stream in [x for x in gc.get_objects() if isinstance(x, io.IOBase)]:
        with contextlib.suppress(Exception):
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)
