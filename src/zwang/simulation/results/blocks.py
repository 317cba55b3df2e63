"""Many instants through one compiled program: blocks of one size, the last one padded, so that no
other number compiles anything.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

BLOCK = 64
"""Instants per call."""


def in_blocks(program: Callable, *instants: np.ndarray):
    """`program` on arrays with a leading time axis, block by block; what it returns comes back on
    the host, joined.

    Args:
        program: takes and returns pytrees of arrays whose leading axis is `BLOCK` instants.
        instants: arrays with a leading time axis of at least one instant.
    """
    n = len(instants[0])
    parts = []
    for i in range(0, n, BLOCK):
        index = np.minimum(np.arange(i, i + BLOCK), n - 1)
        part = program(*(x[index] for x in instants))
        parts.append(jax.tree_util.tree_map(lambda x, k=min(BLOCK, n - i): np.asarray(x)[:k], part))
    return jax.tree_util.tree_map(lambda *x: np.concatenate(x), *parts)
