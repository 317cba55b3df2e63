"""Structural nonzeros of a Jacobian, determined from the operations of its function, and groups of
columns that share no row.

Columns that share no row are computed together, as the derivative along their sum (Curtis, Powell
and Reid, 1974). A bar is connected to its neighbors only, so a linkage of any length has a few such
groups: four groups replace twelve columns for `five-bar`, and 60 columns for five of them.

The pattern is propagated exactly through operations that move numbers and through elementwise
operations. For any other operation, each result counts as depending on all operands. The pattern
may therefore contain too many entries, but never too few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal
from jaxtyping import Bool, Int

UNKNOWN = object()
"""Integer or Boolean value that is not known before the program runs."""
EACH = {
    "add",
    "add_any",
    "convert_element_type",
    "copy",
    "div",
    "max",
    "min",
    "mul",
    "neg",
    "reduce_precision",
    "select_n",
    "sub",
}
"""Elementwise operations that map zeros to zero."""
WHOLE: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
"""Operations that usually compute indices; carried out in NumPy, without compilation."""
MOVES: dict[str, Callable] = {
    "broadcast_in_dim": lambda eqn, x: np.broadcast_to(
        _spread(x, eqn.params["broadcast_dimensions"], _out(eqn)), _out(eqn)
    ),
    "gather": lambda eqn, x, at: _gathered(eqn, np.asarray(x), np.asarray(at)),
    "concatenate": lambda eqn, *x: np.concatenate(x, axis=eqn.params["dimension"]),
    "reshape": lambda eqn, x: x.reshape(_out(eqn)),
    "scatter": lambda eqn, x, at, new: _scattered(eqn, *map(np.asarray, (x, at, new))),
    "select_n": lambda eqn, which, *x: np.choose(np.asarray(which).astype(int), x),
    "slice": lambda eqn, x: x[_cuts(eqn.params)],
    "squeeze": lambda eqn, x: x.reshape(_out(eqn)),
    "stack": lambda eqn, *x: np.stack(x, axis=eqn.params["axis"]),
    "transpose": lambda eqn, x: x.transpose(eqn.params["permutation"]),
} | dict.fromkeys(
    ("dynamic_slice", "dynamic_update_slice", "pad", "rev", "split"),
    lambda eqn, *x: _bound(eqn, x),
)
"""Operations that only move entries of their arguments; carried out on the serial numbers of the
entries.
"""


class Marks:
    """Pattern of a value of the program: mask of the entries that can differ from zero, shape
    (*shape, 1), or, if the value depends on the variable, mask of the entries of the variable on
    which each entry depends, shape (*shape, n).
    """

    def __init__(self, on: Bool[np.ndarray, "... n"], own: bool):
        self.on, self.own = on, own


def dependencies(function: Callable, n: int, *given) -> Bool[np.ndarray, "m n"]:
    """Return whether entry i of `function(w, *given)`, which is linear in w, depends on w_j.

    Args:
        function: function of w, shape (n,), and of further arguments, that returns a vector.
        n: number of variables.
        given: the further arguments, or their shapes.
    """
    closed = jax.make_jaxpr(function)(jax.ShapeDtypeStruct((n,), np.float64), *given)
    others = [_unknown(x.aval) for x in closed.jaxpr.invars[1:]]
    (out,) = _through(closed, [Marks(np.eye(n, dtype=bool), True), *others], n)
    return out.on if out.own else np.zeros((*closed.out_avals[0].shape, n), bool)


def grouped(pattern: Bool[np.ndarray, "m n"]) -> Int[np.ndarray, " n"]:
    """Return the number of the group of each column; columns of one group share no row. Columns
    with most entries are assigned first.
    """
    place = np.argsort(np.argsort(-pattern.sum(axis=0), kind="stable"))
    row, column = np.nonzero(pattern)
    return colors(row, place[column], *pattern.shape)[place]


def colors(row: np.ndarray, column: np.ndarray, m: int, columns: int) -> np.ndarray:
    """Return a color for each column such that no row has entries in two columns of one color,
    shape (columns,), by a greedy algorithm in the order of columns.
    """
    order = np.argsort(column, kind="stable")
    rows = row[order].tolist()
    ends = np.cumsum(np.bincount(column, minlength=columns)).tolist()
    used, chosen, start = [0] * m, [0] * columns, 0
    for j, end in enumerate(ends):
        taken = 0
        for i in rows[start:end]:
            taken |= used[i]
        bit = ~taken & (taken + 1)  # the lowest color that is free
        for i in rows[start:end]:
            used[i] |= bit
        chosen[j], start = bit.bit_length() - 1, end
    return np.array(chosen, int)


def _through(closed: ClosedJaxpr, args: Sequence, n: int) -> list:
    """Propagate values through a program from its inputs to its outputs."""
    jaxpr = closed.jaxpr
    values = dict(zip(jaxpr.constvars, closed.consts, strict=True)) | dict(
        zip(jaxpr.invars, args, strict=True)
    )
    for eqn in jaxpr.eqns:
        inputs = [x.val if isinstance(x, Literal) else values[x] for x in eqn.invars]
        values |= zip(eqn.outvars, _applied(eqn, inputs, n), strict=True)
    return [x.val if isinstance(x, Literal) else values[x] for x in jaxpr.outvars]


def _applied(eqn, inputs: list, n: int) -> list:
    """Propagate values through one operation."""
    name, inner = eqn.primitive.name, eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
    if name in ("jit", "custom_jvp_call", "closed_call") and isinstance(inner, ClosedJaxpr):
        return _through(inner, inputs, n)
    if not any(_is_real(x) for x in (*eqn.outvars, *eqn.invars)):
        return (
            [UNKNOWN] * len(eqn.outvars)
            if any(x is UNKNOWN for x in inputs)
            else _whole(eqn, inputs)
        )
    reals = [
        _marks(x, v.aval)
        for x, v in zip(inputs, eqn.invars, strict=True)
        if _is_real(v) or name not in MOVES
    ]
    k = n if any(x.own for x in reals) else 1
    if name in MOVES and not any(x is UNKNOWN for x in inputs):
        return _moved(eqn, inputs, k)
    if name == "reduce_sum":
        return [Marks(np.any(reals[0].on, axis=tuple(eqn.params["axes"])), reals[0].own)]
    if name == "dot_general" and not all(x.own for x in reals):
        return [_product(eqn, reals)]
    if name in EACH:
        return [_each(name, reals, _out(eqn), k)]
    if k == 1:
        return [_unknown(x.aval) for x in eqn.outvars]
    every = np.any([np.any(x.on.reshape(-1, k), axis=0) for x in reals if x.own], axis=0)
    return [Marks(np.broadcast_to(every, (*x.aval.shape, n)), True) for x in eqn.outvars]


def _each(name: str, inputs: list[Marks], shape, k: int) -> Marks:
    """Combine patterns of an elementwise operation: the union of those of all arguments, for a
    product only where no factor is zero, for a quotient where its numerator is not. For a selection
    any case may be selected.
    """
    inputs = inputs[: 1 + inputs[-1].own] if name == "div" else inputs
    own = [np.broadcast_to(x.on, (*shape, k)) for x in inputs if x.own]
    others = [np.broadcast_to(x.on, (*shape, 1)) for x in inputs if not x.own]
    if name == "mul":
        return Marks(
            np.any(own, axis=0) & np.all(others, axis=0) if own else np.all(others, axis=0),
            bool(own),
        )
    return Marks(np.any(own if own else others, axis=0), bool(own))


def _whole(eqn, inputs: list) -> list:
    """Return the results of an operation on known integers and Boolean values."""
    name, inputs = eqn.primitive.name, [np.asarray(x) for x in inputs]
    if name in MOVES:
        out = MOVES[name](eqn, *inputs)
    elif name == "convert_element_type":
        out = inputs[0].astype(eqn.params["new_dtype"])
    elif name == "iota":
        out = np.broadcast_to(
            _spread(
                np.arange(_out(eqn)[eqn.params["dimension"]]), (eqn.params["dimension"],), _out(eqn)
            ),
            _out(eqn),
        )
    else:
        out = WHOLE[name](*inputs) if name in WHOLE else _bound(eqn, inputs)
    return list(out) if eqn.primitive.multiple_results else [out]


def _bound(eqn, inputs: Sequence):
    """Apply the operation itself to known values."""
    with jax.ensure_compile_time_eval():
        return jax.tree_util.tree_map(np.asarray, eqn.primitive.bind(*inputs, **eqn.params))


def _gathered(eqn, x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return slices of x that begin at given indices, in NumPy, without compilation."""
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    batch, offset = at.shape[:-1], numbers.offset_dims
    places = _places(x, at, numbers.start_index_map, sizes)
    if numbers.operand_batching_dims or places is None:
        return _bound(eqn, (x, at))
    found = x[places] if places else np.broadcast_to(x, batch)
    found = found.reshape(
        *batch, *(n for k, n in enumerate(sizes) if k not in numbers.collapsed_slice_dims)
    )
    # axes of the slices go to the requested positions, those of the indices around them
    total = len(batch) + len(offset)
    order = [k for k in range(total) if k not in offset]
    place = np.argsort([*order, *offset])
    return found.transpose(place)


