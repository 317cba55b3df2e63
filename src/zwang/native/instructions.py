"""Instructions, basic blocks and memory buffers of a function under construction."""

from __future__ import annotations

import dataclasses
from typing import final

ALIGNMENT = 64
"""Alignment of each workspace array [bytes]: one cache line."""
SHARED = "zwang."
"""Name prefix of traced functions that several programs of a model share."""
WRITTEN_OUT = "written out: "
"""Name prefix of inner programs that are emitted without loop rolling
(`zwang.compile.hints.written_out`).
"""
LEAST_ALIKE = 64
"""Least number of equal computations that are rolled into a loop; fewer are unrolled, unless
`zwang.native.walk.written_out` says otherwise.
"""


@final
class Value:
    """The result of one instruction.

    Attributes:
        type: of its register.
        operation: LLVM's name, followed by types or predicates that are not operands.
        operands: values, constants, and strings for everything that is not an operand.
        wide: whether each SIMD lane has its own number; otherwise all lanes share one.
    """

    __slots__ = ("index", "operands", "operation", "type", "wide")

    def __init__(self, index: int, type_: str, operation: str, operands: tuple, wide: bool = False):
        self.index, self.type, self.operation, self.operands = index, type_, operation, operands
        self.wide = wide

    @property
    def name(self) -> str:
        """The name in LLVM IR; arguments and constant arrays have their own names."""
        return f"%x{self.index}" if self.operation != "named" else self.operands[0]

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"


Operand = Value | float
"""A value, or a constant: a number or a truth value."""


@dataclasses.dataclass(eq=False)
class Block:
    """A basic block: its instructions in order, and its terminator.

    Attributes:
        left_from: label of its last part, if its LLVM IR is split into several parts.
        removable: whether it is a loop in one block, which is dead if nothing reads what it
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
        interleaved: whether the lanes of each element are adjacent.
        mask: lanes that were active when it was allocated.
        version: incremented by each write, so that no load is shared across a write.
        live: number of variables of the traced program that it holds and that are still used.
    """

    base: Value
    mutable: bool
    interleaved: bool = False
    mask: Value | None = None
    version: int = 0
    live: int = 0
