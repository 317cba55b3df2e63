"""Inner programs emitted once as subroutines and called from every place that uses them.

A subroutine is specialized to a traced program and to the structure of its operands: which elements
are constants, which are equal to or the negatives of others, and which differ between lanes.
Structural zeros are therefore eliminated in it as in inlined code, and constants among its results
are constants of its callers. Other operands are passed by pointers, to where another subroutine has
stored them or to where the caller spills them.

The frame of a callee, including its results, is a part of its caller's workspace, one for each call
site. The callee returns the pointer to its frame, so a load of a result depends on the call, and a
call with unused results is dead code.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr
from numpy.typing import DTypeLike

from zwang.native.arrays import MOST_UNROLLED, Memory, Scalars, fill, new_memory, scalars
from zwang.native.blocks import is_wide
from zwang.native.builder import Buffer, Builder, Value
from zwang.native.instructions import SHARED, Operand
from zwang.native.module import Function
from zwang.native.operands import Operands, unsigned
from zwang.native.rolled import origin
from zwang.native.text import function_text, used
from zwang.native.types import FLOATS, register_type
from zwang.native.walk import Call, emit_jaxpr, operations
from zwang.objects.recent import Recent

LEAST = 300
"""Least number of floating-point operations of a subroutine; a shorter program is inlined. A call
spills operands and loads results, and expressions common to caller and callee are computed twice.
"""
NUMBERED = "zwang_s"
"""Prefix of the names of subroutines; a number and the name of the traced program follow."""
MOST_KNOWN = 64
"""Inner programs known to later programs of this process, each with its IR and object code."""
ARITHMETIC = ("fadd", "fsub", "fmul", "fdiv", "call ")
"""Prefixes of the counted operations, whose number does not depend on the number of lanes."""


class Block(NamedTuple):
    """Elements of a result, contiguous in the callee's frame.

    Attributes:
        place: offset of the first [bytes].
        wide: whether each lane has its own.
    """

    type: str
    place: int
    wide: bool


class Element(NamedTuple):
    """An element of a result that is not a constant.

    Attributes:
        block: that holds it, or None for a value among the operands.
        index: within the block, or the number of the value.
        negative: whether the element is the negative of that.
    """

    block: int | None
    index: int
    negative: bool


class View(NamedTuple):
    """A result in memory.

    Attributes:
        place: offset of its buffer in the callee's frame, a constant of LLVM; None for the buffer
            of an operand.
        group: number of that operand's group, or of the buffer.
        wide, interleaved, mutable: of the buffer (`zwang.native.instructions.Buffer`).
    """

    place: int | None
    group: int
    wide: bool
    interleaved: bool
    mutable: bool
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclasses.dataclass(eq=False)
class Subroutine:
    """A traced program as a function that others call.

    Attributes:
        function: its IR.
        groups: numbers of the operand groups that it reads.
        blocks, results: locations of its results; None for a result that is not needed.
        workspace: bytes of its frame.
    """

    function: Function
    groups: list[int]
    blocks: list[Block]
    results: list
    workspace: int


def results_of(call: Call, program: ClosedJaxpr) -> list | None:
    """Return the results of an inner program by calling its subroutine.

    Returns None if it has no subroutine: several programs do not share it, or it is short.
    """
    b = call.builder
    if not b.name or not call.params["name"].startswith(SHARED) or _moves_apart(call):
        return None
    if operations(program.jaxpr) < LEAST:
        return None
    # A scalar result costs little, and one subroutine then serves more callers.
    needed = [x or not y.shape for x, y in zip(call.needed, call.outputs, strict=True)]
    inputs = [_loaded(b, x) for x in call.inputs]
    call = dataclasses.replace(call, inputs=inputs, needed=needed)
    operands = Operands(call)
    made_from = program if program.consts else program.jaxpr
    key = id(made_from), operands.key, b.lanes, b.fused, b.mask is not None, b.make
    known = _known.get(key) or _Known(made_from, [])
    fitting = [callee for needed, callee in known.variants if _covers(needed, call.needed)]
    if not fitting:
        fitting = [_emitted(call, program, operands)]
        variants = [*known.variants, (call.needed, fitting[0])]
        _known.put(key, _Known(made_from, variants))
    return None if fitting[0] is None else _called(call, fitting[0], operands)


def _loaded(b: Builder, x: Scalars | Memory) -> Scalars | Memory:
    """Load an operand that is contiguous in memory as scalars, as other programs pass it.

    The same pointer is passed in the end, and one subroutine serves all callers.
    """
    if not isinstance(x, Memory) or x.size > MOST_UNROLLED or type(x.offset) is Value:
        return x
    return scalars(b, x) if x.is_contiguous else x


class _Known(NamedTuple):
    """Subroutines of a program for some operands.

    Attributes:
        program: kept alive with this entry, which is keyed by its identity.
        variants: subroutine by needed results; None if the program is short.
    """

    program: ClosedJaxpr | Jaxpr
    variants: list[tuple[list[bool], Subroutine | None]]


def _covers(these: list[bool], needed: list[bool]) -> bool:
    return all(x or not y for x, y in zip(these, needed, strict=True))


_known: Recent[_Known] = Recent(MOST_KNOWN)
_numbers = itertools.count(1)


def _moves_apart(call: Call) -> bool:
    """Return whether an operand is a view with a different offset in each lane."""
    return any(isinstance(x, Memory) and is_wide(x.offset) for x in call.inputs)


def _emitted(call: Call, program: ClosedJaxpr, operands: Operands) -> Subroutine | None:
    """Return the subroutine of a program for such operands, or None if the program is short."""
    outer, traced = call.builder, call.params["name"].removeprefix(SHARED)
    letters = re.sub(r"[^a-zA-Z0-9]+", "_", traced).strip("_")
    name = f"{NUMBERED}{next(_numbers)}_{letters}"
    b = Builder(outer.fused, outer.lanes, name, outer.make)
    if outer.mask is not None:
        b.mask = Value(0, "i1", "named", ("%mask",), True)
    local, given = _inside(b, call, operands)
    found = emit_jaxpr(b, program.jaxpr, program.consts, given, call.needed)
    blocks, results = _left(b, call, found, [local[x] for x in operands.values])
    # The caller reads results in the callee's own frame, so their stores are needed.
    own = {x.place for x in (*blocks, *results) if isinstance(x, (Block, View))}
    left = [x for x, (_, count) in b.buffers.items() if count and x.operands[1] in own]
    kept = used(b, left)
    counted = kept - b.repeated
    if sum(x.type in FLOATS and x.operation.startswith(ARITHMETIC) for x in counted) < LEAST:
        return None
    read = {x.operands[0] for x in kept if x.operation == "named"}
    groups = [k for k in range(len(operands.groups)) if f"%g{k}" in read]
    wide = lambda k: operands.groups[k].memory is not None and operands.groups[k].wide
    pointers = {f"%g{k}": wide(k) for k in groups}
    function = (b.make or _in_llvm)(b, pointers, kept, left)
    return Subroutine(function, groups, blocks, results, b.workspace)


class Routine(NamedTuple):
    """A subroutine to be printed in another language than LLVM IR.

    Attributes:
        pointers: names of its pointer parameters after the one to its frame.
        needed: values to be computed.
        left: the arrays of its frame that callers read.
    """

    builder: Builder
    pointers: tuple[str, ...]
    needed: set[Value]
    left: tuple[Value, ...]

    @property
    def name(self) -> str:
        return self.builder.name


def routine(
    b: Builder, pointers: Iterable[str], needed: set[Value], left: Iterable[Value]
) -> Routine:
    """Make a subroutine, to be printed at its first call."""
    return Routine(b, tuple(pointers), needed, tuple(left))


def _in_llvm(
    b: Builder, pointers: dict[str, bool], kept: set[Value], left: Iterable[Value]
) -> Function:
    """Make a subroutine in LLVM IR.

    Args:
        pointers: its pointer parameters, and whether each lane has its own.
    """
    lanes = f"<{b.lanes} x"
    mask = [f"{lanes} i1> %mask"] if b.mask is not None else []
    each = [
        f"{lanes} ptr> {name}" if wide else f"ptr noalias readonly {name}"
        for name, wide in pointers.items()
    ]
    parameters = ", ".join(["ptr noalias returned %work", *mask, *each])
    function = function_text(b, f"ptr @{b.name}({parameters})", "ret ptr %work", kept)
    b.forget()
    if b.lanes == 1:  # Code for several lanes is compiled as a whole, in another process.
        function.begin()
    return function


def _inside(b: Builder, call: Call, operands: Operands) -> tuple[dict[Value, Value], list]:
    """Map the operands' values to the callee's loads; returns the map and the callee's arrays."""
    local: dict[Value, Value] = {}
    buffers = []
    for k, group in enumerate(operands.groups):
        memory = group.memory
        pointer = Value(0, "ptr", "named", (f"%g{k}",), memory is not None and group.wide)
        interleaved = group.wide if memory is None else memory.buffer.interleaved
        buffers.append(buffer := Buffer(pointer, False, interleaved))
        local |= {x: b.load(group.type, buffer, i) for i, x in enumerate(group.values)}
    given: list = []
    for x, key, dtype in zip(call.inputs, operands.key, call.dtypes, strict=True):
        if isinstance(x, Memory):
            _, number, _, _, _, offset, *_ = key
            given.append(dataclasses.replace(x, buffer=buffers[number], offset=offset))
            continue
        array = np.empty(x.shape, object)
        array.reshape(-1)[:] = [_inner(b, dtype, local, y) for y in x.reshape(-1).tolist()]
        given.append(array)
    return local, given


