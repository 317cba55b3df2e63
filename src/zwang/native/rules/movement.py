"""Operations that move elements to constant places.

They emit no instructions for scalars, and are views of memory if strides can express them.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from zwang.native.arrays import (
    Elements,
    Emitted,
    Memory,
    assign,
    constants,
    fill,
    index_sum,
    loop,
    new_memory,
    row_major,
    scalar,
    take_axis,
)
from zwang.native.builder import Builder
from zwang.native.functions import converted
from zwang.native.instructions import Operand
from zwang.native.walk import Call, rule


@rule("reshape")
def reshape(call: Call) -> Emitted:
    return reshaped(call, tuple(call.outputs[0].shape))


@rule("squeeze")
def squeeze(call: Call) -> Emitted:
    return reshaped(call, tuple(call.outputs[0].shape))


@rule("expand_dims")
def expand(call: Call) -> Emitted:
    return reshaped(call, tuple(call.outputs[0].shape))


def reshaped(call: Call, shape: tuple[int, ...]) -> Elements:
    """Reshape an array: a view if strides can express it, otherwise a copy."""
    x = call.inputs[0]
    if isinstance(x, np.ndarray):
        return x.reshape(shape)
    if (strides := _strides_of(x, shape)) is None:
        x = copied(call, x)
        strides = row_major(shape)
    return dataclasses.replace(x, shape=shape, strides=strides)


def _strides_of(x: Memory, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of the same elements under another shape, or None if there are none."""
    if x.is_contiguous:
        return row_major(shape)
    # axes of length one do not matter
    kept = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n != 1]
    if [n for n, _ in kept] != [n for n in shape if n != 1]:
        return None
    rest = iter(kept)
    return tuple(next(rest)[1] if n != 1 else 1 for n in shape)


def copied(call: Call, x: Memory) -> Memory:
    """Copy an array to memory that nothing else refers to."""
    target = new_memory(call.builder, x.dtype, x.shape)
    fill(call.builder, target, x)
    return target


@rule("transpose")
def transpose(call: Call) -> Emitted:
    x, order = call.inputs[0], call.params["permutation"]
    if isinstance(x, np.ndarray):
        return x.transpose(order)
    pick = lambda values: tuple(values[i] for i in order)
    return dataclasses.replace(x, shape=pick(x.shape), strides=pick(x.strides))


@rule("broadcast_in_dim")
def broadcast(call: Call) -> Emitted:
    x, shape = call.inputs[0], tuple(call.params["shape"])
    axes = call.params["broadcast_dimensions"]
    if isinstance(x, np.ndarray):
        wide = [1] * len(shape)
        for i, axis in enumerate(axes):
            wide[axis] = x.shape[i]
        return np.broadcast_to(x.reshape(wide), shape)
    strides = [0] * len(shape)
    for i, axis in enumerate(axes):
        strides[axis] = x.strides[i] if x.shape[i] == shape[axis] else 0
    return dataclasses.replace(x, shape=shape, strides=tuple(strides))


