"""Programs read on another core before they are asked for: those that the same task took last time."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from zwang.compile.program_cache.store import Store

TASK = "task "
"""What names of lists of keys begin with in the folder of programs."""


class Early:
    """What a task is expected to take; it is known under its keys, so that a wrong guess costs time
    on an idle core and nothing else.

    Args:
        store: where programs are kept.
        task: names the task; what it took is written down when the process ends.
        load: key → what is wanted. It runs in a thread beside imports, so that it must import
            nothing itself.
        taken: the keys that were taken by then.
    """

    def __init__(self, store: Store, task: str, load: Callable[[str], Any], taken: Iterable[str]):
        self._name = TASK + hashlib.sha256(task.encode()).hexdigest()[:32]
        self._store, self._taken = store, taken
        self._expected = store.read(self._name) or []
        thread = ThreadPoolExecutor(1, thread_name_prefix="zwang programs")
        self._coming: dict[str, Future] = {key: thread.submit(load, key) for key in self._expected}
        thread.shutdown(wait=False)  # it ends after the last one
        atexit.register(self._ends)

    def take(self, key: str) -> Any:
        """What was loaded under a key, when it is there; None if it was not expected, or is quicker
        loaded here and now.
        """
        coming = self._coming.pop(key, None)
        return None if coming is None or coming.cancel() else coming.result()

    def _ends(self) -> None:
        if (taken := list(self._taken)) != self._expected:
            self._store.write(self._name, taken)