def _inner(b: Builder, dtype: DTypeLike, local: dict[Value, Value], x: Operand) -> Operand:
    if type(x) is not Value:
        return x
    value, negative = unsigned(x)
    return b.negative(register_type(dtype), local[value]) if negative else local[value]


def _left(b: Builder, call: Call, found: list, given: list[Value]) -> tuple[list, list]:
    """Store the results of the callee and record their locations.

    Args:
        given: the values among the operands.
    """
    blocks: list[Block] = []
    places = {x: (None, k) for k, x in enumerate(given)}
    results: list = []
    for x, like, needed in zip(found, call.outputs, call.needed, strict=True):
        if not needed:
            results.append(None)
        elif isinstance(x, Memory):
            results.append(_view(b, x))
        else:
            flat, type_ = x.reshape(-1).tolist(), register_type(like.dtype)
            _note_own(b, type_, flat, blocks, places)
            for wide in (False, True):
                of_all = (unsigned(y)[0] for y in flat if type(y) is Value)
                new = dict.fromkeys(y for y in of_all if y.wide == wide and y not in places)
                if new:
                    buffer = b.allocate(type_, len(new), "interleaved" if wide else "common")
                    b.leave(type_, buffer, list(new), wide)
                    places |= {y: (len(blocks), k) for k, y in enumerate(new)}
                    blocks.append(Block(type_, buffer.base.operands[1], wide))
            results.append(
                [y if type(y) is not Value else _placed(places, *unsigned(y)) for y in flat]
            )
    return blocks, results