def _scattered(eqn, x: np.ndarray, at: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return x with slices that begin at given indices replaced, in NumPy."""
    numbers = eqn.params["dimension_numbers"]
    batch, window = at.shape[:-1], numbers.update_window_dims
    given = iter(new.shape[k] for k in window)
    sizes = [1 if k in numbers.inserted_window_dims else next(given, 1) for k in range(x.ndim)]
    places = _places(x, at, numbers.scatter_dims_to_operand_dims, sizes)
    if numbers.operand_batching_dims or not places:
        return _bound(eqn, (x, at, new))
    order = [k for k in range(new.ndim) if k not in window]
    changed = np.array(x)
    changed[places] = new.transpose([*order, *window]).reshape(*batch, *sizes)
    return changed


def _places(x: np.ndarray, at: np.ndarray, axes, sizes) -> tuple[np.ndarray, ...] | None:
    """Return the indices of slices of x of given sizes, one array for each axis of x, shape
    (*batch, *sizes), or None if a slice reaches beyond x.

    Args:
        at: beginning of the slices, shape (*batch, indices).
        axes: axes of x, one for each index.
    """
    batch = at.shape[:-1]
    start = np.zeros((*batch, x.ndim), int)
    start[..., list(axes)] = at
    if np.any((start < 0) | (start > np.array(x.shape) - np.array(sizes))):
        return None
    # one axis per index, then one per axis of a slice
    each = [
        start[..., k].reshape(*batch, *[1] * x.ndim)
        + np.arange(size).reshape([size if j == k else 1 for j in range(x.ndim)])
        for k, size in enumerate(sizes)
    ]
    return tuple(np.broadcast_arrays(*each)) if each else ()


def _moved(eqn, inputs: list, k: int) -> list:
    """Carry out an operation that moves entries on their serial numbers. Entries of all arguments
    except indices are numbered from 1; 0 marks values that the operation fills in.
    """
    numbers, rows, count = [], [np.zeros((1, k), bool)], 1
    own = any(isinstance(x, Marks) and x.own for x in inputs)
    for x, v in zip(inputs, eqn.invars, strict=True):
        if not _is_real(v):
            numbers.append(x)
            continue
        size, marks = v.aval.size, _marks(x, v.aval)
        numbers.append(np.arange(float(count), count + size).reshape(v.aval.shape))
        rows.append(marks.on.reshape(-1, k) if marks.own == own else np.zeros((size, k), bool))
        count += size
    table, moved = np.concatenate(rows), MOVES[eqn.primitive.name](eqn, *numbers)
    return [
        Marks(table[np.nan_to_num(x).astype(int)], own)
        for x in (moved if eqn.primitive.multiple_results else [moved])
    ]


def _product(eqn, inputs: list[Marks]) -> Marks:
    """Return the product of patterns, of which at most one factor depends on the variable."""
    (contracted, batch), letters = eqn.params["dimension_numbers"], iter("abcdefghijklmnopqrstuvwx")
    names: list[dict[int, str]] = [{}, {}]
    for i, j in [*zip(*contracted, strict=True), *zip(*batch, strict=True)]:
        names[0][i] = names[1][j] = next(letters)
    sides = [
        "".join(names[k].setdefault(i, next(letters)) for i in range(len(v.aval.shape)))
        for k, v in enumerate(eqn.invars)
    ]
    free = [
        "".join(x for i, x in enumerate(sides[k]) if i not in (*contracted[k], *batch[k]))
        for k in (0, 1)
    ]
    last = ["z" if x.own else "y" for x in inputs]
    shared = "".join(sides[0][i] for i in batch[0])
    rule = f"{sides[0]}{last[0]},{sides[1]}{last[1]}->{shared}{free[0]}{free[1]}{max(last)}"
    return Marks(
        np.einsum(rule, *(x.on.astype(float) for x in inputs)) > 0, any(x.own for x in inputs)
    )


def _marks(x, aval) -> Marks:
    """Return an argument as marks."""
    if isinstance(x, Marks):
        return x
    return Marks(
        np.ones((*aval.shape, 1), bool) if x is UNKNOWN else (np.asarray(x) != 0)[..., None], False
    )


def _unknown(aval):
    return (
        Marks(np.ones((*aval.shape, 1), bool), False)
        if np.issubdtype(aval.dtype, np.inexact)
        else UNKNOWN
    )


def _is_real(variable) -> bool:
    return np.issubdtype(variable.aval.dtype, np.inexact)


def _out(eqn) -> tuple[int, ...]:
    return eqn.outvars[0].aval.shape


def _spread(x, dimensions, shape):
    return x.reshape(
        [x.shape[dimensions.index(i)] if i in dimensions else 1 for i in range(len(shape))]
    )


def _cuts(params) -> tuple[slice, ...]:
    strides = params["strides"] or (1,) * len(params["start_indices"])
    return tuple(map(slice, params["start_indices"], params["limit_indices"], strides))
