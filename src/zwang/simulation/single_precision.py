"""Evaluation of a 64-bit program in 32-bit numbers.

JAX has one width of numbers per process, and the rest of the library needs 64 bits. The finished
program is therefore interpreted, operation by operation, each in 32-bit numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.compile import JaxprInterpreter

LEAST_FLOAT32 = 1e-30
"""Smallest constant in float32. A smaller one protects from division by zero, and would underflow
to zero itself."""


def narrowed(function: Callable) -> Callable:
    """Return `function` of pytrees of arrays, evaluated with all real numbers in float32. Its
    results are converted back to float64.
    """

    def narrow(*args):
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        out = _Narrow()(closed.jaxpr, closed.consts, jax.tree_util.tree_leaves(args))
        wide = [
            x.astype(s.dtype) for x, s in zip(out, jax.tree_util.tree_leaves(shapes), strict=True)
        ]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), wide)

    return narrow


class _Narrow(JaxprInterpreter):
    def number(self, x):
        return _narrow(x)

    def literal(self, literal):
        aval: Any = literal.aval  # of an array, which JAX's type omits
        x = np.asarray(literal.val, aval.dtype)
        lost = x.dtype == np.float64 and 0 < abs(x) < LEAST_FLOAT32
        return _narrow(np.copysign(LEAST_FLOAT32, x) if lost else x)

    def shape(self, aval):
        return jax.ShapeDtypeStruct(aval.shape, _kind(aval.dtype))

    def parameter(self, x):
        return _kind(x) if isinstance(x, np.dtype) else x


def _kind(dtype):
    return np.dtype(np.float32) if dtype == np.float64 else dtype


def _narrow(x):
    if x.dtype != np.float64:
        return x
    with np.errstate(over="ignore"):  # an infinite bound bounds nothing
        return jnp.asarray(x, jnp.float32)
