"""Many instants through one compiled program: blocks of one size, the last one padded, so that no
other number compiles anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from zwang.compile.engine import NATIVE, is_native_wanted
from zwang.compile.interface import Many, model_program

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
    whole: Any = None
    for i in range(0, n, BLOCK):
        index = np.minimum(np.arange(i, i + BLOCK), n - 1)
        part = jax.tree_util.tree_map(np.asarray, program(*(x[index] for x in instants)))
        # one array for all blocks: many small ones take several times their numbers
        if whole is None:
            whole = jax.tree_util.tree_map(lambda x: np.empty((n, *x.shape[1:]), x.dtype), part)
        for to, x in zip(*map(jax.tree_util.tree_leaves, (whole, part)), strict=True):
            to[i : i + BLOCK] = x[: n - i]
    return whole


def mapped(function: Callable, fixed: tuple, *instants: np.ndarray) -> Any:
    """`function(*fixed, *instant)` at each of many instants, in arrays of NumPy; where the instants
    are traced, in the program that is traced.

    Args:
        function: of pytrees.
        fixed: its first arguments.
        instants: arrays with a leading axis of at least one instant, its other arguments.
    """
    if any(isinstance(x, Tracer) for x in instants):
        return jax.vmap(functools.partial(function, *fixed))(*instants)
    given = tuple(np.asarray(x, float) for x in instants)
    many = made_for(function, fixed, *given)
    if many is not None:
        return many(*fixed, *given)
    # by XLA one after the other, as side by side they would take the memory of all of them
    return in_blocks(lambda *x: _one_by_one(function, fixed, x), *given)


def made_for(function: Callable, fixed: tuple, *instants: np.ndarray) -> Many | None:
    """The native program of `mapped` for instants of the shapes of these; None where native code
    is not to be had.
    """
    if not is_native_wanted():
        return None
    axes = (None,) * len(fixed) + (0,) * len(instants)
    many = Many(function, axes, (*fixed, *instants))
    return many if many.engine == NATIVE else None


@model_program
def _one_by_one(function: Callable, fixed: tuple, instants: tuple) -> Any:
    return jax.lax.map(
        lambda x: function(*fixed, *x), jax.tree_util.tree_map(jnp.asarray, instants)
    )