def _note_own(b: Builder, type_: str, flat: list, blocks: list[Block], places: dict) -> None:
    """Record which elements are already stored in the callee's frame."""
    numbers: dict[Buffer, int] = {}
    for x in flat:
        value = unsigned(x)[0] if type(x) is Value else None
        if value is None or value in places or (at := origin(b, value)) is None:
            continue
        (buffer, k), base = at, at[0].base
        if buffer.mutable or base.operation != "getelementptr i8":
            continue
        if base.operands[0] is not b.pointers[2] or type(base.operands[1]) is not int:
            continue
        if buffer not in numbers:
            numbers[buffer] = len(blocks)
            blocks.append(Block(type_, base.operands[1], buffer.interleaved))
        places[value] = numbers[buffer], k


def _placed(places: dict, x: Value, negative: bool) -> Element:
    block, index = places[x]
    return Element(block, index, negative)


def _view(b: Builder, x: Memory) -> View:
    base, buffer = x.buffer.base, x.buffer
    own = base.operation == "getelementptr i8" and base.operands[0] is b.pointers[2]
    given = base.operation == "named" and base.operands[0].startswith("%g")
    if not (own or given) or type(x.offset) is Value:
        copy = new_memory(b, x.dtype, x.shape)
        fill(b, copy, x)
        return _view(b, copy)
    place = base.operands[1] if own else None
    number = base.index if own else int(base.operands[0][2:])
    layout = base.wide, buffer.interleaved, buffer.mutable
    return View(place, number, *layout, x.dtype, x.shape, x.strides, int(x.offset))


def _called(call: Call, callee: Subroutine, operands: Operands) -> list:
    """Results of a call as arrays of the caller."""
    b = call.builder
    pointers = [operands.pointer(operands.groups[k]) for k in callee.groups]
    frame = b.enter(callee.function, callee.workspace, pointers)
    blocks = [Buffer(b.part(frame, x.place), False, x.wide and b.lanes > 1) for x in callee.blocks]
    buffers: dict[int, Buffer] = {}
    found: list = []
    for x, like in zip(callee.results, call.outputs, strict=True):
        if isinstance(x, View):
            found.append(_seen(b, x, frame, buffers, operands))
            continue
        array = np.empty(like.shape, object)
        if x is None:
            array[...] = 0.0
        else:
            type_ = register_type(like.dtype)
            array.reshape(-1)[:] = [_element(b, type_, y, blocks, operands) for y in x]
        found.append(array)
    return found


def _element(
    b: Builder, type_: str, x: Element | Operand, blocks: list[Buffer], operands: Operands
) -> Operand:
    if not isinstance(x, Element):
        return x
    if x.block is None:
        value = operands.values[x.index]
    else:
        value = b.load(type_, blocks[x.block], x.index)
    return b.negative(type_, value) if x.negative else value


def _seen(b: Builder, x: View, frame: Value, buffers: dict, operands: Operands) -> Memory:
    """A result in memory, of the callee's frame or of an operand, as the caller sees it."""
    if x.place is not None:
        buffer = buffers.get(x.group)
        if buffer is None:
            pointer = b.part(frame, x.place, x.wide)
            buffer = buffers[x.group] = Buffer(pointer, x.mutable, x.interleaved, b.mask)
        return Memory(buffer, x.dtype, x.shape, x.strides, x.offset)
    group = operands.groups[x.group]
    assert group.memory is not None and group.pointer is not None
    given = group.memory.buffer
    if group.pointer is given.base:
        return Memory(given, x.dtype, x.shape, x.strides, x.offset)
    # A view with a variable offset is copied before anything is written to the whole array.
    part = Buffer(group.pointer, given.mutable, given.interleaved)
    copy = new_memory(b, x.dtype, x.shape)
    fill(b, copy, Memory(part, x.dtype, x.shape, x.strides, x.offset))
    return copy
