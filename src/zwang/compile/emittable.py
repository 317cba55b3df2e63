"""Operations that XLA's kernel emitter lacks, written as loops and sums that it has."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import GatherScatterMode

from zwang.compile.interpreter import JaxprInterpreter

SCATTERS: dict[str, Callable] = {
    "scatter": lambda old, new: new,
    "scatter-add": lambda old, new: old + new,
    "scatter-sub": lambda old, new: old - new,
}
"""Scatters, which become loops, and what they make of an entry."""
COSTLY = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log1p pow erf".split()
)
"""Functions that are computed once, or each entry of a gather would compute its own."""
UNLIKELY = 1.2345e30
"""A number that no array begins with; the compiler does not know that."""
BLOCKS_PER_TURN = 4
"""Blocks of a scatter in one turn of its loop, which costs more than they do: 1728 numbers take 4.8
µs, one by one 14.8.
"""


class EmittableInterpreter(JaxprInterpreter):
    """Evaluates a traced program with such operations only."""

    def operation(self, eqn, inputs):
        name, params = eqn.primitive.name, eqn.params
        if name == "optimization_barrier":
            return _computed_once(inputs)
        # products of mixed types keep their meaning only in the original operation
        if name == "dot_general" and {x.dtype for x in inputs} == {eqn.outvars[0].aval.dtype}:
            return _product(*inputs, numbers=params["dimension_numbers"])
        if name == "sort":
            return [_sorted(*inputs, axis=params["dimension"])]
        if name in SCATTERS:
            return _scattered(*inputs, params=params, combined=SCATTERS[name])
        out = super().operation(eqn, inputs)
        return _computed_once([out]) if name in COSTLY else out


def _computed_once(xs: list) -> list:
    """Arrays as they are, each computed once.

    The compiler removes barriers before it moves operations into those that use them, but not a
    loop of one turn if it cannot know that it is one, nor that its factor is 1.
    """
    real = [i for i, x in enumerate(xs) if jnp.issubdtype(x.dtype, jnp.floating) and x.size]
    if not real:
        return xs
    # a loop of one turn, which the compiler cannot remove as it does not know that the condition
    # holds
    once = xs[real[0]].ravel()[0] != UNLIKELY
    turn = lambda _, arrays: [x * once.astype(x.dtype) for x in arrays]
    results = iter(jax.lax.fori_loop(0, once.astype(int), turn, [xs[i] for i in real]))
    return [next(results) if i in real else x for i, x in enumerate(xs)]


def _product(x, y, numbers):
    """A product as a sum."""
    contracted, batch = numbers
    free = [
        [i for i in range(z.ndim) if i not in (*contracted[k], *batch[k])]
        for k, z in enumerate((x, y))
    ]
    x, y = (z.transpose(*batch[k], *contracted[k], *free[k]) for k, z in enumerate((x, y)))
    first, last = len(batch[0]), len(batch[0]) + len(contracted[0])
    x = jnp.expand_dims(x, tuple(range(x.ndim, x.ndim + len(free[1]))))
    y = jnp.expand_dims(y, tuple(range(last, last + len(free[0]))))
    return jnp.sum(x * y, axis=tuple(range(first, last)))


def _sorted(x, axis: int):
    """x in order, NaN last: each number where as many come before it."""
    x = jnp.moveaxis(x, axis, -1)
    this, other = x[..., :, None], x[..., None, :]
    earlier = np.tri(x.shape[-1], k=-1, dtype=bool)
    # a stable sort: of equal numbers the earlier one comes first, and NaN equals NaN
    equal = (this == other) | (jnp.isnan(this) & jnp.isnan(other))
    rank = jnp.sum(
        (other < this) | (jnp.isnan(this) & ~jnp.isnan(other)) | (equal & earlier), axis=-1
    )
    at = rank[..., :, None] == np.arange(x.shape[-1])
    return jnp.moveaxis(jnp.sum(jnp.where(at, x[..., :, None], 0), axis=-2), -1, axis)


def _scattered(operand, indices, updates, params: dict, combined: Callable):
    """A scatter as a loop over its blocks: a block that is not wholly inside is left out unless
    `params` say otherwise.
    """
    numbers, mode = params["dimension_numbers"], params["mode"]
    window = numbers.update_window_dims
    others = [i for i in range(updates.ndim) if i not in window]
    sizes = iter([updates.shape[i] for i in window])
    block = [1 if i in numbers.inserted_window_dims else next(sizes) for i in range(operand.ndim)]
    count = math.prod(indices.shape[:-1])
    indices = jnp.asarray(indices).reshape(count, -1)
    updates = jnp.asarray(updates).transpose(*others, *window).reshape(count, *block)
    # the last index at which a block is wholly inside
    room = [n - k for n, k in zip(operand.shape, block, strict=True)]

    def put(operand, index, update):
        at = [jnp.zeros((), indices.dtype)] * operand.ndim
        for k, axis in enumerate(numbers.scatter_dims_to_operand_dims):
            at[axis] = index[k]
        old = jax.lax.dynamic_slice(operand, at, block)
        new = combined(old, update)
        # the other modes promise that blocks are inside, or clamp as `dynamic_slice` does by itself
        if mode == GatherScatterMode.FILL_OR_DROP:
            new = jnp.where(
                jnp.all(
                    jnp.array([(0 <= x) & (x <= most) for x, most in zip(at, room, strict=True)])
                ),
                new,
                old,
            )
        return jax.lax.dynamic_update_slice(operand, new, at)

    once = max(min(BLOCKS_PER_TURN, count), 1)
    whole = count - count % once
    by_turn = [x[:whole].reshape(-1, once, *x.shape[1:]) for x in (indices, updates)]

    def turn(i, operand):
        some = (jax.lax.dynamic_index_in_dim(x, i, keepdims=False) for x in by_turn)
        for index, update in zip(*some, strict=True):
            operand = put(operand, index, update)
        return operand

    operand = jax.lax.fori_loop(0, whole // once, turn, operand)
    return (
        jax.lax.fori_loop(whole, count, lambda i, x: put(x, indices[i], updates[i]), operand)
        if whole < count
        else operand
    )
