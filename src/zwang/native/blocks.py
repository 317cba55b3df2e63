"""Blocks of instructions, of which equal ones are shared within the scope that knows them."""

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
        lanes: how many members the function is computed for at once.
        mask: lanes that the instructions are meant for; all of them where it is None.
        spans: whether a register may hold elements side by side instead of members.
        block: that instructions are added to; `entry` is the first one.
        count: of values and blocks, which are named by it.
        repeated: values that a loop would compute in its later turns.
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
        # of each scope that is open what its keys were known for before
        self._before: list[list[tuple[Hashable, Any]]] = []
        self.block = self.new_block()
        self.entry = self.block

    def new_block(self) -> Block:
        """A block, which is not yet a part of the function."""
        self.count += 1
        block = Block(f"b{self.count}")
        if not self.blocks:
            self.blocks.append(block)
        return block

    def begin(self, block: Block) -> None:
        """Go on in a block."""
        if block not in self.blocks[:1]:
            self.blocks.append(block)
        self.block = block

    def jump(self, target: Block) -> None:
        self.block.end = ("br", (target,))

    def branch(self, condition: Operand, yes: Block, no: Block) -> None:
        self.block.end = ("br", (condition, yes, no))

    @contextmanager
    def masked(self, mask: Any) -> Iterator[None]:
        """A region that is meant for some lanes alone (`active`)."""
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    def active(self, condition: Operand) -> Operand:
        """The lanes, of those that are active here, for which a condition holds that is wide."""
        return condition if self.mask is None else self.logic("and", self.mask, condition)

    def any(self, condition: Operand) -> Operand:
        """Whether a condition holds in any lane, as what a branch depends on."""
        if not is_wide(condition):
            return condition
        return self._new("i1", "any", (condition,), wide=False)

    @contextmanager
    def scope(self, *, repeated: bool = False) -> Iterator[None]:
        """A region whose values are unknown after it: one way of a branch, or the body of a loop,
        which is `repeated`.
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
        """A region whose instructions are `repeated` ones."""
        before, self._repeats = self._repeats, now or self._repeats
        try:
            yield
        finally:
            self._repeats = before

    @contextmanager
    def spanned(self, count: int) -> Iterator[None]:
        """A region in which a wide register holds `count` elements side by side, if that is
        more than one.
        """
        before, self.lanes = self.lanes, count if count > 1 else self.lanes
        try:
            yield
        finally:
            self.lanes = before

    @contextmanager
    def apart(self, block: Block) -> Iterator[None]:
        """A region whose instructions do not become a part of the function."""
        before, count, self.block = self.block, len(self.blocks), block
        with self.scope():
            yield
        self.block = before
        del self.blocks[count:]

    def remembered(self, key: Hashable) -> Any:
        """What is known under a key here, or None."""
        return self._known.get(key)

    def remember(self, key: Hashable, value: T) -> T:
        if self._before:
            self._before[-1].append((key, self._known.get(key)))
        self._known[key] = value
        return value

    # instructions

    def emit(self, type_: str, operation: str, *operands: Any) -> Value:
        """An instruction that is not shared: it writes, or reads what may change."""
        wide = self.lanes > 1 and any(map(is_wide, operands))
        if wide and not operation.startswith("getelementptr"):  # which takes both
            known = operation == "select"  # so does a choice, as to what it depends on
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
        """A value with a number for each lane; constants are written as that."""
        if type(x) is not Value or x.wide:
            return x
        key = ("widened", x)
        found = self.remembered(key)
        return found or self.remember(key, self._new(x.type, "splat", (x,), wide=True))

    def shared(
        self, type_: str, operation: str, *operands: Operand | str, of: str | None = None
    ) -> Value:
        """An instruction whose result depends on its operands alone; an equal one is not repeated.

        Args:
            of: type of constants among the operands; by default the result's.
        """
        of = type_ if of is None else of
        known = [x if type(x) is Value else self._text(of, x) for x in operands]
        key = operation, type_, *known
        if (found := self._known.get(key)) is not None:
            return found
        if self.lanes == 1:  # most of what is emitted, at once
            found = self._new(type_, operation, operands, False)
        else:
            found = self.emit(type_, operation, *operands)
        return self.remember(key, found)

    @staticmethod
    def _text(type_: str, x: float | str) -> str:
        return x if isinstance(x, str) else constant_text(type_, x)


def is_wide(x: object) -> bool:
    """Whether a value has a number for each lane."""
    return type(x) is Value and x.wide
