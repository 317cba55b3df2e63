"""Operations on entries, shapes and places, and functions that have rules of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax.lax import GatherDimensionNumbers, ScatterDimensionNumbers

from zwang.compile.batch_last.batched_values import UNITED
from zwang.compile.batch_last.reductions import SUMS
from zwang.compile.batch_last.value import Many, differ

if TYPE_CHECKING:
    from zwang.compile.batch_last.transform import Abreast

INSTEAD: dict[Callable, Callable] = {}
"""What takes the place of a function with a rule for `vmap`, by that rule: a function of arrays
with the members last.
"""
ALIKE = frozenset(
    "add sub mul div rem max min pow integer_pow neg abs sign square sqrt rsqrt cbrt exp exp2 expm1 log log1p logistic sin cos tan "
    "asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc erf_inv floor ceil round is_finite nextafter "
    "not and or xor eq ne lt le gt ge select_n convert_element_type copy".split()
)
"""Operations entry by entry."""
ALONG = frozenset(
    "concatenate stack squeeze rev sort cumsum cumprod cummax cummin cumlogsumexp".split()
)
"""Operations along axes that their parameters name: those of one member are the same ones of many.
"""
CUT = frozenset("add sub mul neg".split())
"""Operations of which a sum takes what it needs, piece by piece."""


def by_vmap(abreast: Abreast, eqn, inputs):
    """One operation by JAX's own rule."""
    axes = tuple(-1 if isinstance(x, Many) else None for x in inputs)
    bound = lambda *arrays: eqn.primitive.bind(*arrays, **eqn.params)
    out = jax.vmap(bound, in_axes=axes, out_axes=-1)(
        *(x.array if isinstance(x, Many) else x for x in inputs)
    )
    return [Many(x) for x in out] if eqn.primitive.multiple_results else Many(out)


def _alike(abreast: Abreast, eqn, inputs):
    shape, shapes = eqn.outvars[0].aval.shape, [v.aval.shape for v in eqn.invars]
    arrays, bound = (
        [abreast.many(x) for x in inputs],
        functools.partial(eqn.primitive.bind, **eqn.params),
    )
    if any(len(s) < len(shape) for s in shapes):  # one choice for all entries
        return Many(bound(*(jnp.broadcast_to(x, (*shape, abreast.members)) for x in arrays)))
    if eqn.primitive.name not in CUT:
        return Many(bound(*arrays))
    values = [
        x if isinstance(x, Many) else Many(array) for x, array in zip(inputs, arrays, strict=True)
    ]

    def piece(axis, k):
        return bound(
            *(x.piece(axis, k if s[axis] > 1 else 0) for x, s in zip(values, shapes, strict=True))
        )

    return Many(bound(*arrays), piece)


def _along(abreast: Abreast, eqn, inputs):
    out = eqn.primitive.bind(*map(abreast.many, inputs), **eqn.params)
    return list(map(Many, out)) if eqn.primitive.multiple_results else Many(out)


def _broadcast(abreast: Abreast, eqn, inputs):
    shape, axes = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    (x,) = inputs
    spread_out = lambda array, shape, axes: jax.lax.broadcast_in_dim(
        array, (*shape, abreast.members), (*axes, len(shape))
    )

    def piece(axis, k):
        left = shape[:axis] + shape[axis + 1 :]
        part, rest = x.array, axes
        if axis in axes:
            own = axes.index(axis)
            part, rest = (
                x.piece(own, k if x.array.shape[own] > 1 else 0),
                axes[:own] + axes[own + 1 :],
            )
        return spread_out(part, left, tuple(a - (a > axis) for a in rest))

    return Many(spread_out(x.array, shape, axes), piece)


def _reshaped(abreast: Abreast, eqn, inputs):
    return Many(jax.lax.reshape(inputs[0].array, (*eqn.params["new_sizes"], abreast.members)))


def _transposed(abreast: Abreast, eqn, inputs):
    order = eqn.params["permutation"]
    return Many(jax.lax.transpose(inputs[0].array, (*order, len(order))))


def _sliced(abreast: Abreast, eqn, inputs):
    first, last, strides = (
        eqn.params[key] for key in ("start_indices", "limit_indices", "strides")
    )
    return Many(
        jax.lax.slice(
            inputs[0].array,
            (*first, 0),
            (*last, abreast.members),
            None if strides is None else (*strides, 1),
        )
    )


