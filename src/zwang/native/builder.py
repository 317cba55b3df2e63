"""Instructions in static single assignment form: constants folded, equal expressions shared.

A value is a `Value`, the result of an instruction, or a constant of Python (float, int, bool).
Arithmetic with constants is folded, so that every zero in the structure of a matrix vanishes by
itself; a sum with a product becomes a fused multiply-add here and nowhere later, so that every
level of optimization and every number of lanes rounds alike.

Deviations from IEEE 754: a product with a constant zero is zero, also of inf and NaN; x + 0 is x,
also of −0; x − x is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from zwang.native.instructions import Block, Buffer, Value
from zwang.native.types import FLOATS, constant_text, rounded, same, stored_type

ALIGNMENT = 64
"""Bytes at which each array of the workspace begins: a line of the cache."""


class Builder:
    """Emits the body of one function, block by block.

    Args:
        fused: whether the processor has fused multiply-adds.

    Attributes:
        calls: declarations of the functions that are called, by name.
        routines: names of those that are called for what they write (`zwang.native.library`).
        workspace: bytes that the function needs beside its arguments and results.
        constants: arrays of constants, as definitions in LLVM's language.
    """

    def __init__(self, fused: bool = True):
        self.fused = fused
        self.calls: dict[str, str] = {}
        self.routines: set[str] = set()
        self.constants: list[str] = []
        self.workspace = 0
        self.blocks: list[Block] = []
        self.count = 0
        self._turns = 0
        self._scopes: list[dict] = [{}]
        self.block = self.new_block()
        self.entry = self.block
        self.pointers = [Value(0, "ptr", "named", (name,)) for name in ("%in", "%out", "%work")]

    # blocks

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

    def branch(self, condition: Any, yes: Block, no: Block) -> None:
        self.block.end = ("br", (condition, yes, no))

    @contextmanager
    def scope(self, *, repeated: bool = False) -> Iterator[None]:
        """A region whose values are unknown after it: one way of a branch, or the body of a loop,
        which is `repeated`.
        """
        self._turns += repeated
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def remembered(self, key: Any) -> Any:
        """What is known under a key here, or None."""
        for scope in reversed(self._scopes):
            if (found := scope.get(key)) is not None:
                return found
        return None

    def remember(self, key: Any, value: Any) -> Any:
        self._scopes[-1][key] = value
        return value

    # instructions

    def emit(self, type_: str, operation: str, *operands: Any) -> Value:
        """An instruction that is not shared: it writes, or reads what may change."""
        self.count += 1
        value = Value(self.count, type_, operation, operands)
        self.block.instructions.append(value)
        return value

    def shared(self, type_: str, operation: str, *operands: Any, of: str | None = None) -> Value:
        """An instruction whose result depends on its operands alone; an equal one is not repeated.

        Args:
            of: type of constants among the operands; by default the result's.
        """
        of = type_ if of is None else of
        key = operation, type_, *(x if type(x) is Value else self._text(of, x) for x in operands)
        for scope in self._scopes:
            if (found := scope.get(key)) is not None:
                return found
        self._scopes[-1][key] = found = self.emit(type_, operation, *operands)
        return found

    @staticmethod
    def _text(type_: str, x: Any) -> str:
        return x if isinstance(x, str) else constant_text(type_, x)

    # arithmetic of floating-point numbers

    def add(self, t: str, a: Any, b: Any) -> Any:
        ca, cb = type(a) is not Value, type(b) is not Value
        if ca and cb:
            return rounded(t, a + b)
        if ca and a == 0:
            return b
        if cb and b == 0:
            return a
        if self.fused and not _both_products(a, b):
            if not cb and b.operation == "fmul":
                return self.multiply_add(t, b.operands[0], b.operands[1], a)
            if not ca and a.operation == "fmul":
                return self.multiply_add(t, a.operands[0], a.operands[1], b)
        if not cb and b.operation == "fneg":
            return self.shared(t, "fsub", a, b.operands[0])
        return self.shared(t, "fadd", *_ordered(a, b))

    def subtract(self, t: str, a: Any, b: Any) -> Any:
        ca, cb = type(a) is not Value, type(b) is not Value
        if ca and cb:
            return rounded(t, a - b)
        if cb and b == 0:
            return a
        if a is b:
            return 0.0
        if ca and a == 0:
            return self.negative(t, b)
        if self.fused and not _both_products(a, b):
            if not cb and b.operation == "fmul":
                x, y = b.operands
                return self.multiply_add(t, self.negative(t, x), y, a)
            if not ca and a.operation == "fmul":
                return self.multiply_add(t, a.operands[0], a.operands[1], self.negative(t, b))
        return self.shared(t, "fsub", a, b)

    def multiply(self, t: str, a: Any, b: Any) -> Any:
        ca, cb = type(a) is not Value, type(b) is not Value
        if ca and cb:
            return rounded(t, a * b)
        if ca:
            a, b, ca, cb = b, a, cb, ca
        if cb:
            if b == 0:
                return 0.0
            if b == 1:
                return a
            if b == -1:
                return self.negative(t, a)
        if a.operation == "fneg" and not cb and b.operation == "fneg":
            return self.multiply(t, a.operands[0], b.operands[0])
        return self.shared(t, "fmul", *_ordered(a, b))

    def multiply_add(self, t: str, a: Any, b: Any, c: Any) -> Any:
        """`a b + c`, rounded once where the processor can."""
        known = type(a) is not Value or type(b) is not Value
        if known or not self.fused or (type(c) is not Value and c == 0):
            product = self.multiply(t, a, b)
            plain = type(product) is not Value or product.operation != "fmul" or not self.fused
            if plain or (type(c) is not Value and c == 0):
                return self.add(t, product, c) if not self.fused or plain else product
            a, b = product.operands
        return self.intrinsic(t, "fma.f64" if t == "double" else "fma.f32", *_ordered(a, b), c)

    def divide(self, t: str, a: Any, b: Any) -> Any:
        ca, cb = type(a) is not Value, type(b) is not Value
        if ca and cb:
            with np.errstate(all="ignore"):
                return rounded(t, float(np.float64(a) / np.float64(b)))
        if ca and a == 0:
            return 0.0
        if cb and b == 1:
            return a
        return self.shared(t, "fdiv", a, b)

    def negative(self, t: str, a: Any) -> Any:
        if type(a) is not Value:
            return -a
        if a.operation == "fneg":
            return a.operands[0]
        return self.shared(t, "fneg", a)

    def total(self, t: str, terms: Sequence[Any]) -> Any:
        """The sum of some terms, added in order."""
        terms = [x for x in terms if type(x) is Value or x != 0]
        found: Any = 0.0
        for x in terms:
            found = self.add(t, found, x)
        return found

    def dot(self, t: str, a: Sequence[Any], b: Sequence[Any]) -> Any:
        """`Σ aᵢ bᵢ`, in two chains where it is long."""
        pairs = [
            (x, y)
            for x, y in zip(a, b, strict=True)
            if (type(x) is Value or x != 0) and (type(y) is Value or y != 0)
        ]
        if len(pairs) > LONG_SUM:
            half = len(pairs) // 2
            return self.add(t, self._chain(t, pairs[:half]), self._chain(t, pairs[half:]))
        return self._chain(t, pairs)

    def _chain(self, t: str, pairs: Sequence[tuple]) -> Any:
        if len(pairs) == 2:  # as written out, and for the same reason not fused
            return self.add(t, *(self.multiply(t, *pair) for pair in pairs))
        found: Any = 0.0
        for x, y in pairs:
            found = self.multiply_add(t, x, y, found)
        return found

    # integers, truth values, choices

    def integer(self, operation: str, t: str, a: Any, b: Any, fold) -> Any:
        """An operation on two integers; `fold` computes it of constants."""
        if type(a) is not Value and type(b) is not Value:
            return fold(a, b)
        if operation == "add" and type(b) is not Value and b == 0:
            return a
        if operation == "add" and type(a) is not Value and a == 0:
            return b
        if operation == "mul":
            for x, y in ((a, b), (b, a)):
                if type(x) is not Value and x == 0:
                    return 0
                if type(x) is not Value and x == 1:
                    return y
        return self.shared(t, operation, a, b)

    def compare(self, predicate: str, t: str, a: Any, b: Any, fold) -> Any:
        if type(a) is not Value and type(b) is not Value:
            return bool(fold(a, b))
        operation = ("fcmp " if t in FLOATS else "icmp ") + predicate
        return self.shared("i1", operation, a, b, of=t)

    def logic(self, operation: str, a: Any, b: Any) -> Any:
        ca, cb = type(a) is not Value, type(b) is not Value
        if ca and cb:
            return {"and": a and b, "or": a or b, "xor": a != b}[operation]
        if ca:
            a, b = b, a
            ca, cb = cb, ca
        if cb and operation == "and":
            return a if b else False
        if cb and operation == "or":
            return True if b else a
        if cb and not b:
            return a
        return self.shared("i1", operation, a, b)

    def select(self, t: str, condition: Any, yes: Any, no: Any) -> Any:
        if type(condition) is not Value:
            return yes if condition else no
        if yes is no or (type(yes) is not Value and type(no) is not Value and same(yes, no)):
            return yes
        return self.shared(t, "select", condition, yes, no)

    def cast(self, operation: str, source: str, target: str, a: Any) -> Value:
        return self.shared(target, f"{operation} {source}", a, of=source)

    def intrinsic(self, t: str, name: str, *operands: Any) -> Any:
        """A call of one of LLVM's own functions of numbers of one type."""
        return self.call(t, f"llvm.{name}", [t] * len(operands), *operands)

    def call(self, t: str, name: str, types: Sequence[str], *operands: Any) -> Any:
        """A call whose result depends on its operands alone."""
        if name not in self.calls:
            self.calls[name] = f"declare {t} @{name}({', '.join(types)})"
        return self.shared(t, f"call @{name}", *operands, of=types[0])

    def do(self, name: str, *pointers: Value) -> None:
        """A call of a routine that reads and writes memory."""
        types = ", ".join(["ptr"] * len(pointers))
        self.calls[name] = f'declare void @"{name}"({types})'
        self.routines.add(name)
        self.emit("", f"do {name}", *pointers)

    # memory

    def allocate(self, type_: str, count: int) -> Buffer:
        """Memory of the workspace, whose content is not defined yet."""
        size = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i8": 1, "i1": 1}[type_] * count
        offset = self.workspace
        self.workspace = -(-(offset + size) // ALIGNMENT) * ALIGNMENT
        base = self.pointers[2]
        # at the function's entry, where it is known to every block
        self.count += 1
        pointer = Value(self.count, "ptr", "getelementptr i8", (base, offset))
        self.entry.instructions.insert(0, pointer)
        return Buffer(pointer, True)

    def literal(self, type_: str, values: Sequence[Any]) -> Buffer:
        """Memory that holds constants."""
        stored = stored_type(type_)
        number = lambda x: str(int(x)) if type_ == "i1" else constant_text(type_, x)
        body = ", ".join(f"{stored} {number(x)}" for x in values)
        text = f"private unnamed_addr constant [{len(values)} x {stored}] [{body}], align 64"
        key = ("literal", text)
        if (known := self.remembered(key)) is not None:
            return known
        name = f"@c{len(self.constants)}"
        self.constants.append(f"{name} = {text}")
        # constants are known everywhere: they belong to the outermost scope
        self._scopes[0][key] = buffer = Buffer(Value(0, "ptr", "named", (name,)), False)
        return buffer

    def load(self, type_: str, buffer: Buffer, index: Any) -> Value:
        """One element; shared until something is written to the buffer."""
        # what a loop reads may be what its turn before has written
        turns = self._turns if buffer.mutable else 0
        key = ("load", buffer, buffer.version, turns, index)
        if (known := self.remembered(key)) is not None:
            return known
        stored = stored_type(type_)
        value = self.emit(stored, "load", self.address(stored, buffer, index))
        if type_ == "i1":
            value = self.cast("trunc", "i8", "i1", value)
        return self.remember(key, value)

    def store(self, type_: str, buffer: Buffer, index: Any, value: Any) -> None:
        stored = stored_type(type_)
        if type_ == "i1":
            known = type(value) is not Value
            value = int(value) if known else self.cast("zext", "i1", "i8", value)
        self.emit("", f"store {stored}", value, self.address(stored, buffer, index))
        self.changed(buffer)

    def changed(self, buffer: Buffer) -> None:
        """Something has been written to a buffer: loads before it say nothing any more."""
        buffer.version += 1

    def address(self, stored: str, buffer: Buffer, index: Any) -> Value:
        if type(index) is not Value and index == 0:
            return buffer.base
        return self.shared("ptr", f"getelementptr {stored}", buffer.base, index, of="i64")

    def phi(self, type_: str) -> Value:
        """A value that depends on where this block was entered from, given by `incoming`."""
        self.count += 1
        value = Value(self.count, type_, "phi", ())
        first = sum(1 for x in self.block.instructions if x.operation == "phi")
        self.block.instructions.insert(first, value)
        return value


LONG_SUM = 8
"""Terms of a sum of products beyond which two chains are faster: a chain waits four cycles for each
of its terms.
"""


def incoming(phi: Value, *ways: tuple[Any, Block]) -> None:
    """Say what a `phi` is for each block that it may be entered from."""
    phi.operands = ways


def _both_products(a: Any, b: Any) -> bool:
    """Whether two products are added: fused, the error of one would stay in the difference of equal
    ones, which residuals of constraints are.
    """
    return all(type(x) is Value and x.operation == "fmul" for x in (a, b))


def _ordered(a: Any, b: Any) -> tuple[Any, Any]:
    """Operands that may be exchanged, in one order, so that equal expressions are found equal."""
    if type(a) is not Value:
        return b, a
    if type(b) is not Value:
        return a, b
    return (a, b) if a.index <= b.index else (b, a)
