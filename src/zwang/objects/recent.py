"""Least-recently-used cache of compiled programs.

Each program holds memory mappings of its process, and Linux allows a process 65 530 of them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 256
"""Number of cached programs of one kind; each takes about 14 mappings."""


class Recent(Generic[V]):
    """A cache of at most `most` values, by default `MOST`; the least recently used is evicted."""

    _all: weakref.WeakSet = weakref.WeakSet()

    def __init__(self, most: int | None = None):
        self._most = most
        self._kept: dict = {}
        # Threads that compile in the background and parts of a study use the cache, too.
        self._lock = threading.Lock()
        self._all.add(self)

    def __fingerprint__(self) -> str:
        """Return a constant: the entries follow from their keys and change no program."""
        return "cache"

    def get(self, key) -> V | None:
        """Return the value of a key and mark it as used.

        Raises:
            TypeError: if the key cannot be hashed.
        """
        with self._lock:
            if key not in self._kept:
                return None
            self._kept[key] = self._kept.pop(key)  # moved to the end of the order
            return self._kept[key]

    def put(self, key, value: V) -> None:
        """Store a value."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > (self._most or MOST):
                del self._kept[next(iter(self._kept))]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator:
        """Iterate over the keys."""
        with self._lock:
            return iter(list(self._kept))

    @classmethod
    def forget(cls) -> None:
        """Empty all caches."""
        for each in list(cls._all):
            with each._lock:
                each._kept.clear()
