"""Arrays of a traced program: scalars in registers, or arrays in memory.

Each element of `Scalars` is an SSA value or a constant: moving elements emits no instruction, and
structural zeros are eliminated. `Memory` holds arrays with many elements and arrays with indices
that are unknown at compile time. It is a strided view, so that slices, transposes and broadcasts
emit no instruction either.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from zwang.native.blocks import is_wide
from zwang.native.builder import Buffer, Builder, Value
from zwang.native.instructions import LEAST_ALIKE, Operand
from zwang.native.rolled import alike, copied, side_by_side, written
from zwang.native.types import register_type

MOST_UNROLLED = 256
"""Number of elements up to which an array in memory is loaded element by element; longer arrays are
read in loops.
"""
MOST_LOADED = 1024
"""Number of elements up to which an argument is loaded at the function's entry, or an operand in
memory is loaded for an operation with an unrolled operand; larger arrays are read where they are
used.
"""
MOST_COPIED = 16
"""Number of elements up to which a copy or fill is unrolled; longer ones are loops."""

Scalars = np.ndarray
"""An object array of values and constants."""


@dataclasses.dataclass(eq=False)
class Memory:
    """A strided view of a buffer.

    Attributes:
        offset: place of the first element [elements], a value or a constant.
        strides: distance between neighbors along each axis [elements].
    """

    buffer: Buffer
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Operand = 0

    @property
    def type(self) -> str:
        return register_type(self.dtype)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        return self.strides == row_major(self.shape)

    @property
    def repeats(self) -> bool:
        """Return whether several elements share one address, as in a broadcast."""
        return any(n > 1 and not step for n, step in zip(self.shape, self.strides, strict=True))


Elements = Scalars | Memory
"""An array in registers or in memory."""
Emitted = Elements | list
"""The results of a lowering rule: one array, or several."""


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a row-major array of some shape."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def scalar(x: Operand) -> Scalars:
    """Wrap one operand as an array without axes."""
    found = np.empty((), object)
    found[()] = x
    return found


def constants(x: ArrayLike) -> Scalars:
    """Convert an array of numbers to an array of constants."""
    x = np.asarray(x)
    register_type(x.dtype)
    return x.astype(object, "C")


def is_constant(x: object) -> bool:
    """Return whether every element is a constant."""
    return isinstance(x, np.ndarray) and Value not in set(map(type, x.reshape(-1).tolist()))


def is_written_out(x: Elements) -> bool:
    """Return whether an array is held in registers and has at least two different values.

    It may have structural zeros. Storing it would cost as much as an operation on it.
    """
    if isinstance(x, Memory):
        return False
    values = (y for y in x.reshape(-1).tolist() if type(y) is Value)
    first = next(values, None)
    return any(y is not first for y in values)


def known(x: Scalars, dtype: DTypeLike) -> np.ndarray:
    """Convert an array of constants to a NumPy array."""
    return np.array(x.reshape(-1).tolist(), dtype).reshape(x.shape)


def each(
    b: Builder,
    function: Callable,
    arrays: Sequence[Scalars],
    types: Sequence[str],
    type_: str,
    commutes: bool = False,
) -> Scalars:
    """Apply a function of scalars elementwise; many equal computations are rolled into a loop.

    The arrays are broadcast; the result has no axes if they have none.

    Args:
        types: of the arrays.
        type_: of the result.
        commutes: whether the two operands may be exchanged.
    """
    if all(x.ndim == 0 for x in arrays):
        return scalar(function(*(x.item() for x in arrays)))
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    if not all(x.size for x in arrays):
        return np.empty(shape, object)
    with np.errstate(all="ignore"):  # folding gives inf and NaN silently
        if math.prod(shape) < b.least_alike:
            return np.frompyfunc(function, len(arrays), 1)(*arrays)
        whole = (x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays)
        operands = [x.reshape(-1).tolist() for x in whole]
        found = np.empty(shape, object)
        found.reshape(-1)[:] = alike(b, function, types, operands, type_, commutes)
        return found


def new_memory(
    b: Builder, dtype: DTypeLike, shape: Sequence[int], layout: str = "interleaved"
) -> Memory:
    """Allocate a row-major array in the workspace (`Builder.allocate`)."""
    shape, dtype = tuple(shape), np.dtype(dtype)
    buffer = b.allocate(register_type(dtype), max(math.prod(shape), 1), layout)
    return Memory(buffer, dtype, shape, row_major(shape))


def place(b: Builder, x: Memory, index: Sequence[Operand]) -> Operand:
    """Offset of an element in the buffer [elements]; entries of the index may be values."""
    at = x.offset
    for i, step in zip(index, x.strides, strict=True):
        at = index_sum(b, at, index_product(b, i, step))
    return at


def index_sum(b: Builder, i: Operand, j: Operand) -> Operand:
    return b.integer("add", "i64", i, j, lambda x, y: x + y)


def index_product(b: Builder, i: Operand, j: Operand) -> Operand:
    return b.integer("mul", "i64", i, j, lambda x, y: x * y)


def element(b: Builder, x: Memory, index: Sequence[Operand]) -> Operand:
    return b.load(x.type, x.buffer, place(b, x, index))


def scalars(b: Builder, x: Elements) -> Scalars:
    """Return an operand as scalars; elements in memory are loaded here."""
    if isinstance(x, np.ndarray):
        return x
    found = np.empty(x.shape, object)
    if _is_long(x) and type(x.offset) is Value and not x.offset.wide:
        found.reshape(-1)[:] = copied(b, x.type, x.buffer, x.offset, x.size)
        return found
    for index in np.ndindex(*x.shape):
        found[index] = element(b, x, index)
    return found


def _is_long(x: Memory) -> bool:
    """Return whether elements of an array are copied by a SIMD loop."""
    return x.size >= LEAST_ALIKE and x.type == "double" and x.is_contiguous


def memory(b: Builder, x: Elements, dtype: DTypeLike) -> Memory:
    """Return an operand in memory: scalars are spilled here, constants are static arrays."""
    if isinstance(x, Memory):
        return x
    if is_constant(x):
        buffer = b.literal(register_type(dtype), x.reshape(-1).tolist())
        return Memory(buffer, np.dtype(dtype), x.shape, row_major(x.shape))
    if (known_here := b.remembered(("spilled", id(x)))) is not None:
        return known_here[0]
    if x.size >= LEAST_ALIKE and (place := side_by_side(b, x.reshape(-1).tolist())) is not None:
        # Memory that others may write to, or that the caller owns, is copied.
        if not place[0].mutable and place[0].base.operation != "named":
            return Memory(place[0], np.dtype(dtype), x.shape, row_major(x.shape), place[1])
    differ = any(map(is_wide, x.reshape(-1)))
    found = new_memory(b, dtype, x.shape, "interleaved" if differ else "common")
    fill(b, found, x)
    # The scalars stay valid and refer to this buffer, so nothing may write to it any more.
    place = Buffer(found.buffer.base, False, found.buffer.interleaved)
    found = dataclasses.replace(found, buffer=place)
    b.remember(("spilled", id(x)), (found, x))  # x stays alive, so its id is unique
    return found


def fill(b: Builder, target: Memory, source: Elements) -> None:
    """Write an array into memory."""
    if isinstance(source, Memory) and source.size > MOST_COPIED and not _overlap(source, target):
        loop(b, target.shape, lambda i: assign(b, target, i, element(b, source, i)))
        return
    if isinstance(source, np.ndarray) and source.size > MOST_COPIED:
        frequent, others = _most_frequent(source)
        if 2 * len(others) <= source.size:
            loop(b, target.shape, lambda i: assign(b, target, i, frequent))
            for index in others:
                assign(b, target, index, source.item(*index))
            return
        if _is_long(target) and not is_wide(target.offset):
            places, flat = [*np.ndindex(*target.shape)], source.reshape(-1).tolist()
            for k in written(b, target.type, target.buffer, target.offset, flat):
                assign(b, target, places[k], flat[k])
            return
    values = scalars(b, source)  # read all first: source and target may overlap
    for index in np.ndindex(*target.shape):
        assign(b, target, index, values.item(*index))


def _most_frequent(x: Scalars) -> tuple[Operand, list[tuple[int, ...]]]:
    """The most frequent constant of an array, and the indices of all other elements."""
    # Constants are compared by `repr`, which distinguishes −0 from 0 and identifies NaN.
    texts = [None if type(y) is Value else repr(y) for y in x.reshape(-1).tolist()]
    counts = Counter(y for y in texts if y is not None)
    if not counts:
        return 0.0, [*np.ndindex(*x.shape)]
    text, _ = counts.most_common(1)[0]
    others = [i for i, y in zip(np.ndindex(*x.shape), texts, strict=True) if y != text]
    return x.reshape(-1)[texts.index(text)], others


def _overlap(source: Memory, target: Memory) -> bool:
    return source.buffer is target.buffer and source.size <= MOST_UNROLLED


def assign(b: Builder, target: Memory, index: Sequence[Operand], value: Operand) -> None:
    b.store(target.type, target.buffer, place(b, target, index), value)


def loop(b: Builder, shape: Sequence[int], body: Callable[[tuple], None]) -> None:
    """Emit nested loops over the indices of an array."""
    _nested(b, tuple(shape), (), body)


def _nested(b: Builder, shape: tuple, index: tuple, body: Callable[[tuple], None]) -> None:
    if not shape:
        body(index)
        return
    if shape[0] == 0:
        return
    if shape[0] == 1:
        _nested(b, shape[1:], (*index, 0), body)
        return
    counted(b, shape[0], lambda i: _nested(b, shape[1:], (*index, i), body))


def counted(b: Builder, count: Operand, body: Callable[[Value], None], first: Operand = 0) -> None:
    """Emit a loop with a counter from `first` up to `count` (excluded); it runs at least once."""
    before, turn, after = b.block, b.new_block(), b.new_block()
    b.jump(turn)
    b.begin(turn)
    with b.scope(repeated=True):
        i = b.phi("i64")
        body(i)
        following = b.shared("i64", "add", i, 1)
        going = b.shared("i1", "icmp slt", following, count, of="i64")
    b.incoming(i, (first, before), (following, b.block))
    b.branch(going, turn, after)
    b.begin(after)


def take_axis(x: Memory, axis: int, start: Operand, size: int, b: Builder, step: int = 1) -> Memory:
    """Slice a view along one axis, beginning at `start`, which may be a value."""
    offset = index_sum(b, x.offset, index_product(b, start, x.strides[axis]))
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :])
    return dataclasses.replace(x, shape=shape, strides=strides, offset=offset)
