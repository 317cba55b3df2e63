"""Loop rolling: loops over elements that are computed alike.

In a model with many bodies most operations are the same for each body. Unrolled, they are hundreds
of thousands of instructions, which LLVM needs minutes to compile and which the processor fetches
more slowly than it executes them. Elements of an array are computed alike if the same operands are
constants and the same operands are equal. They are computed by one loop from memory to memory.
Elements with a structural zero among their operands form a separate group, so that structural zeros
are still eliminated.

Operands that are not contiguous are gathered by constant indices. Each element of the result is
recorded as loaded from its place (`Builder.origins`), where later loops read it. Code for one batch
member computes several elements at once in SIMD registers; the last group of elements may overlap
the one before. The same elements are rolled for any number of lanes, so results are bitwise
identical. C and WebAssembly have no such loops but round as these do: a product that a loop reads
from memory is not fused into a sum.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

from zwang.native.arithmetic import ordered
from zwang.native.blocks import is_wide
from zwang.native.builder import Buffer, Builder
from zwang.native.instructions import LEAST_ALIKE, Block, Operand, Value

SIDE_BY_SIDE = 8
"""Elements that a loop computes at once: a vector register of 512 bits."""
FOLDED = (0.0, 1.0, -1.0)
"""Constants that may fold an operation away or change it."""
SIZES = {"double": 8, "float": 4, "i1": 1}
Read = Callable[[Operand], Operand]
"""Reads an operand of one element, or of several from a given element number on."""


class Source(NamedTuple):
    """Reader of an operand in a loop.

    Attributes:
        steady: whether the memory that it reads is never written again.
    """

    read: Read
    steady: bool = True


def alike(
    b: Builder,
    function: Callable[..., Any],
    types: Sequence[str],
    operands: Sequence[Sequence[Any]],
    type_: str,
    commutes: bool = False,
    least: float = math.inf,
    loops: bool = True,
) -> list:
    """Apply a function of numbers to each element, in loops over elements that are computed alike.

    Args:
        types: of the operands.
        operands: for each operand its values, one for each element.
        type_: of the results.
        commutes: whether its two operands may be exchanged.
        least: least number of elements of a loop, if smaller than usual.
        loops: whether this function may be rolled.
    """
    least, rows = min(least, b.least_alike), list(zip(*operands, strict=True))
    varying = [k for k, row in enumerate(rows) if Value in map(type, row)]
    if len(varying) < least or not {type_, *types} <= SIZES.keys():
        return [function(*row) for row in rows]
    if commutes:  # equal elements are computed once
        for k in varying:
            rows[k] = ordered(*rows[k])
    groups: dict[tuple, dict[tuple, tuple]] = {}
    keys: list[Any] = list(rows)
    for k in varying:
        row = rows[k]
        if len(set(map(type, row))) > 1:
            keys[k] = tuple([x if type(x) is Value else repr(x) for x in row])
    each_once = {keys[k]: rows[k] for k in varying}
    for key, row in each_once.items():
        groups.setdefault(_pattern(row), {})[key] = row
    found: dict[tuple, Any] = {}
    for pattern, each in groups.items():
        results = None
        if len(each) >= least:
            columns = list(zip(*each.values(), strict=True))
            write = _in_loop if b.rolls and loops else _one_by_one
            results = write(b, function, types, columns, pattern, type_)
        if results is None:
            results = [function(*row) for row in each.values()]
        found |= zip(each, results, strict=True)
    of, folded, results = set(varying), {}, []
    for k, row in enumerate(rows):
        if k in of:
            results.append(found[keys[k]])
            continue
        if (text := repr(row)) not in folded:  # most constants are repeated zeros
            folded[text] = function(*row)
        results.append(folded[text])
    return results


def _pattern(row: tuple) -> tuple:
    """Key of elements that one loop can compute: which operands are values, which of these are
    equal, and the `repr` of constants that may fold.
    """
    if len(row) == 2 and type(row[0]) is type(row[1]) is Value:  # the most frequent case
        return (0, 0) if row[0] is row[1] else (0, 1)
    found: list = []
    for j, x in enumerate(row):
        if type(x) is Value:
            found.append(next((i for i in range(j) if row[i] is x), j))
        else:
            found.append(repr(x) if x in FOLDED or not -1e300 < x < 1e300 else None)
    return tuple(found)


def _in_loop(
    b: Builder, function: Callable, types: Sequence[str], columns: list, pattern: tuple, type_: str
) -> list | None:
    """Compute elements of one pattern in a loop.

    Returns None if the function of each element is one of its operands or a constant.
    """
    if _is_trivial(b, function, types, columns, pattern):
        return None
    count = len(columns[0])
    step = step_of(b, count)
    sources = [
        source(b, t, column, step) if p == j or type(p) is not int else None
        for j, (t, p, column) in enumerate(zip(types, pattern, columns, strict=True))
    ]

    def value(i: Operand) -> Operand:
        read: list = []
        for p, of in zip(pattern, sources, strict=True):
            read.append(read[p] if of is None else of.read(i))
        return function(*read)

    steady = all(of is None or of.steady for of in sources)
    return b.elements(type_, looped(b, type_, count, step, value, steady=steady), count)


def _one_by_one(
    b: Builder, function: Callable, types: Sequence[str], columns: list, pattern: tuple, type_: str
) -> list | None:
    """Compute elements of one pattern unrolled, rounded as in a loop.

    Elements after the first are marked as repeated (`Builder.repeated`), so that unrolled code has
    the same length as rolled code in the decision about subroutines.
    """
    if _is_trivial(b, function, types, columns, pattern):
        return None
    pairs = zip(pattern, columns, strict=True)
    one = [type(p) is not int or all(x is c[0] for x in c) for p, c in pairs]
    found = []
    for row in zip(*columns, strict=True):
        with b.repeating(bool(found)):
            each = zip(types, one, row, strict=True)
            found.append(
                as_read(b, type_, function(*(x if k else as_read(b, t, x) for t, k, x in each)))
            )
    return found


def as_read(b: Builder, type_: str, x: Operand) -> Operand:
    """Return an operand as if a loop had loaded it: an opaque copy in unrolled code."""
    return b.shared(type_, "same", x) if type(x) is Value and not b.rolls else x


def _is_trivial(
    b: Builder, function: Callable, types: Sequence[str], columns: list, pattern: tuple
) -> bool:
    """Return whether the function of such operands is one of them or a constant."""
    if len(pattern) > 1 and pattern == tuple(range(len(pattern))):
        return False
    given: list = []
    for j, (t, p) in enumerate(zip(types, pattern, strict=True)):
        if type(p) is not int:
            given.append(columns[j][0])
        else:
            wide = is_wide(columns[j][0])
            given.append(given[p] if p < j else Value(0, t, "named", (f"%operand{j}",), wide))
    with b.apart(Block("")):
        found = function(*given)
    return type(found) is not Value or any(found is x for x in given)


def step_of(b: Builder, count: int) -> int:
    """Number of elements that a loop over `count` elements computes at once."""
    return SIDE_BY_SIDE if b.spans and count >= SIDE_BY_SIDE else 1


def looped(
    b: Builder,
    type_: str,
    count: int,
    step: int,
    value: Read,
    target: Buffer | None = None,
    start: Operand = 0,
    steady: bool = False,
) -> Buffer:
    """Emit a loop over elements and return the buffer of its results.

    Args:
        value: computes `step` elements from a given number on.
        target, start: buffer and first index of the results; by default a new buffer that
            nothing else writes to.
        steady: whether an equal loop emitted later would read the same data.
    """
    begun, before, turn, last = len(b.blocks), b.block, b.new_block(), count - step
    with b.scope(), b.spanned(step):
        b.block = turn
        number = b.phi("i64") if last else None
        found = value(i := 0 if number is None else number)
        found = b.widened(found) if step > 1 else found
        alone, key = b.block is turn, None
        if alone and steady:
            key = count, step, type_, b.mask, *_content(turn, found)
        known = None if key is None else b.remembered(key)
        if known is None:
            b.blocks.insert(begun, turn)
            before.end = ("br", (turn,))
            if target is None:
                wide = is_wide(found) and step == 1
                target = b.allocate(type_, count, "interleaved" if wide else "common")
            _write(b, type_, target, b.integer("add", "i64", i, start, operator.add), found, step)
            after = b.new_block()
            if number is not None:
                _go_on(b, number, step, last, before, turn, after)
                b.block.removable = alone
            else:
                b.jump(after)
    if known is not None:
        b.block = before
        return known
    b.begin(after)
    assert target is not None
    place = Buffer(target.base, False, target.interleaved, b.mask)
    return place if key is None else b.remember(key, place)


def _go_on(b: Builder, i: Value, step: int, last: int, before: Block, turn: Block, after: Block):
    """Emit the end of an iteration; the last iteration is full, too."""
    going = b.shared("i1", "icmp slt", i, last, of="i64")
    following: Operand = b.shared("i64", "add", i, step)
    if last % step:
        beyond = b.shared("i1", "icmp sgt", following, last, of="i64")
        following = b.select("i64", beyond, last, following)
    b.incoming(i, (0, before), (following, b.block))
    b.branch(going, turn, after)


def _content(block: Block, found: Operand) -> tuple:
    """The computation of a block independent of the numbers of its values."""
    numbers = {x: k for k, x in enumerate(block.instructions)}
    name = lambda x: numbers.get(x, x) if type(x) is Value else repr(x)
    lines = [(x.operation, x.type, *map(name, x.operands)) for x in block.instructions]
    return (*lines, name(found))


def _write(b: Builder, type_: str, target: Buffer, i: Operand, value: Operand, step: int) -> None:
    if step == 1:
        b.store(type_, target, i, value)
        return
    b.store_span(type_, target, i, value)
    b.changed(target)


def source(b: Builder, type_: str, values: Sequence[Any], step: int) -> Source:
    """Make the reader of an operand: one number for all elements, or one for each, gathered if
    needed.
    """
    first = values[0]
    if all(x is first for x in values):
        return Source(lambda i: first)
    if type(first) is not Value:
        return Source(_reader(b, type_, b.literal(type_, values), 0, step))
    places = _places(b, values)
    if len(places) < len(values):
        store(b, type_, [x for x in values if origin(b, x) is None])
        places = _places(b, values)
    buffers = dict.fromkeys(buffer for buffer, _ in places)
    steady = not any(x.mutable for x in buffers)
    if len(buffers) > 1:
        begins = [_begin(b, buffer, type_) for buffer in buffers]
        if step > 1 and None not in begins:
            begin = dict(zip(buffers, begins, strict=True))
            index = [(begin[buffer] or 0) + k for buffer, k in places]
            work = Buffer(b.pointers[2], False)
            read = _picker(b, type_, work, index, step, [x.base for x in buffers])
            return Source(read, steady)
        merge(b, type_, values)
        places = _places(b, values)
    buffer, start = places[0]
    index = [k for _, k in places]
    if index == list(range(start, start + len(index))):
        return Source(_reader(b, type_, buffer, start, step), steady)
    return Source(_picker(b, type_, buffer, index, step), steady)


def origin(b: Builder, x: Value) -> tuple[Buffer, int] | None:
    """Return the buffer and index where a value is stored now."""
    return b.remembered(("origin", x)) or b.origin(x)


def _places(b: Builder, values: Sequence[Value]) -> list[tuple[Buffer, int]]:
    """Buffers and indices of the values that are stored in memory."""
    return [at for x in values if (at := origin(b, x)) is not None]


def store(b: Builder, type_: str, values: Sequence[Value]) -> None:
    """Spill values contiguously to memory, which becomes their origin."""
    stored(b, type_, list(dict.fromkeys(values)), any(map(is_wide, values)))


def stored(b: Builder, type_: str, values: Sequence[Value], wide: bool) -> Buffer:
    """Spill values to memory as soon as each is computed; the buffer becomes their origin."""
    given = [b.widened(x) for x in values] if wide else values
    buffer = Buffer(b.pack(type_, given, wide), False, wide, b.mask)
    _place(b, values, buffer)
    return buffer


def merge(b: Builder, type_: str, values: Sequence[Value]) -> None:
    """Copy values from several buffers into one, which becomes their origin."""
    by_buffer: dict[Buffer, dict[Value, None]] = {}
    for x, (buffer, _) in zip(values, _places(b, values), strict=True):
        by_buffer.setdefault(buffer, {})[x] = None
    count, wide = sum(map(len, by_buffer.values())), any(map(is_wide, values))
    target, start = b.allocate(type_, count, "interleaved" if wide else "common"), 0
    for own in by_buffer.values():
        if len(own) < SIDE_BY_SIDE:
            for k, x in enumerate(own):
                b.store(type_, target, start + k, x)
        else:
            step = step_of(b, len(own))
            looped(b, type_, len(own), step, source(b, type_, list(own), step).read, target, start)
        start += len(own)
    _place(b, chain(*by_buffer.values()), Buffer(target.base, False, target.interleaved, b.mask))


def _place(b: Builder, values: Iterable[Value], buffer: Buffer) -> None:
    """Record that values are stored in a buffer from its beginning on."""
    for k, x in enumerate(values):
        b.remember(("origin", x), (buffer, k))


def _begin(b: Builder, buffer: Buffer, type_: str) -> int | None:
    """Index at which a buffer begins in the workspace [elements], or None if it is elsewhere."""
    base, place = buffer.base, 0
    while base is not b.pointers[2]:
        if base.operation == "getelementptr i8" and type(base.operands[1]) is int:
            place += base.operands[1]
        elif not base.operation.startswith(("pack ", "enter ")):
            return None
        base = base.operands[0]
    return place // SIZES[type_] if place % SIZES[type_] == 0 else None


def _reader(b: Builder, type_: str, buffer: Buffer, start: Operand, step: int) -> Read:
    """A reader of contiguous elements."""

    def read(i: Operand) -> Operand:
        place = b.integer("add", "i64", i, start, operator.add)
        return b.load(type_, buffer, place) if step == 1 else b.load_span(type_, buffer, place)

    return read


def _picker(
    b: Builder, type_: str, buffer: Buffer, index: list[int], step: int, of: Sequence[Value] = ()
) -> Read:
    """A reader of elements at listed indices.

    Args:
        of: pointers to their arrays, if the buffer is the whole workspace.
    """
    places = _reader(b, "i64", b.literal("i64", index), 0, step)

    def read(i: Operand) -> Operand:
        place = places(i)
        return b.load(type_, buffer, place) if step == 1 else b.gather(type_, buffer, place, of)

    return read


def copied(b: Builder, type_: str, buffer: Buffer, start: Operand, count: int) -> list:
    """Copy contiguous elements of mutable memory, with their present content."""
    step, differ = step_of(b, count), buffer.interleaved or buffer.base.wide
    target = b.allocate(type_, count, "interleaved" if differ else "common")
    read = _reader(b, type_, buffer, start, step)
    return b.elements(type_, looped(b, type_, count, step, read, target), count)


def written(
    b: Builder, type_: str, target: Buffer, start: Operand, values: Sequence[Operand]
) -> Iterator[int]:
    """Write values contiguously, long runs that are in memory by loops.

    Yields the numbers of the values that the caller must write.
    """
    places = [origin(b, x) if type(x) is Value else None for x in values]
    # Values in the target itself must all be read before the first is written.
    by_loop = [at is not None and at[0].base is not target.base for at in places]
    first = 0
    for is_placed, run in groupby(by_loop):
        last = first + len(list(run))
        if is_placed and last - first >= LEAST_ALIKE:
            step = step_of(b, last - first)
            read = source(b, type_, values[first:last], step).read
            at = b.integer("add", "i64", start, first, operator.add)
            looped(b, type_, last - first, step, read, target, at)
        else:
            yield from range(first, last)
        first = last


def side_by_side(b: Builder, values: Sequence[Operand]) -> tuple[Buffer, int] | None:
    """Return buffer and first index of values that are contiguous in memory, or None."""
    places = [origin(b, x) if type(x) is Value else None for x in values]
    if places[0] is None:
        return None
    buffer, start = places[0]
    return places[0] if places == [(buffer, start + k) for k in range(len(places))] else None
