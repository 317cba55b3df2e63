"""A value of a program that differs from member to member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax


class Batched:
    """An array of every member, the batch axis last. What all members share is a plain array.

    Attributes:
        array: shape (..., members).
    """

    def __init__(self, array, index: Callable[[int, Any], Any] | None = None):
        """
        Args:
            array: shape (..., members).
            index: `(axis, k) ↦ array[..., k, ...]` computed without the whole array, if there is
                such a way. The product of two matrices is formed as the array of all its terms
                otherwise, a megabyte for 32 matrices of 15 rows.
        """
        self.array, self._index = array, index

    def index(self, axis: int, k) -> Any:
        """`array[..., k, ...]`, k on `axis`, a number or an array."""
        if self._index is not None:
            return self._index(axis, k)
        take = jax.lax.index_in_dim if isinstance(k, int) else jax.lax.dynamic_index_in_dim
        return take(self.array, k, axis, keepdims=False)


def are_batched(values: Sequence) -> list[bool]:
    """Which values differ from member to member."""
    return [isinstance(x, Batched) for x in values]
