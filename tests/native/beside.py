"""Comparison of functions in native code with the same functions compiled by XLA."""

from __future__ import annotations

import jax
import numpy as np

from zwang.native import function

CLOSE = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 2e-5}
"""Relative difference by the type of a result: some roundings of sums, and XLA's own functions,
which it rounds to some units in the last place.
"""


def assert_equal(f, *arrays, close: float | None = None, signs: bool = False) -> list:
    """Assert that native code of a function gives what XLA's gives, and return its results."""
    native = function(f, *arrays)(*arrays)
    assert_same(native, jax.jit(f)(*arrays), close=close, signs=signs)
    return jax.tree_util.tree_leaves(native)


def assert_same(native, xla, *, close: float | None = None, signs: bool = False) -> None:
    """Assert that two pytrees of results agree: integers and truth values exactly, floating-point
    numbers to round-off, with the same places of NaN and infinities.

    Args:
        close: relative to the largest number of a result; by default relative to each (`CLOSE`).
        signs: whether zeros have the same signs, too.
    """
    found, expected = (jax.tree_util.tree_leaves(x) for x in (native, xla))
    assert len(found) == len(expected)
    for a, b in zip(found, map(np.asarray, expected), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        rtol = CLOSE[a.dtype] if close is None else close
        # XLA takes numbers below the smallest normal one for zero, native code does not
        least = 10 * float(np.finfo(a.dtype).tiny)
        finite = b[np.isfinite(b)]
        size = np.max(np.abs(finite), initial=0.0) if close is not None else np.abs(b)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= rtol * size + least
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & near)
        if signs:
            same &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
        assert np.all(same), f"{a[~same][:5]} is not {b[~same][:5]} at {np.argwhere(~same)[:5]}"
