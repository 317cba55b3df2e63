"""What is known of objects that are alive, by their identity: to compare them by content would cost
as much as to look again.
"""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

V = TypeVar("V")


class ByIdentity(Generic[V]):
    """A value for each object that one was kept for, forgotten with the object itself."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref, V]] = {}

    def get(self, owner: object) -> V | None:
        """What was kept for this very object."""
        known = self._kept.get(id(owner))
        # an identity is given anew once its owner is gone, so that the owner is compared as well
        return known[1] if known is not None and known[0]() is owner else None

    def keep(self, owner: object, value: V) -> V:
        """Keep a value, which is returned.

        Raises:
            TypeError: for an object that cannot be referred to weakly.
        """
        # bound here, as names of a module are gone when Python ends
        key, kept = id(owner), self._kept
        self._kept[key] = weakref.ref(owner, lambda _: kept.pop(key, None)), value
        return value
