"""Comparison of code for several batch members at once with code for one member."""

from __future__ import annotations

import jax
import numpy as np

from zwang.native import NativeFunction, translated
from zwang.native.translate import lanes


def members(array, count: int, seed: int = 5) -> np.ndarray:
    """An array for each of some members: as it is, its elements in another order, scaled."""
    array, random = np.asarray(array), np.random.default_rng(seed)
    if not array.ndim and array.dtype.kind in "iu":
        return array + np.arange(count, dtype=array.dtype)
    moved = lambda: random.permuted(array) if array.ndim else array
    found = np.stack([array, *(moved() for _ in range(count - 1))])
    if array.dtype.kind == "f":
        sizes = random.uniform(0.5, 1.5, (count, *[1] * array.ndim)).astype(array.dtype)
        sizes[0] = 1
        with np.errstate(all="ignore"):
            found = found * sizes
    return found


def assert_lanes_agree(f, *arrays, level: int = 0, of_all: tuple[int, ...] = ()) -> None:
    """Assert that members computed at once have the bits of each by itself.

    Args:
        of_all: arguments that members share.
    """
    program = jax.make_jaxpr(lambda *x: jax.tree_util.tree_leaves(f(*x)))(*arrays)
    of_each = [i not in of_all for i in range(len(arrays))]
    count = 2 * lanes() + 3  # two registers full, and some members
    pairs = zip(arrays, of_each, strict=True)
    given = [members(x, count) if each else np.asarray(x) for x, each in pairs]
    one = NativeFunction(translated(program, level))
    several = NativeFunction(translated(program, level, of_each))
    assert several.stored.lanes == lanes()
    expected, found = (code.members(given, of_each, count, 2) for code in (one, several))
    for x, y in zip(found, expected, strict=True):
        zeros = [np.signbit(z) & (z == 0) for z in (x, y)]
        assert x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
        assert x.dtype.kind != "f" or np.array_equal(*zeros), "signs of zeros"
