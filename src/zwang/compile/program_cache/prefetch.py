"""Programs read on another core before they are needed: those that the same task used last time."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from zwang.compile.program_cache.store import Store

TASK = "task "
"""What names of lists of keys begin with in the folder of programs."""


class Prefetch:
    """Reads what a task is expected to use; it is filed under its keys, so that a wrong guess costs
    time on an idle core and nothing else.

    Args:
        store: where programs are kept.
        task: names the task; what it used is written down when the process ends.
        load: key → program. It runs in a thread beside imports, so that it must import nothing
            itself.
        used: the keys that were used by then.
    """

    def __init__(self, store: Store, task: str, load: Callable[[str], Any], used: Iterable[str]):
        self._name = TASK + hashlib.sha256(task.encode()).hexdigest()[:32]
        self._store, self._used = store, used
        self._expected = store.read(self._name) or []
        thread = ThreadPoolExecutor(1, thread_name_prefix="zwang programs")
        self._pending: dict[str, Future] = {key: thread.submit(load, key) for key in self._expected}
        thread.shutdown(wait=False)  # it ends after the last one
        atexit.register(self._write_list)

    def take(self, key: str) -> Any:
        """What was read for a key; None if it was not expected, or its reading has not begun, which
        is then quicker here and now.
        """
        pending = self._pending.pop(key, None)
        return None if pending is None or pending.cancel() else pending.result()

    def _write_list(self) -> None:
        if (used := list(self._used)) != self._expected:
            self._store.write(self._name, used)
