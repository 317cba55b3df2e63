"""An array of every member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax


class Many:
    """An array of every member, members last.

    Attributes:
        array: shape (..., members).
        piece: `(axis, k) ↦ array[..., k, ...]` without forming the array, if there is such a way:
            the product of two matrices is formed as the array of all its terms otherwise, a
            megabyte for 32 matrices of 15 rows.
    """

    def __init__(self, array, piece: Callable[[int, Any], Any] | None = None):
        self.array, self._piece = array, piece

    def piece(self, axis: int, k) -> Any:
        if self._piece is not None:
            return self._piece(axis, k)
        index = jax.lax.index_in_dim if isinstance(k, int) else jax.lax.dynamic_index_in_dim
        return index(self.array, k, axis, keepdims=False)


def differ(values: Sequence) -> list[bool]:
    """Which values differ from member to member."""
    return [isinstance(x, Many) for x in values]
