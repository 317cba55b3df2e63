"""Sums, products of matrices, extrema, cumulative operations and sorting."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable

import jax
import numpy as np
from numpy.typing import DTypeLike

from zwang.native.accumulation import accumulated
from zwang.native.arrays import (
    MOST_LOADED,
    MOST_UNROLLED,
    Elements,
    Emitted,
    Memory,
    assign,
    element,
    is_written_out,
    loop,
    memory,
    new_memory,
    place,
    scalar,
    scalars,
)
from zwang.native.builder import Builder, Value
from zwang.native.errors import NotNativeError
from zwang.native.functions import extreme
from zwang.native.instructions import LEAST_ALIKE, Operand
from zwang.native.rolled import SIZES, alike, looped, step_of
from zwang.native.rules.elementwise import convert
from zwang.native.rules.varying import varies
from zwang.native.types import FLOATS, is_signed, register_type, wrapped
from zwang.native.walk import Call, rule


def _sum(b: Builder, dtype: DTypeLike) -> Callable[[Operand, Operand], Operand]:
    t = register_type(dtype)
    if t in FLOATS:
        return lambda x, y: b.add(t, x, y)
    return lambda x, y: b.integer("add", t, x, y, lambda x, y: wrapped(dtype, x + y))


def _product(b: Builder, dtype: DTypeLike) -> Callable[[Operand, Operand], Operand]:
    t = register_type(dtype)
    if t in FLOATS:
        return lambda x, y: b.multiply(t, x, y)
    return lambda x, y: b.integer("mul", t, x, y, lambda x, y: wrapped(dtype, x * y))


def _logic(b: Builder, name: str) -> Callable[[Operand, Operand], Operand]:
    return lambda x, y: b.logic(name, x, y)


def combination(b: Builder, name: str, dtype: DTypeLike) -> tuple[Callable, Operand]:
    """The combining function of a reduction, and its neutral element."""
    floats = register_type(dtype) in FLOATS
    if name in ("sum", "cumsum"):
        return _sum(b, dtype), 0.0 if floats else 0
    if name in ("prod", "cumprod"):
        return _product(b, dtype), 1.0 if floats else 1
    if name in ("and", "or", "xor"):
        if register_type(dtype) != "i1":
            raise NotNativeError(f"reduce_{name} of integers")
        return _logic(b, name), name == "and"
    larger = name in ("max", "cummax")
    if np.dtype(dtype) == bool:
        return _logic(b, "or" if larger else "and"), not larger
    bounds = (-math.inf, math.inf) if floats else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return extreme(b, "max" if larger else "min", dtype), bounds[0 if larger else 1]


@rule(
    "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"
)
def reduce(call: Call) -> Emitted:
    b, x, axes = call.builder, call.inputs[0], call.params["axes"]
    combine, neutral = combination(b, call.name.removeprefix("reduce_"), call.dtypes[0])
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    if isinstance(x, Memory) and x.size > MOST_UNROLLED:
        return _reduced_in_loops(call, x, kept, combine, neutral)
    values = scalars(b, x)
    rows = values.transpose([*kept, *axes]).reshape(
        math.prod(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes)
    )
    found = np.empty(len(rows), object)
    t = register_type(call.dtypes[0])
    if call.name == "reduce_sum" and t in FLOATS:
        # Structural zeros are left out.
        terms = [[y for y in row if type(y) is Value or y != 0] for row in rows.tolist()]
        found[:] = combined(b, t, lambda *x: b.total(t, x), combine, neutral, terms)
    else:
        whole = lambda *x: functools.reduce(combine, x) if x else neutral
        if t in FLOATS and call.name in ("reduce_max", "reduce_min"):
            whole = _extreme_of(b, t, call.name == "reduce_max", combine, neutral)
        found[:] = combined(b, t, whole, combine, neutral, rows.tolist())
    return found.reshape([x.shape[a] for a in kept])


def _extreme_of(b: Builder, t: str, larger: bool, combine: Callable, neutral: Operand) -> Callable:
    """Maximum or minimum of many floats by a binary tree.

    NaN is detected separately, so that each comparison is one processor instruction.
    """
    predicate = "ogt" if larger else "olt"
    of_pair = lambda x, y: b.select(t, b.compare(predicate, t, x, y, None), x, y)

    def whole(*x: Operand) -> Operand:
        found: list = list(dict.fromkeys(y for y in x if type(y) is Value))
        known = functools.reduce(combine, (y for y in x if type(y) is not Value), neutral)
        if len(found) < LEAST_PAIRED:
            return functools.reduce(combine, found, known)
        missing: Operand = False
        for pair in itertools.zip_longest(found[::2], found[1::2], fillvalue=0.0):
            missing = b.logic("or", missing, b.compare("uno", t, *pair, None))
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=False)
            found = [*map(of_pair, *zip(*pairs, strict=True)), *found[len(found) // 2 * 2 :]]
        return combine(b.select(t, missing, math.nan, found[0]), known)

    return whole


LEAST_PAIRED = 3
"""Number of floats from which on the maximum is computed by a tree."""


def combined(
    b: Builder,
    t: str,
    whole: Callable[..., Operand],
    combine: Callable[[Operand, Operand], Operand],
    neutral: Operand,
    rows: list[list],
) -> list:
    """Reduce each row, in loops over rows that are computed alike and over elements of long rows.

    Args:
        whole: reduces all elements of a row.
        combine: combines two results, or a result and an element.
        neutral: the neutral element.
    """
    found: list = [None] * len(rows)
    by_length: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        values = [x for x in row if type(x) is Value]
        if len(values) < LEAST_ALIKE or t not in SIZES:
            by_length.setdefault(len(row), []).append(i)
            continue
        so_far = accumulated(b, t, combine, combine, neutral, [values])
        found[i] = functools.reduce(combine, (x for x in row if type(x) is not Value), so_far)
    for length, places in by_length.items():
        columns = list(zip(*(rows[i] for i in places), strict=True))
        if length:
            results = alike(b, whole, [t] * length, columns, t)
        else:
            results = [whole() for _ in places]
        for i, x in zip(places, results, strict=True):
            found[i] = x
    return found


def _reduced_in_loops(
    call: Call, x: Memory, kept: list, combine: Callable, neutral: Operand
) -> Elements:
    b, axes = call.builder, call.params["axes"]
    target = new_memory(b, x.dtype, [x.shape[a] for a in kept])

    def at(outer: tuple) -> None:
        assign(b, target, outer, neutral)

        def add(inner: tuple) -> None:
            index: list = [0] * len(x.shape)
            for axis, i in zip(kept, outer, strict=True):
                index[axis] = i
            for axis, i in zip(axes, inner, strict=True):
                index[axis] = i
            assign(b, target, outer, combine(element(b, target, outer), element(b, x, index)))

        loop(b, [x.shape[a] for a in axes], add)

    loop(b, target.shape, at)
    return scalars(b, target) if target.size <= MOST_UNROLLED else target


@rule("argmax", "argmin")
def extreme_place(call: Call) -> Emitted:
    b, x, (axis,) = call.builder, call.scalars(0), call.params["axes"]
    t, dtype = register_type(call.dtypes[0]), call.dtypes[0]
    out = register_type(call.params["index_dtype"])
    rows = np.moveaxis(x, axis, -1)
    found = np.empty(rows.shape[:-1], object)
    floats, larger = t in FLOATS, call.name == "argmax"
    fold = operator.gt if larger else operator.lt

    def better(y, best):
        if not floats:
            kind = "s" if is_signed(dtype) else "u"
            return b.compare(kind + ("gt" if larger else "lt"), t, y, best, fold)
        beyond = b.compare("ogt" if larger else "olt", t, y, best, fold)
        # the first NaN wins
        number = b.compare("oeq", t, best, best, operator.eq)
        not_a_number = b.compare("une", t, y, y, operator.ne)
        return b.logic("or", beyond, b.logic("and", not_a_number, number))

    for where in np.ndindex(*found.shape):
        row = rows[where]
        best, place = row[0], 0
        for k in range(1, len(row)):
            wins = better(row[k], best)
            best, place = b.select(t, wins, row[k], best), b.select(out, wins, k, place)
        found[where] = place
    return found if found.ndim else scalar(found.item())


@rule("cumsum", "cumprod", "cummax", "cummin")
def cumulate(call: Call) -> Emitted:
    b, axis = call.builder, call.params["axis"]
    combine, _ = combination(b, call.name, call.dtypes[0])
    x = np.moveaxis(call.scalars(0).copy(), axis, 0)
    order = range(len(x) - 1, -1, -1) if call.params["reverse"] else range(len(x))
    found, before = np.empty(x.shape, object), None
    for k in order:
        for where in np.ndindex(*x.shape[1:]):
            i = (k, *where)
            found[i] = x[i] if before is None else combine(found[(before, *where)], x[i])
        before = k
    return np.moveaxis(found, 0, axis)


@rule("dot_general")
def matrix_product(call: Call) -> Emitted:
    (ca, cb), (ba, bb) = call.params["dimension_numbers"]
    b, out = call.builder, call.outputs[0]
    if any(dtype != out.dtype for dtype in call.dtypes):
        call = _in_one_type(call)
    shapes = call.shapes
    fa = [i for i in range(len(shapes[0])) if i not in (*ca, *ba)]
    fb = [i for i in range(len(shapes[1])) if i not in (*cb, *bb)]
    # A vector multiplied with an unrolled operand is loaded as a whole; structural zeros are
    # skipped.
    most = MOST_LOADED if any(map(is_written_out, call.inputs)) else MOST_UNROLLED
    if any(isinstance(x, Memory) and x.size > most for x in call.inputs):
        return _product_in_loops(call, fa, fb)
    left = call.scalars(0).transpose([*ba, *fa, *ca])
    right = call.scalars(1).transpose([*bb, *fb, *cb])
    batch = math.prod(shapes[0][i] for i in ba)
    count = math.prod(shapes[0][i] for i in ca)
    left = left.reshape(batch, math.prod(shapes[0][i] for i in fa), count)
    right = right.reshape(batch, math.prod(shapes[1][i] for i in fb), count)
    found = np.empty((batch, left.shape[1], right.shape[1]), object)
    for n in range(batch):
        _multiply(b, out.dtype, left[n], right[n], found[n])
    return found.reshape(out.shape)


def _in_one_type(call: Call) -> Call:
    """A product, such as that of numbers and whole numbers, of operands in the type of its
    result.
    """
    target, turned = np.dtype(call.outputs[0].dtype), []
    for x, dtype, shape in zip(call.inputs, call.dtypes, call.shapes, strict=True):
        made = jax.ShapeDtypeStruct(shape, target)
        one = dataclasses.replace(call, inputs=[x], dtypes=[dtype], shapes=[shape], outputs=[made])
        turned.append(convert(one))
    return dataclasses.replace(call, inputs=turned, dtypes=[target, target])


def _multiply(b: Builder, dtype: DTypeLike, left, right, found) -> None:
    """Compute `left rightᵀ` from the nonzero entries of each row, paired by column."""
    t = register_type(dtype)
    if t not in FLOATS:
        truths = t == "i1"
        plus = _logic(b, "or") if truths else _sum(b, dtype)
        times = _logic(b, "and") if truths else _product(b, dtype)
        for i, j in np.ndindex(*found.shape):
            terms = [times(x, y) for x, y in zip(left[i], right[j], strict=True)]
            found[i, j] = functools.reduce(plus, terms, False if t == "i1" else 0)
        return
    sparse = lambda row: {k: x for k, x in enumerate(row) if type(x) is Value or x != 0}
    rows, columns = [sparse(row) for row in left], [sparse(row) for row in right]
    by_length: dict[int, list[tuple]] = {}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            short, long = (row, column) if len(row) <= len(column) else (column, row)
            both = [k for k in short if k in long]
            pairs = [row[k] for k in both], [column[k] for k in both]
            if (
                len(both) >= LEAST_ALIKE
                and t in SIZES
                and all(type(x) is Value for x in sum(pairs, []))
            ):
                add = lambda so_far, x, y: b.multiply_add(t, x, y, so_far)
                found[i, j] = accumulated(b, t, add, lambda x, y: b.add(t, x, y), 0.0, pairs)
            else:
                by_length.setdefault(len(both), []).append(((i, j), *pairs))
    for length, products in by_length.items():
        operands = list(zip(*(x + y for _, x, y in products), strict=True))
        if length:
            dot = lambda *x, n=length: b.dot(t, x[:n], x[n:])
            results = alike(b, dot, [t] * 2 * length, operands, t)
        else:
            results = [0.0] * len(products)
        for (where, *_), x in zip(products, results, strict=True):
            found[where] = x


def _product_in_loops(call: Call, fa: list, fb: list) -> Elements:
    (ca, cb), (ba, bb) = call.params["dimension_numbers"]
    b, out = call.builder, call.outputs[0]
    t = register_type(out.dtype)
    if t not in FLOATS:
        raise NotNativeError("a large product of matrices of integers")
    x, y = (memory(b, call.inputs[i], call.dtypes[i]) for i in (0, 1))
    target = new_memory(b, out.dtype, out.shape)
    sizes = [call.shapes[0][i] for i in ca]
    wide = varies(x) or varies(y)
    # Along the last axis of the result, the elements of one of the operands are contiguous.
    own = [(x, fa), (y, fb)][bool(fb)] if fa or fb else None
    side_by_side = own is not None and own[0].strides[own[1][-1]] == 1 and t in SIZES
    step = step_of(b, out.shape[-1]) if side_by_side else 1

    def product(index: tuple) -> Operand:
        batch, rest = index[: len(ba)], index[len(ba) :]
        first, second = rest[: len(fa)], rest[len(fa) :]

        def add(so_far: Operand, inner: tuple) -> Operand:
            read = []
            for z, parts in (
                (x, ((ba, batch), (fa, first), (ca, inner))),
                (y, ((bb, batch), (fb, second), (cb, inner))),
            ):
                i: list = [0] * len(z.shape)
                for axes, values in parts:
                    for axis, k in zip(axes, values, strict=True):
                        i[axis] = k
                spans = step > 1 and own is not None and z is own[0]
                at = place(b, z, i)
                read.append(b.load_span(t, z.buffer, at) if spans else b.load(t, z.buffer, at))
            return b.multiply_add(t, read[0], read[1], so_far)

        return _added(b, t, sizes, (), 0.0, add, wide or step > 1)

    def row(outer: tuple) -> None:
        start = place(b, target, (*outer, 0))
        whole = lambda i: product((*outer, i))
        looped(b, t, out.shape[-1], step, whole, target.buffer, start)

    if out.shape:
        loop(b, out.shape[:-1], row)
    else:
        assign(b, target, (), product(()))
    return scalars(b, target) if target.size <= MOST_UNROLLED else target


MOST_ADDED = 16
"""Number of terms up to which a sum is unrolled; longer ones are loops."""


def _added(
    b: Builder, t: str, sizes: list, index: tuple, start: Operand, add: Callable, wide: bool
) -> Operand:
    """Emit a sum over nested indices: `add(so_far, index)` for each index in order."""
    if not sizes:
        return add(start, index)
    first, *rest = sizes
    if math.prod(sizes) <= MOST_ADDED:
        for k in range(first):
            start = _added(b, t, rest, (*index, k), start, add, wide)
        return start
    before, turn, after = b.block, b.new_block(), b.new_block()
    b.jump(turn)
    b.begin(turn)
    with b.scope(repeated=True):
        i, so_far = b.phi("i64"), b.phi(t, wide)
        found = _added(b, t, rest, (*index, i), so_far, add, wide)
        following = b.shared("i64", "add", i, 1)
        going = b.shared("i1", "icmp slt", following, first, of="i64")
        b.incoming(i, (0, before), (following, b.block))
        b.incoming(so_far, (start, before), (found, b.block))
        b.branch(going, turn, after)
    b.begin(after)
    return found


MOST_SORTED = 64
"""Number of elements up to which an array is sorted by a sorting network."""


@rule("sort")
def sort(call: Call) -> list:
    """Sort stably by an odd-even transposition network; NaN comes last, −0 equals 0."""
    b, axis = call.builder, call.params["dimension"]
    keys = call.params["num_keys"]
    n = call.shapes[0][axis]
    if n > MOST_SORTED:
        raise NotNativeError(f"sorting more than {MOST_SORTED} elements")
    arrays = [np.moveaxis(call.scalars(i).copy(), axis, -1) for i in range(len(call.inputs))]
    types = [register_type(dtype) for dtype in call.dtypes]
    for where in np.ndindex(*arrays[0].shape[:-1]):
        rows = [x[where] for x in arrays]
        for turn in range(n):  # alternate between even and odd neighbors: stable
            for k in range(turn % 2, n - 1, 2):
                after = _comes_after(b, call.dtypes[:keys], [(r[k], r[k + 1]) for r in rows[:keys]])
                for t, row in zip(types, rows, strict=True):
                    row[k], row[k + 1] = (
                        b.select(t, after, row[k + 1], row[k]),
                        b.select(t, after, row[k], row[k + 1]),
                    )
    return [np.moveaxis(x, -1, axis) for x in arrays]


def _comes_after(b: Builder, dtypes: list, pairs: list) -> Operand:
    """Return whether the first of two tuples of keys comes after the second."""
    found: Operand = False
    for dtype, (x, y) in reversed(list(zip(dtypes, pairs, strict=True))):
        t = register_type(dtype)
        if t in FLOATS:
            nan_x, nan_y = (b.compare("une", t, z, z, operator.ne) for z in (x, y))
            beyond = b.logic(
                "or",
                b.compare("ogt", t, x, y, operator.gt),
                b.logic("and", nan_x, b.logic("xor", nan_y, True)),
            )
            equal = b.logic(
                "or", b.compare("oeq", t, x, y, operator.eq), b.logic("and", nan_x, nan_y)
            )
        else:
            kind = "s" if is_signed(dtype) else "u"
            beyond = b.compare(f"{kind}gt", t, x, y, operator.gt)
            equal = b.compare("eq", t, x, y, operator.eq)
        found = b.logic("or", beyond, b.logic("and", equal, found))
    return found
