"""Gather and scatter operations.

On a CPU a gather costs 1.5 ns per entry and is fused with the operation that uses it, which
computes the operands again for every entry; a scatter costs 3 ns and is never fused, so its
operands are computed once.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from zwang.objects.record import Record, field


class Sums(Record):
    """`y[…, i] = Σ x[…, j]` over a list of j for each i.

    Args:
        target, source: pairs (i, j), shape (entries,) each.
        targets, sources: sizes of y and x.
        spare: index of an entry of x that is always 0, if there is one.
    """

    lists: Int[Array, "longest targets"] | None
    pairs: tuple[Int[Array, " entries"], Int[Array, " entries"]] | None
    targets: int = field(static=True)
    spare: bool = field(static=True)

    def __init__(
        self,
        target: np.ndarray,
        source: np.ndarray,
        targets: int,
        sources: int,
        spare: int | None = None,
    ):
        self.targets, self.lists, self.pairs, self.spare = targets, None, None, spare is not None
        lists = padded(target, source, targets, sources if spare is None else spare)
        # lists are padded to the longest one; if that makes them four times longer, a scatter adds
        # them
        if lists.size <= 4 * len(target) + targets:
            self.lists = jnp.asarray(lists)
        else:
            order = np.argsort(target, kind="stable")
            self.pairs = (
                jnp.asarray(target[order], jnp.int32),
                jnp.asarray(source[order], jnp.int32),
            )

    def __call__(self, x: Float[Array, "... sources"]) -> Float[Array, "... targets"]:
        if self.lists is not None:
            term = taken if self.spare else entries
            return sum(
                (term(x, index) for index in self.lists), jnp.zeros((*x.shape[:-1], self.targets))
            )
        assert self.pairs is not None
        target, source = self.pairs
        summed = jax.ops.segment_sum(
            jnp.moveaxis(taken(x, source), -1, 0), target, self.targets, indices_are_sorted=True
        )
        return jnp.moveaxis(summed, 0, -1)


def entries(
    x: Float[Array, "... sources"], index: Int[Array, " targets"]
) -> Float[Array, "... targets"]:
    """`x[…, index]`, and 0 where an index is one past the end: the padding of lists."""
    return x.at[..., index].get(mode="fill", fill_value=0.0, wrap_negative_indices=False)


def taken(
    x: Float[Array, "... sources"], index: Int[Array, " targets"]
) -> Float[Array, "... targets"]:
    """`x[…, index]` for indices that are all within x, as a plain load without the code that wraps
    negative indices.
    """
    return x.at[..., index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def scattered(
    x: Float[Array, "... sources"], place: Int[Array, " sources"], size: int, fill=0.0
) -> Float[Array, "... size"]:
    """y with `y[…, place] = x` and `fill` elsewhere; places are all different."""
    empty = jnp.full((*x.shape[:-1], size), fill)
    return empty.at[..., place].set(
        x, mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False
    )


def padded(target: np.ndarray, source: np.ndarray, targets: int, fill: int) -> np.ndarray:
    """The list of each target as a column, padded by `fill`, shape (longest, targets)."""
    order = np.argsort(target, kind="stable")
    count = np.bincount(target, minlength=targets)
    first = np.cumsum(count) - count
    lists = np.full((int(count.max(initial=0)), targets), fill, np.int32)
    lists[np.arange(len(order)) - np.repeat(first, count), target[order]] = source[order]
    return lists


def total(parts: Iterable[Array]) -> Array:
    """The sum of at least one array, in order. Unlike `sum` it does not start from the number 0,
    so that it has the type of its parts.
    """
    return functools.reduce(operator.add, parts)
