"""Evaluation of a function of one instant at many instants."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from zwang.compile.interface import Many

BLOCK = 64
"""Number of instants that XLA computes in one call."""


def mapped(function: Callable, fixed: tuple, *instants: np.ndarray) -> PyTree:
    """Evaluate `function(*fixed, *instant)` at each of many instants; results are NumPy arrays.

    If the instants are traced, the evaluation becomes part of the program that is traced.

    Args:
        function: of pytrees.
        fixed: its first arguments.
        instants: its other arguments, arrays with a leading axis of at least one instant.
    """
    if any(isinstance(x, Tracer) for x in instants):
        return jax.vmap(functools.partial(function, *fixed))(*instants)
    given = tuple(np.asarray(x, float) for x in instants)
    axes = (None,) * len(fixed) + (0,) * len(given)
    index = np.minimum(np.arange(BLOCK), len(given[0]) - 1)
    return Many(function, axes, (*fixed, *(x[index] for x in given)))(*fixed, *given)
