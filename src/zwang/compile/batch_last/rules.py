"""Operations on entries, shapes and indices, and functions that have rules of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax.lax import GatherDimensionNumbers, ScatterDimensionNumbers

from zwang.compile.batch_last.batched_values import OVER_MEMBERS
from zwang.compile.batch_last.reductions import REDUCTIONS
from zwang.compile.batch_last.value import Batched, are_batched
from zwang.compile.hints import TRAILING_RULES

if TYPE_CHECKING:
    from zwang.compile.batch_last.transform import BatchLastInterpreter

ENTRYWISE = frozenset(
    "add sub mul div rem max min pow integer_pow neg abs sign square sqrt rsqrt cbrt exp exp2 "
    "expm1 log log1p logistic sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "erf erfc erf_inv floor ceil round is_finite nextafter not and or xor eq ne lt le gt ge "
    "select_n convert_element_type copy".split()
)
"""Operations entry by entry."""
ALONG_AXES = frozenset(
    "concatenate stack squeeze rev sort cumsum cumprod cummax cummin cumlogsumexp".split()
)
"""Operations along axes that their parameters name from the first on: a trailing batch axis changes
nothing.
"""
INDEXED = frozenset("add sub mul neg".split())
"""Operations whose terms a reduction computes one by one, without the array of all of them."""


def by_vmap(interpreter: BatchLastInterpreter, eqn, inputs):
    """One operation by JAX's own rule."""
    axes = tuple(-1 if isinstance(x, Batched) else None for x in inputs)
    bind = lambda *arrays: eqn.primitive.bind(*arrays, **eqn.params)
    out = jax.vmap(bind, in_axes=axes, out_axes=-1)(
        *(x.array if isinstance(x, Batched) else x for x in inputs)
    )
    return [Batched(x) for x in out] if eqn.primitive.multiple_results else Batched(out)


def _entrywise(interpreter: BatchLastInterpreter, eqn, inputs):
    shape, shapes = eqn.outvars[0].aval.shape, [v.aval.shape for v in eqn.invars]
    arrays, bind = (
        [interpreter.all_members(x) for x in inputs],
        functools.partial(eqn.primitive.bind, **eqn.params),
    )
    if any(len(s) < len(shape) for s in shapes):  # one choice for all entries
        return Batched(bind(*(jnp.broadcast_to(x, (*shape, interpreter.members)) for x in arrays)))
    if eqn.primitive.name not in INDEXED:
        return Batched(bind(*arrays))
    values = [
        x if isinstance(x, Batched) else Batched(array)
        for x, array in zip(inputs, arrays, strict=True)
    ]

    def index(axis, k):
        return bind(
            *(x.index(axis, k if s[axis] > 1 else 0) for x, s in zip(values, shapes, strict=True))
        )

    return Batched(bind(*arrays), index)


def _along_axes(interpreter: BatchLastInterpreter, eqn, inputs):
    out = eqn.primitive.bind(*map(interpreter.all_members, inputs), **eqn.params)
    return list(map(Batched, out)) if eqn.primitive.multiple_results else Batched(out)


def _broadcast(interpreter: BatchLastInterpreter, eqn, inputs):
    shape, axes = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    (x,) = inputs
    broadcast = lambda array, shape, axes: jax.lax.broadcast_in_dim(
        array, (*shape, interpreter.members), (*axes, len(shape))
    )

    def index(axis, k):
        left = shape[:axis] + shape[axis + 1 :]
        part, rest = x.array, axes
        if axis in axes:
            own = axes.index(axis)
            part, rest = (
                x.index(own, k if x.array.shape[own] > 1 else 0),
                axes[:own] + axes[own + 1 :],
            )
        return broadcast(part, left, tuple(a - (a > axis) for a in rest))

    return Batched(broadcast(x.array, shape, axes), index)


def _reshape(interpreter: BatchLastInterpreter, eqn, inputs):
    return Batched(
        jax.lax.reshape(inputs[0].array, (*eqn.params["new_sizes"], interpreter.members))
    )


def _transpose(interpreter: BatchLastInterpreter, eqn, inputs):
    order = eqn.params["permutation"]
    return Batched(jax.lax.transpose(inputs[0].array, (*order, len(order))))


def _slice(interpreter: BatchLastInterpreter, eqn, inputs):
    first, last, strides = (
        eqn.params[key] for key in ("start_indices", "limit_indices", "strides")
    )
    return Batched(
        jax.lax.slice(
            inputs[0].array,
            (*first, 0),
            (*last, interpreter.members),
            None if strides is None else (*strides, 1),
        )
    )


def _pad(interpreter: BatchLastInterpreter, eqn, inputs):
    x, value = inputs
    if isinstance(value, Batched):
        return by_vmap(interpreter, eqn, inputs)
    return Batched(jax.lax.pad(x.array, value, (*eqn.params["padding_config"], (0, 0, 0))))


