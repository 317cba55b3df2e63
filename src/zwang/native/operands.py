"""Operands of a subroutine: the part that specializes it, and the part passed by pointers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import DTypeLike

from zwang.native.arrays import Memory
from zwang.native.builder import Buffer, Value
from zwang.native.rolled import side_by_side, stored
from zwang.native.types import register_type, stored_type
from zwang.native.walk import Call


@dataclasses.dataclass(eq=False)
class Group:
    """Data that the callee reads through one pointer: elements of an operand, or its memory.

    Attributes:
        values: the elements in order.
        wide: whether each lane has its own elements, or its own pointer to memory.
        memory: the operand, if it is in memory.
        pointer: to that memory.
    """

    type: str
    values: list[Value]
    wide: bool
    memory: Memory | None = None
    pointer: Value | None = None


class Operands:
    """The operands of a call.

    Attributes:
        key: everything about them that the callee is specialized to.
        groups: data passed by pointers.
        values: all distinct values among them, by number.
    """

    def __init__(self, call: Call):
        self._b = call.builder
        self.groups: list[Group] = []
        self._numbers: dict[Value, int] = {}
        self._buffers: dict[Buffer, int] = {}
        given = zip(call.inputs, call.dtypes, strict=True)
        self.key = tuple(
            self._memory(x) if isinstance(x, Memory) else self._scalars(x, dtype)
            for x, dtype in given
        )
        self.values = list(self._numbers)

    def _scalars(self, x: np.ndarray, dtype: DTypeLike) -> tuple:
        elements, order, numbers = [], [], self._numbers
        new: tuple[list[Value], list[Value]] = [], []
        for element in x.reshape(-1).tolist():
            if type(element) is not Value:
                elements.append(constant_key(element))
                continue
            value, negative = unsigned(element)
            if (number := numbers.get(value)) is None:
                numbers[value] = number = len(numbers)
                new[value.wide].append(value)
                order.append(value.wide)
            elements.append((number, negative))
        type_ = register_type(dtype)
        self.groups += [Group(type_, group, bool(k)) for k, group in enumerate(new) if group]
        return np.dtype(dtype).str, x.shape, tuple(elements), tuple(order)

    def _memory(self, x: Memory) -> tuple:
        buffer, offset, pointer = x.buffer, x.offset, x.buffer.base
        number = len(self.groups)
        if type(offset) is Value:  # a view with a variable offset gets a pointer of its own
            pointer, offset = self._b.address(stored_type(x.type), buffer, offset), 0
        else:
            number = self._buffers.setdefault(buffer, number)
        if number == len(self.groups):
            self.groups.append(Group(x.type, [], pointer.wide, x, pointer))
        layout = buffer.interleaved, pointer.wide
        return "memory", number, x.dtype.str, x.shape, x.strides, offset, *layout

    def pointer(self, group: Group) -> Value:
        """Return the pointer to a group, where it is in memory already or is spilled now."""
        b, values = self._b, group.values
        if group.pointer is not None:
            return group.pointer
        if (place := side_by_side(b, values)) is not None and place[0].interleaved == group.wide:
            return b.address(stored_type(group.type), *place)
        return stored(b, group.type, values, group.wide).base


def constant_key(x: float) -> float | str:
    """Key of a constant: −0 differs from 0, and NaN equals NaN."""
    if x > 0 or x < 0:
        return x
    return "NaN" if x != x else "-0" if math.copysign(1.0, x) < 0 else "0"


def unsigned(x: Value) -> tuple[Value, bool]:
    """Split a value into a value without negation and whether it was negated."""
    return (x.operands[0], True) if x.operation == "fneg" else (x, False)
