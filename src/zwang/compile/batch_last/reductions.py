"""Sums and products, term by term."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from zwang.compile.batch_last.value import Many

if TYPE_CHECKING:
    from zwang.compile.batch_last.transform import Abreast

COMBINED: dict[str, Callable] = {
    "reduce_sum": jnp.add,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
    "reduce_and": jnp.logical_and,
    "reduce_or": jnp.logical_or,
}
TERMS = 3
"""Up to this many terms a sum is written out; longer ones are loops. Written out to the end, `3rrr`
takes the compiler 40 s instead of 26
and runs no faster.
"""


def _summed(combined: Callable, term: Callable[[Any], Any], count: int):
    """`term(0) + … + term(count − 1)`."""
    if count > TERMS:
        return jax.lax.fori_loop(1, count, lambda k, total: combined(total, term(k)), term(0))
    total = functools.reduce(combined, map(term, range(count)))
    return jax.lax.optimization_barrier(total)  # or it is formed for each of its uses


def _reduced(abreast: Abreast, eqn, inputs):
    combined = COMBINED[eqn.primitive.name]
    (x,), axes = inputs, sorted(eqn.params["axes"])
    if not math.prod(x.array.shape[a] for a in axes):
        return Many(eqn.primitive.bind(x.array, **eqn.params))
    for axis in reversed(axes):
        x = Many(_summed(combined, functools.partial(x.piece, axis), x.array.shape[axis]))
    return x


def _product(abreast: Abreast, eqn, inputs):
    """A product as the sum of its terms."""
    contracted, batch = eqn.params["dimension_numbers"]
    free, factors = [], []
    for own, kept, v, x in zip(contracted, batch, eqn.invars, inputs, strict=True):
        rank = len(v.aval.shape)
        free.append([i for i in range(rank) if i not in (*own, *kept)])
        x = x.array if isinstance(x, Many) else jnp.asarray(x)[..., None]
        factors.append(x.transpose(*kept, *own, *free[-1], rank))
    first, count = len(batch[0]), math.prod(eqn.invars[0].aval.shape[i] for i in contracted[0])
    if not count:
        return Many(
            jnp.zeros((*eqn.outvars[0].aval.shape, abreast.members), eqn.outvars[0].aval.dtype)
        )
    x, y = (
        z.reshape(*z.shape[:first], count, *z.shape[first + len(contracted[0]) :]) for z in factors
    )
    x = Many(jnp.expand_dims(x, tuple(range(x.ndim - 1, x.ndim - 1 + len(free[1])))))
    y = Many(jnp.expand_dims(y, tuple(range(first + 1, first + 1 + len(free[0])))))
    total = _summed(jnp.add, lambda k: x.piece(first, k) * y.piece(first, k), count)
    return Many(total.astype(eqn.outvars[0].aval.dtype))


SUMS: dict[str, Callable] = dict.fromkeys(COMBINED, _reduced) | {"dot_general": _product}