def _dynamic_slice(interpreter: BatchLastInterpreter, eqn, inputs):
    x, *at = inputs
    if any(isinstance(i, Batched) for i in at):
        return by_vmap(interpreter, eqn, inputs)
    return Batched(
        jax.lax.dynamic_slice(
            x.array, (*at, _zero(at)), (*eqn.params["slice_sizes"], interpreter.members)
        )
    )


def _dynamic_update_slice(interpreter: BatchLastInterpreter, eqn, inputs):
    x, update, *at = inputs
    if any(isinstance(i, Batched) for i in at):
        return by_vmap(interpreter, eqn, inputs)
    return Batched(
        jax.lax.dynamic_update_slice(
            interpreter.all_members(x), interpreter.all_members(update), (*at, _zero(at))
        )
    )


def _gather(interpreter: BatchLastInterpreter, eqn, inputs):
    x, at = inputs
    numbers = eqn.params["dimension_numbers"]
    if isinstance(at, Batched) or numbers.operand_batching_dims:
        return by_vmap(interpreter, eqn, inputs)
    last = len(eqn.outvars[0].aval.shape)
    own = GatherDimensionNumbers(
        (*numbers.offset_dims, last), numbers.collapsed_slice_dims, numbers.start_index_map
    )
    sizes = (*eqn.params["slice_sizes"], interpreter.members)
    return Batched(
        eqn.primitive.bind(
            x.array, at, **eqn.params | {"dimension_numbers": own, "slice_sizes": sizes}
        )
    )


def _scatter(interpreter: BatchLastInterpreter, eqn, inputs):
    x, at, update = inputs
    numbers = eqn.params["dimension_numbers"]
    if isinstance(at, Batched) or numbers.operand_batching_dims:
        return by_vmap(interpreter, eqn, inputs)
    window = (*numbers.update_window_dims, len(eqn.invars[2].aval.shape))
    own = ScatterDimensionNumbers(
        window, numbers.inserted_window_dims, numbers.scatter_dims_to_operand_dims
    )
    return Batched(
        eqn.primitive.bind(
            interpreter.all_members(x),
            at,
            interpreter.all_members(update),
            **eqn.params | {"dimension_numbers": own},
        )
    )


def _zero(indices: Sequence):
    return jnp.zeros((), jnp.asarray(indices[0]).dtype) if indices else 0


def _custom_rule(interpreter: BatchLastInterpreter, eqn, inputs):
    trailing = TRAILING_RULES.get(eqn.params["rule"].rule)
    return (
        by_vmap(interpreter, eqn, inputs)
        if trailing is None
        else [Batched(trailing(*map(interpreter.all_members, inputs)))]
    )


def _over_members(interpreter: BatchLastInterpreter, eqn, inputs):
    return [OVER_MEMBERS[eqn.primitive.name](inputs[0].array)]


def _set_in_buffer(interpreter: BatchLastInterpreter, eqn, inputs):
    """A buffer of Equinox's loops: `rows[k] = row` where a member wants it."""
    if len(inputs) != 4 or eqn.params["i_static"] is not None or eqn.params["kwargs"]:
        return by_vmap(interpreter, eqn, inputs)
    wanted, rows, row, k = map(interpreter.all_members, inputs)
    at = rows.at[k, ..., jnp.arange(interpreter.members)]
    wanted = wanted.reshape(-1, *(1 for _ in row.shape[:-1]))
    return [Batched(at.set(jnp.where(wanted, jnp.moveaxis(row, -1, 0), at.get())))]


def _barrier(interpreter: BatchLastInterpreter, eqn, inputs):
    return interpreter.wrapped(
        eqn.primitive.bind(*(x.array if isinstance(x, Batched) else x for x in inputs)),
        are_batched(inputs),
    )


RULES: dict[str, Callable] = (
    dict.fromkeys(ENTRYWISE, _entrywise)
    | dict.fromkeys(ALONG_AXES, _along_axes)
    | REDUCTIONS
    | dict.fromkeys(OVER_MEMBERS, _over_members)
    | {
        "broadcast_in_dim": _broadcast,
        "reshape": _reshape,
        "transpose": _transpose,
        "slice": _slice,
        "pad": _pad,
        "dynamic_slice": _dynamic_slice,
        "dynamic_update_slice": _dynamic_update_slice,
        "gather": _gather,
        "scatter": _scatter,
        "scatter-add": _scatter,
        "optimization_barrier": _barrier,
        "layout_constraint": lambda interpreter, eqn, inputs: inputs,
        "custom_vmap_call": _custom_rule,
        "maybe_set": _set_in_buffer,
        "select_if_vmap": lambda interpreter, eqn, inputs: [
            Batched(jnp.where(*map(interpreter.all_members, inputs)))
        ],
    }
)
