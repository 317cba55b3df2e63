"""Programs compiled behind what the host is doing, on another core."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable

PATIENCE = 1.0
"""Seconds that the end of a process waits for the compiler before it says so."""
_running: set[threading.Thread] = set()


class Background:
    """A task in a thread of its own.

    The compiler cannot be interrupted, and a process must not end beside it: where one ends first,
    it waits, unless it calls `abandon` and then ends without cleaning up. XLA compiles one program
    at a time: another one that is needed meanwhile waits for this one.

    Args:
        task: what is to be done, without a result.
    """

    def __init__(self, task: Callable[[], object]):
        self.error: BaseException | None = None
        self._task = task
        self._thread = threading.Thread(target=self._run, name="zwang compiler", daemon=True)
        _running.add(self._thread)
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
    atexit.unregister(_wait)
    atexit._run_exitfuncs()
    return True


def _wait() -> None:
    waiting = list(_running)
    for thread in waiting:
        thread.join(PATIENCE)
    if is_compiling():
        print("zwang: waiting for the compiler, which cannot be interrupted", file=sys.stderr)
        for thread in waiting:
            thread.join()


atexit.register(_wait)
