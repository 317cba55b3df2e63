"""Gather, scatter and dynamic slices: free for constant indices, else loads and stores."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from zwang.native.arrays import (
    MOST_UNROLLED,
    Elements,
    Emitted,
    Memory,
    Scalars,
    assign,
    element,
    fill,
    index_sum,
    is_constant,
    loop,
    memory,
    new_memory,
    row_major,
    scalars,
    take_axis,
)
from zwang.native.builder import Builder, Value
from zwang.native.errors import NotNativeError
from zwang.native.functions import converted, extreme
from zwang.native.instructions import Operand
from zwang.native.rolled import alike
from zwang.native.rules.movement import copied
from zwang.native.types import FLOATS, is_signed, register_type, wrapped
from zwang.native.walk import Call, rule


def _start(b: Builder, dtype: DTypeLike, i: Operand, most: int) -> Operand:
    """Clamp an index to 0 … most."""
    if type(i) is not Value:
        return min(max(int(i), 0), most)
    if most == 0:
        return 0
    i = converted(b, dtype, np.int64, i)
    low, high = extreme(b, "max", np.int64), extreme(b, "min", np.int64)
    return high(low(i, 0), most)


@rule("dynamic_slice")
def dynamic_slice(call: Call) -> Emitted:
    b, x, sizes = call.builder, call.inputs[0], call.params["slice_sizes"]
    starts = [
        _start(b, call.dtypes[k + 1], call.scalars(k + 1).item(), n - size)
        for k, (n, size) in enumerate(zip(x.shape, sizes, strict=True))
    ]
    if isinstance(x, np.ndarray) and all(type(i) is not Value for i in starts):
        return x[tuple(slice(i, i + n) for i, n in zip(starts, sizes, strict=True))]
    view = memory(b, x, call.dtypes[0])
    for axis, (i, n) in enumerate(zip(starts, sizes, strict=True)):
        view = take_axis(view, axis, i, n, b)
    # The elements are read now, as the memory may be overwritten before they are used.
    return _read(b, view)


def _read(b: Builder, view: Memory) -> Elements:
    if view.size <= MOST_UNROLLED:
        return scalars(b, view)
    if not view.buffer.mutable:
        return view
    copy = new_memory(b, view.dtype, view.shape)
    fill(b, copy, view)
    return copy


def writable(call: Call) -> Memory:
    """Return the first operand in memory that may be overwritten: a copy unless this is its last
    use.
    """
    b, x = call.builder, call.inputs[0]
    if isinstance(x, Memory):
        return x if call.may_overwrite(0) else copied(call, x)
    place = new_memory(b, call.dtypes[0], x.shape)
    fill(b, place, x)
    return place


@rule("dynamic_update_slice")
def dynamic_update_slice(call: Call) -> Emitted:
    b, x, new = call.builder, call.inputs[0], call.inputs[1]
    starts = [
        _start(b, call.dtypes[k + 2], call.scalars(k + 2).item(), n - size)
        for k, (n, size) in enumerate(zip(x.shape, new.shape, strict=True))
    ]
    known = [int(i) for i in starts if type(i) is not Value]
    if isinstance(x, np.ndarray) and len(known) == len(starts):
        changed = x.copy()
        parts = tuple(slice(i, i + n) for i, n in zip(known, new.shape, strict=True))
        changed[parts] = scalars(b, new)
        return changed
    place = writable(call)
    view = place
    for axis, (i, n) in enumerate(zip(starts, new.shape, strict=True)):
        view = take_axis(view, axis, i, n, b)
    fill(b, view, new)
    return place


class _Windows:
    """Positions of the windows of a gather or scatter in its operand.

    Args:
        shape: of the operand.
        starts: indices, shape (…, components); each is a value or a constant.
        to_axes: the operand's axis for each component.
        sizes: of a window, along each axis of the operand.
        batching: pairs of batching axes of the operand and of the indices.
    """

    def __init__(self, call: Call, shape, starts: Scalars, dtype, to_axes, sizes, batching):
        self.b, self.shape, self.sizes, self.dtype = call.builder, shape, sizes, dtype
        self.starts, self.to_axes, self.batching = starts, to_axes, batching
        self.strides = row_major(shape)

    def corner(self, where: tuple[int, ...], clipped: bool) -> tuple[list, Operand]:
        """First index of a window along each axis, and whether the window is in bounds."""
        b, inside = self.b, True
        corner: list[Operand] = [0] * len(self.shape)
        for axis, of_indices in self.batching:
            corner[axis] = where[of_indices]
        for k, axis in enumerate(self.to_axes):
            i, most = self.starts[(*where, k)], self.shape[axis] - self.sizes[axis]
            if not clipped:
                inside = b.logic("and", inside, self._inside(i, most))
            corner[axis] = _start(b, self.dtype, i, most)
        return corner, inside

    def known(self, kept: Sequence[int], clipped: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """Row-major places of all windows' elements in the operand, and whether they are in bounds.

        Both are arrays over the windows and the `kept` axes; None if an index is a value.
        """
        if not is_constant(self.starts) or not math.prod(self.shape):
            return None
        beyond, where = max(self.shape, default=0), self.starts.shape[:-1]
        given = [min(int(i), beyond) for i in self.starts.reshape(-1).tolist()]
        starts = np.array(given, np.int64).reshape(self.starts.shape)
        inside = np.ones(where + (1,) * len(kept), bool)
        places = np.zeros(where + tuple(self.sizes[axis] for axis in kept), np.int64)

        def along(steps: np.ndarray, k: int) -> np.ndarray:
            return steps.reshape(-1, *[1] * (places.ndim - k - 1))

        for axis, k in self.batching:
            places += along(self.strides[axis] * np.arange(where[k]), k)
        for k, axis in enumerate(kept):
            places += along(self.strides[axis] * np.arange(self.sizes[axis]), len(where) + k)
        for k, axis in enumerate(self.to_axes):
            i, most = starts[..., k].reshape(inside.shape), self.shape[axis] - self.sizes[axis]
            places += self.strides[axis] * np.clip(i, 0, most)
            inside &= clipped | ((i >= 0) & (i <= most))
        return places, np.broadcast_to(inside, places.shape)

    def _inside(self, i: Operand, most: int) -> Operand:
        b, t = self.b, register_type(self.dtype)
        if type(i) is not Value:
            return 0 <= i <= most
        kind = "s" if is_signed(self.dtype) else "u"
        above = b.compare(f"{kind}ge", t, i, 0, operator.ge)
        return b.logic("and", above, b.compare(f"{kind}le", t, i, most, operator.le))


def _mode(call: Call) -> str:
    return str(call.params["mode"]).rsplit(".", 1)[-1].lower()


@rule("gather")
def gather(call: Call) -> Emitted:
    b, x, p = call.builder, call.inputs[0], call.params
    d, sizes, mode = p["dimension_numbers"], p["slice_sizes"], _mode(call)
    out = call.outputs[0]
    starts = call.scalars(1)
    batching = tuple(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True))
    windows = _Windows(call, x.shape, starts, call.dtypes[1], d.start_index_map, sizes, batching)
    removed = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    kept = [axis for axis in range(len(x.shape)) if axis not in removed]
    outer = [axis for axis in range(len(out.shape)) if axis not in d.offset_dims]
    fill_value = _fill_value(p.get("fill_value"), out.dtype)
    found = np.empty(out.shape, object)
    clipped = mode != "fill_or_drop"
    if isinstance(x, np.ndarray) and (at := windows.known(kept, clipped)) is not None:
        places, inside = at
        by_window = np.moveaxis(found, [*outer, *d.offset_dims], range(found.ndim))
        by_window[...] = x.reshape(-1)[places]
        by_window[~inside] = fill_value
        return found
    for where in np.ndindex(*starts.shape[:-1]):
        corner, inside = windows.corner(where, clipped)
        for offset in np.ndindex(*(sizes[axis] for axis in kept)):
            index = list(corner)
            for axis, o in zip(kept, offset, strict=True):
                index[axis] = index_sum(b, index[axis], o)
            place: list = [0] * len(out.shape)
            for axis, i in zip(outer, where, strict=True):
                place[axis] = i
            for axis, i in zip(d.offset_dims, offset, strict=True):
                place[axis] = i
            value = fill_value if inside is False else _element(b, x, call.dtypes[0], index)
            found[tuple(place)] = b.select(register_type(out.dtype), inside, value, fill_value)
    return found


def _fill_value(given: Operand | None, dtype: DTypeLike) -> Operand:
    if given is not None:
        return given
    if register_type(dtype) in FLOATS:
        return math.nan
    bounds = None if np.dtype(dtype) == bool else np.iinfo(dtype)
    return True if bounds is None else bounds.min if is_signed(dtype) else bounds.max


def _element(b: Builder, x: Elements, dtype: DTypeLike, index: Sequence) -> Operand:
    if isinstance(x, np.ndarray):
        if all(type(i) is not Value for i in index):
            return x.item(*index)
        x = memory(b, x, dtype)
    return element(b, x, index)


COMBINED = {
    "scatter": None,
    "scatter-add": "add",
    "scatter_add": "add",
    "scatter-mul": "mul",
    "scatter_mul": "mul",
    "scatter-min": "min",
    "scatter_min": "min",
    "scatter-max": "max",
    "scatter_max": "max",
    "scatter-sub": "sub",
    "scatter_sub": "sub",
}
"""Functions by which a scatter combines old and new elements."""


@rule(*COMBINED)
def scatter(call: Call) -> Emitted:
    b, x, p = call.builder, call.inputs[0], call.params
    d, mode = p["dimension_numbers"], _mode(call)
    starts, updates = call.scalars(1), call.inputs[2]
    dropped = {*d.inserted_window_dims, *d.operand_batching_dims}
    kept = [axis for axis in range(len(x.shape)) if axis not in dropped]
    of_window = [updates.shape[axis] for axis in d.update_window_dims]
    sizes = [1] * len(x.shape)
    for axis, n in zip(kept, of_window, strict=True):
        sizes[axis] = n
    batching = tuple(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True))
    windows = _Windows(
        call, x.shape, starts, call.dtypes[1], d.scatter_dims_to_operand_dims, sizes, batching
    )
    outer = [axis for axis in range(len(updates.shape)) if axis not in d.update_window_dims]
    combine = _combination(b, COMBINED[call.name], call.dtypes[0])

    t = register_type(call.dtypes[0])
    if isinstance(x, np.ndarray) and (found := windows.known(kept, mode == "clip")) is not None:
        new = np.moveaxis(
            scalars(b, updates), [*outer, *d.update_window_dims], range(found[0].ndim)
        )
        return _replaced(b, t, combine, x, *found, new)
    corners = {
        where: windows.corner(where, mode == "clip") for where in np.ndindex(*starts.shape[:-1])
    }
    unknown = any(
        type(i) is Value or type(inside) is Value
        for corner, inside in corners.values()
        for i in corner
    )
    place = writable(call)
    if unknown and len(corners) == 1 and updates.size > MOST_UNROLLED and combine is None:
        return _written_window(
            call,
            place,
            *corners[()] if () in corners else next(iter(corners.values())),
            kept,
            d,
            updates,
        )
    values = scalars(b, updates)
    for where, (corner, inside) in corners.items():
        if inside is False:
            continue
        for offset in np.ndindex(*of_window):
            index = list(corner)
            for axis, o in zip(kept, offset, strict=True):
                index[axis] = index_sum(b, index[axis], o)
            at: list = [0] * len(updates.shape)
            for axis, i in zip(outer, where, strict=True):
                at[axis] = i
            for axis, i in zip(d.update_window_dims, offset, strict=True):
                at[axis] = i
            new = values.item(*at)
            old = new if combine is None and inside is True else element(b, place, index)
            if combine is not None:
                new = combine(old, new)
            assign(b, place, index, b.select(t, inside, new, old) if inside is not True else new)
    return place


def _replaced(
    b: Builder,
    t: str,
    combine: Callable | None,
    x: Scalars,
    places: np.ndarray,
    inside: np.ndarray,
    new: Scalars,
) -> Scalars:
    """Update scalars at constant places, by replacement or by a combining function."""
    changed, terms = x.copy(), {}
    flat = changed.reshape(-1)
    given = zip(places[inside].tolist(), new[inside].tolist(), strict=True)
    if combine is None:
        for at, y in given:
            flat[at] = y
        return changed
    for at, y in given:
        terms.setdefault(at, [flat[at]]).append(y)
    _combined(b, t, combine, terms, flat)
    return changed


def _combined(
    b: Builder, t: str, combine: Callable, terms: dict[int, list], place: Scalars
) -> None:
    """Write the combination of the terms of each element, in loops if there are many."""
    whole = lambda *x: functools.reduce(combine, x)
    for length in {len(x) for x in terms.values()}:
        found = {at: x for at, x in terms.items() if len(x) == length}
        columns = list(zip(*found.values(), strict=True))
        for at, x in zip(found, alike(b, whole, [t] * length, columns, t), strict=True):
            place[at] = x


def _written_window(call: Call, place: Memory, corner, inside, kept, d, updates) -> Memory:
    """Write one large window in a loop, unless it is out of bounds."""
    b = call.builder
    source = memory(b, updates, call.dtypes[2])
    squeezed = [axis for axis in range(len(updates.shape)) if axis not in d.update_window_dims]

    def at(offset: tuple) -> None:
        index = list(corner)
        for axis, o in zip(kept, offset, strict=True):
            index[axis] = index_sum(b, index[axis], o)
        read: list = [0] * len(updates.shape)
        for axis, i in zip(d.update_window_dims, offset, strict=True):
            read[axis] = i
        del_ = [read[axis] for axis in squeezed]
        assert all(i == 0 for i in del_)
        new = element(b, source, read)
        if inside is not True:
            new = b.select(place.type, inside, new, element(b, place, index))
        assign(b, place, index, new)

    loop(b, [updates.shape[axis] for axis in d.update_window_dims], at)
    return place


def _combination(b: Builder, name: str | None, dtype: DTypeLike) -> Callable | None:
    if name is None:
        return None
    t = register_type(dtype)
    if name in ("min", "max"):
        return extreme(b, name, dtype)
    if t in FLOATS:
        method = {"add": b.add, "mul": b.multiply, "sub": b.subtract}[name]
        return lambda x, y: method(t, x, y)
    if t == "i1":
        raise NotNativeError("a scatter of truth values that are added")
    fold = {"add": operator.add, "mul": operator.mul, "sub": operator.sub}[name]
    return lambda x, y: b.integer(name, t, x, y, lambda x, y: wrapped(dtype, fold(x, y)))
