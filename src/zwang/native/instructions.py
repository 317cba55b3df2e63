"""Instructions, basic blocks and memory of a function that is being written."""

from __future__ import annotations

import dataclasses
from typing import final

ALIGNMENT = 64
"""Bytes at which each array of the workspace begins: a line of the cache."""
SHARED = "zwang."
"""Beginning of the names of traced functions that programs of a model share."""
WRITTEN_OUT = "written out: "
"""The beginning of the names of inner programs that are written without loops over their elements
(`zwang.compile.hints.written_out`)."""
LEAST_ALIKE = 64
"""Elements that are computed alike by a loop; fewer are written out, but where something else is
said (`zwang.native.walk.written_out`).
"""


@final
class Value:
    """The result of one instruction.

    Attributes:
        type: of its register.
        operation: its name in LLVM, followed by types or predicates that are no operands.
        operands: values, constants, and (for what is no operand) strings.
        wide: whether it has a number for each lane; otherwise it is one for all of them.
    """

    __slots__ = ("index", "operands", "operation", "type", "wide")

    def __init__(self, index: int, type_: str, operation: str, operands: tuple, wide: bool = False):
        self.index, self.type, self.operation, self.operands = index, type_, operation, operands
        self.wide = wide

    @property
    def name(self) -> str:
        """As LLVM's language has it; an argument and a constant array give their own."""
        return f"%x{self.index}" if self.operation != "named" else self.operands[0]

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"


Operand = Value | float
"""A value, or a constant: a number or a truth value."""


@dataclasses.dataclass(eq=False)
class Block:
    """A basic block: its instructions in order, and how it ends.

    Attributes:
        left_from: label of its last part, where its text is cut into several.
        removable: whether it is a loop by itself, which is left out where nothing reads what it
            writes.
    """

    label: str
    instructions: list[Value] = dataclasses.field(default_factory=list)
    end: tuple[str, tuple] | None = None
    left_from: str = ""
    removable: bool = False


@dataclasses.dataclass(eq=False)
class Buffer:
    """A contiguous piece of memory, or one for each lane if `base` is wide.

    Attributes:
        base: pointer to it, a value of type ptr.
        mutable: whether instructions may write to it.
        interleaved: whether each element stands there once for each lane, side by side.
        mask: lanes that were active when it was allocated.
        version: changes with each write, so that no load is shared across one.
        live: number of variables of the traced program that it holds and that are still used.
    """

    base: Value
    mutable: bool
    interleaved: bool = False
    mask: Value | None = None
    version: int = 0
    live: int = 0