def _padded(abreast: Abreast, eqn, inputs):
    x, value = inputs
    if isinstance(value, Many):
        return by_vmap(abreast, eqn, inputs)
    return Many(jax.lax.pad(x.array, value, (*eqn.params["padding_config"], (0, 0, 0))))


def _slice_at(abreast: Abreast, eqn, inputs):
    x, *at = inputs
    if any(isinstance(i, Many) for i in at):
        return by_vmap(abreast, eqn, inputs)
    return Many(
        jax.lax.dynamic_slice(
            x.array, (*at, _zero(at)), (*eqn.params["slice_sizes"], abreast.members)
        )
    )


def _updated_at(abreast: Abreast, eqn, inputs):
    x, update, *at = inputs
    if any(isinstance(i, Many) for i in at):
        return by_vmap(abreast, eqn, inputs)
    return Many(
        jax.lax.dynamic_update_slice(abreast.many(x), abreast.many(update), (*at, _zero(at)))
    )


def _gathered(abreast: Abreast, eqn, inputs):
    x, at = inputs
    numbers = eqn.params["dimension_numbers"]
    if isinstance(at, Many) or numbers.operand_batching_dims:
        return by_vmap(abreast, eqn, inputs)
    last = len(eqn.outvars[0].aval.shape)
    own = GatherDimensionNumbers(
        (*numbers.offset_dims, last), numbers.collapsed_slice_dims, numbers.start_index_map
    )
    sizes = (*eqn.params["slice_sizes"], abreast.members)
    return Many(
        eqn.primitive.bind(
            x.array, at, **eqn.params | {"dimension_numbers": own, "slice_sizes": sizes}
        )
    )


def _scattered(abreast: Abreast, eqn, inputs):
    x, at, update = inputs
    numbers = eqn.params["dimension_numbers"]
    if isinstance(at, Many) or numbers.operand_batching_dims:
        return by_vmap(abreast, eqn, inputs)
    window = (*numbers.update_window_dims, len(eqn.invars[2].aval.shape))
    own = ScatterDimensionNumbers(
        window, numbers.inserted_window_dims, numbers.scatter_dims_to_operand_dims
    )
    return Many(
        eqn.primitive.bind(
            abreast.many(x), at, abreast.many(update), **eqn.params | {"dimension_numbers": own}
        )
    )


def _zero(indices: Sequence):
    return jnp.zeros((), jnp.asarray(indices[0]).dtype) if indices else 0


def _own_rule(abreast: Abreast, eqn, inputs):
    instead = INSTEAD.get(eqn.params["rule"].rule)
    return (
        by_vmap(abreast, eqn, inputs)
        if instead is None
        else [Many(instead(*map(abreast.many, inputs)))]
    )


def _united(abreast: Abreast, eqn, inputs):
    return [UNITED[eqn.primitive.name](inputs[0].array)]


def _stored(abreast: Abreast, eqn, inputs):
    """A buffer of Equinox's loops: `rows[k] = row` where a member wants it."""
    if len(inputs) != 4 or eqn.params["i_static"] is not None or eqn.params["kwargs"]:
        return by_vmap(abreast, eqn, inputs)
    wanted, rows, row, k = map(abreast.many, inputs)
    at = rows.at[k, ..., jnp.arange(abreast.members)]
    wanted = wanted.reshape(-1, *(1 for _ in row.shape[:-1]))
    return [Many(at.set(jnp.where(wanted, jnp.moveaxis(row, -1, 0), at.get())))]


def _held(abreast: Abreast, eqn, inputs):
    return abreast.wrapped(
        eqn.primitive.bind(*(x.array if isinstance(x, Many) else x for x in inputs)), differ(inputs)
    )


RULES: dict[str, Callable] = (
    dict.fromkeys(ALIKE, _alike)
    | dict.fromkeys(ALONG, _along)
    | SUMS
    | dict.fromkeys(UNITED, _united)
    | {
        "broadcast_in_dim": _broadcast,
        "reshape": _reshaped,
        "transpose": _transposed,
        "slice": _sliced,
        "pad": _padded,
        "dynamic_slice": _slice_at,
        "dynamic_update_slice": _updated_at,
        "gather": _gathered,
        "scatter": _scattered,
        "scatter-add": _scattered,
        "optimization_barrier": _held,
        "layout_constraint": lambda abreast, eqn, inputs: inputs,
        "custom_vmap_call": _own_rule,
        "maybe_set": _stored,
        "select_if_vmap": lambda abreast, eqn, inputs: [
            Many(jnp.where(*map(abreast.many, inputs)))
        ],
    }
)
