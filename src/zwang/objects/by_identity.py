"""A cache keyed by object identity; entries die with their object.

Comparing the objects by content would cost as much as computing the value again.
"""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

V = TypeVar("V")


class ByIdentity(Generic[V]):
    """A value for each object; the entry is removed when the object is deleted."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref, V]] = {}

    def get(self, owner: object) -> V | None:
        """Return the value of this object, or None."""
        known = self._kept.get(id(owner))
        # An `id` may be reused after its owner is deleted, so the owner is compared as well.
        return known[1] if known is not None and known[0]() is owner else None

    def keep(self, owner: object, value: V) -> V:
        """Store a value for an object and return it.

        Raises:
            TypeError: for an object that cannot be referenced weakly.
        """
        # bound here, as module globals are gone when Python exits
        key, kept = id(owner), self._kept
        self._kept[key] = weakref.ref(owner, lambda _: kept.pop(key, None)), value
        return value