@rule("slice")
def part(call: Call) -> Emitted:
    x, p = call.inputs[0], call.params
    begins, ends = p["start_indices"], p["limit_indices"]
    steps = p["strides"] or (1,) * len(begins)
    if isinstance(x, np.ndarray):
        return x[tuple(slice(a, z, s) for a, z, s in zip(begins, ends, steps, strict=True))]
    for axis, (a, z, s) in enumerate(zip(begins, ends, steps, strict=True)):
        x = take_axis(x, axis, a, max(-(-(z - a) // s), 0), call.builder, s)
    return x


@rule("rev")
def reverse(call: Call) -> Emitted:
    x, axes = call.inputs[0], call.params["dimensions"]
    if isinstance(x, np.ndarray):
        return np.flip(x, axes)
    for axis in axes:
        last = index_sum(call.builder, x.offset, (x.shape[axis] - 1) * x.strides[axis])
        strides = tuple(-s if i == axis else s for i, s in enumerate(x.strides))
        x = dataclasses.replace(x, offset=last, strides=strides)
    return x


@rule("concatenate")
def concatenate(call: Call) -> Emitted:
    return joined(call, call.params["dimension"])


def joined(call: Call, axis: int) -> Elements:
    if not call.in_memory:
        return np.concatenate([call.scalars(i) for i in range(len(call.inputs))], axis)
    out, b = call.outputs[0], call.builder
    target, start = new_memory(b, out.dtype, out.shape), 0
    for x in call.inputs:
        n = x.shape[axis]
        fill(b, take_axis(target, axis, start, n, b), x)
        start += n
    return target


@rule("stack")
def stack(call: Call) -> Emitted:
    axis = call.params.get("axis", call.params.get("dimension", 0))
    if not call.in_memory:
        return np.stack([call.scalars(i) for i in range(len(call.inputs))], axis)
    out, b = call.outputs[0], call.builder
    target = new_memory(b, out.dtype, out.shape)
    for k, x in enumerate(call.inputs):
        wide = (*x.shape[:axis], 1, *x.shape[axis:])
        x = x.reshape(wide) if isinstance(x, np.ndarray) else _with_axis(x, axis)
        fill(b, take_axis(target, axis, k, 1, b), x)
    return target


def _with_axis(x: Memory, axis: int) -> Memory:
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    return dataclasses.replace(x, shape=shape, strides=(*x.strides[:axis], 1, *x.strides[axis:]))


@rule("unstack")
def unstack(call: Call) -> list:
    x, axis = call.inputs[0], call.params["axis"]
    if isinstance(x, np.ndarray):
        return [_as_array(np.take(x, k, axis)) for k in range(x.shape[axis])]
    return [_without_axis(x, axis, k, call.builder) for k in range(x.shape[axis])]


def _as_array(x: Operand) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else scalar(x)


def _without_axis(x: Memory, axis: int, k: Operand, b: Builder) -> Memory:
    part = take_axis(x, axis, k, 1, b)
    drop = lambda values: (*values[:axis], *values[axis + 1 :])
    return dataclasses.replace(part, shape=drop(part.shape), strides=drop(part.strides))


@rule("split")
def split(call: Call) -> list:
    x, axis, found, start = call.inputs[0], call.params["axis"], [], 0
    for n in call.params["sizes"]:
        if isinstance(x, np.ndarray):
            found.append(np.take(x, range(start, start + n), axis))
        else:
            found.append(take_axis(x, axis, start, n, call.builder))
        start += n
    return found


@rule("tile")
def tile(call: Call) -> Emitted:
    return np.tile(call.scalars(0), call.params["reps"])


@rule("pad")
def pad(call: Call) -> Emitted:
    x, value, out = call.scalars(0), call.scalars(1).item(), call.outputs[0]
    found = np.empty(out.shape, object)
    found[...] = value
    for index in np.ndindex(*x.shape):
        at = tuple(
            low + i * (inner + 1)
            for i, (low, _, inner) in zip(index, call.params["padding_config"], strict=True)
        )
        # negative padding cuts elements off
        if all(0 <= i < n for i, n in zip(at, out.shape, strict=True)):
            found[at] = x[index]
    return found


@rule("iota")
def count_up(call: Call) -> Emitted:
    p = call.params
    shape, axis, dtype = tuple(p["shape"]), p["dimension"], np.dtype(p["dtype"])
    wide = [1] * len(shape)
    wide[axis] = shape[axis]
    numbers = np.broadcast_to(np.arange(shape[axis]).astype(dtype).reshape(wide), shape)
    if math.prod(shape) <= MOST_COUNTED:
        return constants(numbers)
    b = call.builder
    target = new_memory(b, dtype, shape)
    loop(b, shape, lambda i: assign(b, target, i, converted(b, np.int64, dtype, i[axis])))
    return target


@rule("empty", "empty2")
def undefined(call: Call) -> Emitted:
    """Emit an array that is written before it is read: zeros, as in XLA on a CPU."""
    like = call.outputs[0]
    return constants(np.zeros(like.shape, like.dtype))


MOST_COUNTED = 400_000
"""Number of elements up to which an `iota` is constant. A unit matrix is made from one: products
with it keep their structural zeros, and are unrolled, up to this size.
"""


@rule(
    "copy",
    "copy_p",
    "stop_gradient",
    "reduce_precision",
    "layout_constraint",
    "zwang_forward_only",
    "optimization_barrier",
)
def unchanged(call: Call) -> list:
    """Emit an operation that is the identity; a `reduce_precision` only to the type's own
    precision.
    """
    return list(call.inputs)
