"""Basic blocks of instructions; common subexpressions are eliminated within nested scopes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from zwang.native.arithmetic import Arithmetic
from zwang.native.instructions import Block, Operand, Value
from zwang.native.types import constant_text

T = TypeVar("T")


class Blocks(Arithmetic):
    """The instructions of a function, block by block (`Builder`).

    Attributes:
        lanes: number of SIMD lanes; each lane computes the function for one batch member.
        mask: the active lanes; None if all of them are.
        spans: whether a wide register may hold adjacent array elements instead of batch members.
        block: the current block, which instructions are appended to; `entry` is the first one.
        count: number of values and blocks, used as their names.
        repeated: values of unrolled elements after the first, which a rolled loop would not count.
    """

    spans: bool

    def __init__(self, fused: bool, lanes: int):
        self.fused, self.lanes = fused, lanes
        self.mask: Value | None = None
        self.blocks: list[Block] = []
        self.count = 0
        self._turns = 0
        self.repeated: set[Value] = set()
        self._repeats = False
        self._known: dict[Hashable, Any] = {}
        # For each open scope, the keys it has added or changed, with their earlier values.
        self._before: list[list[tuple[Hashable, Any]]] = []
        self.block = self.new_block()
        self.entry = self.block

    def new_block(self) -> Block:
        """Create a block, which is not yet part of the function."""
        self.count += 1
        block = Block(f"b{self.count}")
        if not self.blocks:
            self.blocks.append(block)
        return block

    def begin(self, block: Block) -> None:
        """Append a block to the function and make it the current one."""
        if block not in self.blocks[:1]:
            self.blocks.append(block)
        self.block = block

    def jump(self, target: Block) -> None:
        self.block.end = ("br", (target,))

    def branch(self, condition: Operand, yes: Block, no: Block) -> None:
        self.block.end = ("br", (condition, yes, no))

    @contextmanager
    def masked(self, mask: Any) -> Iterator[None]:
        """Restrict a region to the lanes of a mask (`active`)."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    def active(self, condition: Operand) -> Operand:
        """Return the active lanes for which a wide condition holds."""
        return condition if self.mask is None else self.logic("and", self.mask, condition)

    def any(self, condition: Operand) -> Operand:
        """Reduce a condition over lanes by "or", as a branch needs it."""
        if not is_wide(condition):
            return condition
        return self._new("i1", "any", (condition,), wide=False)

    @contextmanager
    def scope(self, *, repeated: bool = False) -> Iterator[None]:
        """Open a scope: a branch, or the body of a loop (`repeated`).

        Values emitted inside do not dominate the code that follows and are forgotten afterwards.
        """
        self._turns += repeated
        self._before.append([])
        try:
            yield
        finally:
            for key, value in reversed(self._before.pop()):
                if value is None:
                    del self._known[key]
                else:
                    self._known[key] = value

    @contextmanager
    def repeating(self, now: bool) -> Iterator[None]:
        """Record the values of a region in `repeated`."""
        before, self._repeats = self._repeats, now or self._repeats
        try:
            yield
        finally:
            self._repeats = before

    @contextmanager
    def spanned(self, count: int) -> Iterator[None]:
        """Open a region in which a wide register holds `count` adjacent elements.

        A count of one changes nothing.
        """
        before, self.lanes = self.lanes, count if count > 1 else self.lanes
        try:
            yield
        finally:
            self.lanes = before

    @contextmanager
    def apart(self, block: Block) -> Iterator[None]:
        """Emit the instructions of a region into a scratch block outside the function."""
        before, count, self.block = self.block, len(self.blocks), block
        with self.scope():
            yield
        self.block = before
        del self.blocks[count:]

    def remembered(self, key: Hashable) -> Any:
        """Return the value recorded for a key in the open scopes, or None."""
        return self._known.get(key)

    def remember(self, key: Hashable, value: T) -> T:
        if self._before:
            self._before[-1].append((key, self._known.get(key)))
        self._known[key] = value
        return value

    # instructions

    def emit(self, type_: str, operation: str, *operands: Any) -> Value:
        """Emit an instruction with side effects, or a load of mutable memory; it is not shared."""
        wide = self.lanes > 1 and any(map(is_wide, operands))
        if wide and not operation.startswith("getelementptr"):  # accepts mixed operands
            known = operation == "select"  # accepts a scalar condition
            operands = (*operands[:known], *map(self.widened, operands[known:]))
        return self._new(type_, operation, operands, wide)

    def _new(
        self, type_: str, operation: str, operands: tuple, wide: bool, block: Block | None = None
    ) -> Value:
        self.count += 1
        value = Value(self.count, type_, operation, operands, wide)
        (self.block if block is None else block).instructions.append(value)
        if self._repeats:
            self.repeated.add(value)
        return value

    def widened(self, x: Operand) -> Operand:
        """Broadcast a value to all lanes; a constant becomes a vector constant."""
        if type(x) is not Value or x.wide:
            return x
        key = ("widened", x)
        found = self.remembered(key)
        return found or self.remember(key, self._new(x.type, "splat", (x,), wide=True))

    def shared(
        self, type_: str, operation: str, *operands: Operand | str, of: str | None = None
    ) -> Value:
        """Return an instruction without side effects; an equal one in scope is reused.

        Args:
            of: type of constants among the operands; by default the result's.
        """
        of = type_ if of is None else of
        known = [x if type(x) is Value else self._text(of, x) for x in operands]
        key = operation, type_, *known
        if (found := self._known.get(key)) is not None:
            return found
        if self.lanes == 1:  # The fast path of most instructions.
            found = self._new(type_, operation, operands, False)
        else:
            found = self.emit(type_, operation, *operands)
        return self.remember(key, found)

    @staticmethod
    def _text(type_: str, x: float | str) -> str:
        return x if isinstance(x, str) else constant_text(type_, x)


def is_wide(x: object) -> bool:
    """Return whether an operand is a value with one number for each lane."""
    return type(x) is Value and x.wide
