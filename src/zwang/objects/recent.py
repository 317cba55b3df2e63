"""Compiled programs that are at hand: the ones that were used last, as each holds memory mappings
of its process, of which Linux gives 65 530.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 256
"""Programs of one kind; each takes about 14 mappings."""


class Recent(Generic[V]):
    """At most `most` values by key, else `MOST`; the one that was used longest ago gives way."""

    _all: weakref.WeakSet = weakref.WeakSet()

    def __init__(self, most: int | None = None):
        self._most = most
        self._kept: dict = {}
        # programs are asked for by threads that compile behind and by parts of a study
        self._lock = threading.Lock()
        self._all.add(self)

    def get(self, key) -> V | None:
        """The value of a key, which counts as used now.

        Raises:
            TypeError: if the key cannot be hashed.
        """
        with self._lock:
            if key not in self._kept:
                return None
            self._kept[key] = self._kept.pop(key)  # the last one in order
            return self._kept[key]

    def put(self, key, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = value
            while len(self._kept) > (self._most or MOST):
                del self._kept[next(iter(self._kept))]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator:
        """The keys."""
        with self._lock:
            return iter(list(self._kept))

    @classmethod
    def forget(cls) -> None:
        """Keep none any more, of any kind."""
        for each in list(cls._all):
            with each._lock:
                each._kept.clear()
