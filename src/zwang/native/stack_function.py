"""The body of one function for WebAssembly's stack machine.

A value that is used once, in its own block, is computed where it is used; other values are held in
locals. Values with disjoint live ranges share a local. Few locals have short numbers, and equal
parts of a program become equal bytes, which compress well.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zwang.native.builder import Builder
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Block, Operand, Value
from zwang.native.stack_codes import (
    ARITHMETIC,
    BLOCK,
    CODES,
    COMPARED,
    CONVERTED,
    COPYSIGN,
    DEMOTE,
    ELSE,
    END,
    EQZ,
    EXTEND_8,
    EXTEND_S,
    EXTEND_U,
    IF,
    INTRINSIC,
    LOAD,
    LOOP,
    OTHERWISE,
    PROMOTE,
    REGISTERS,
    REINTERPRETED,
    RETURN,
    SELECT,
    STORE,
    TRUNCATE,
    TRUNCATED,
    WRAP,
    signed,
    unsigned,
    vector,
)
from zwang.native.structure import Nesting, Writing
from zwang.native.text import single_uses, transfers
from zwang.native.types import BITS, FLOATS

if TYPE_CHECKING:
    from zwang.native.webassembly import Module

MOST_LOCALS = 50_000
"""Limit of browsers on the number of locals of a function."""
ZERO = (b"\x41\x00",)
"""The base address of memory accesses by default."""


class Set(NamedTuple):
    """Set the local of a value; a value in the code by itself reads its local."""

    value: Value


class Call(NamedTuple):
    """Call a subroutine, whose number is assigned after all functions are known."""

    name: str


Code = tuple[bytes | Value | Set | Call, ...]


def wrapped(x: float, bits: int) -> int:
    """Wrap an integer to the range of a signed type."""
    return (int(x) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


class StackFunction:
    """The body of one function.

    Args:
        module: holds its constant arrays and its callees.
        b: its instructions.
        needed: values to be computed.
        scratch: address of its workspace; None if its first parameter passes it.
        pointers: names of its other parameters.
    """

    def __init__(
        self,
        module: Module,
        b: Builder,
        needed: set[Value],
        scratch: int | None,
        pointers: Sequence[str] = (),
    ):
        self.module, self.b, self.needed, self.pointers = module, b, needed, pointers
        self.work = (scratch, ZERO) if scratch is not None else (0, _local(0))
        self.parameters = 0 if scratch is not None else 1 + len(pointers)
        self.once = self._used_once()
        self.literals = {name: module.literal(stored, x) for name, stored, x in b.constants}
        self.pushed: dict[Value, Code] = {}
        self.places: dict[Value, tuple[int, Code]] = {}

    def _used_once(self) -> dict[Value, Block | None]:
        """Values that are used once, with the block of the use; an operand written twice is used
        twice.
        """
        found = single_uses(self.b, self.needed)
        for block in self.b.blocks:
            for x in block.instructions:
                twice = x.operation.startswith(("fcmp one", "fcmp uno", "call @llvm.round."))
                if twice or x.operation.startswith("getelementptr"):
                    found |= {y: None for y in x.operands if type(y) is Value}
        return found

    def code(self) -> list[bytes | Call]:
        """The body, in which numbers of subroutines are still open."""
        # Blocks are written in the order of emission, in which operands precede their uses.
        written: dict[Block, Code] = {x: self._instructions(x) for x in self.b.blocks}
        writing = Writing(
            *((x,) for x in (BLOCK, LOOP, ELSE, END, RETURN)),
            instructions=written.__getitem__,
            choice=lambda condition: (*self._push("i1", condition), IF),
            jump=lambda depth: (b"\x0c" + unsigned(depth),),
            moves=self._moves,
        )
        parts = Nesting(self.b.blocks).written(self.b.blocks[0], writing)
        body = [x for part in parts for x in part]
        declared, number = self._numbered(body)

        def encoded(x: bytes | Value | Set | Call) -> bytes | Call:
            if isinstance(x, Value):
                return b"\x20" + number[x]
            return b"\x21" + number[x.value] if isinstance(x, Set) else x

        return [declared, *map(encoded, body), END]

    # locals

    def _numbered(self, body: list) -> tuple[bytes, dict[Value, bytes]]:
        """Assign locals to values by live range; returns the declaration and the local of each
        value.
        """
        spans = _spans(body)
        count = dict.fromkeys(CODES, 0)
        free: dict[str, list[int]] = {t: [] for t in CODES}
        held: list[tuple[int, str, int]] = []
        local: dict[Value, tuple[str, int]] = {}
        for x, (first, last) in sorted(spans.items(), key=lambda each: each[1][0]):
            while held and held[0][0] < first:
                _, t, k = heapq.heappop(held)
                heapq.heappush(free[t], k)
            t = REGISTERS.get(x.type, x.type)
            if free[t]:
                k = heapq.heappop(free[t])
            else:
                k, count[t] = count[t], count[t] + 1
            local[x] = t, k
            heapq.heappush(held, (last, t, k))
        if sum(count.values()) > MOST_LOCALS:
            raise NotNativeError(f"more than {MOST_LOCALS} values of a function in WebAssembly")
        first, base = {}, self.parameters
        order = sorted((t for t in CODES if count[t]), key=count.__getitem__)
        for t in order:  # The most frequent type comes last, as numbers below 128 take one byte.
            first[t], base = base, base + count[t]
        declared = vector([unsigned(count[t]) + bytes([CODES[t]]) for t in order])
        return declared, {x: unsigned(first[t] + k) for x, (t, k) in local.items()}

    def _is_held(self, x: Value, block: Block) -> bool:
        return x.operation.startswith("load") or self.once.get(x) is not block

    def _moves(self, block: Block, target: Block) -> Code:
        """Assign the phis of a block; they are parallel, so all operands are read first."""
        pairs = transfers(block, target, self.needed)
        read = [part for x, given in pairs for part in self._push(x.type, given)]
        return (*read, *(Set(x) for x, _ in reversed(pairs)))

    # instructions

    def _push(self, t: str, x: Operand) -> Code:
        """Push an operand on the stack."""
        if type(x) is Value:
            return self.pushed.get(x) or (x,)
        if t in FLOATS:
            kind = "<d" if t == "double" else "<f"
            with np.errstate(all="ignore"):
                number = struct.pack(kind, np.float64(x))
            return ((b"\x44" if t == "double" else b"\x43") + number,)
        whole = signed(wrapped(x, 64 if t == "i64" else 32))
        return ((b"\x42" if t == "i64" else b"\x41") + whole,)

    def _instructions(self, block: Block) -> Code:
        parts: list = []
        for x in block.instructions:
            name, _, rest = x.operation.partition(" ")
            if x not in self.needed or name in ("phi", "named"):
                continue
            if name == "getelementptr":
                self._place(x, rest)
            elif name in ("pack", "leave", "enter"):
                parts += self._entered(x, rest) if name == "enter" else self._left(x, rest)
                self.places[x] = self._where(x.operands[0])
            elif name == "store":
                parts += self._stored(rest, self._where(x.operands[1]), x.operands[0])
            else:
                written = self._written(x, name, rest)
                if self._is_held(x, block):
                    parts += (*written, Set(x))
                else:
                    self.pushed[x] = written
        return tuple(parts)

    def _stored(self, stored: str, where: tuple[int, Code], value: Operand) -> Code:
        at, moved = where
        code = bytes([STORE[stored]]) + b"\x00" + unsigned(at)
        return (*moved, *self._push(stored, value), code)

    def _left(self, x: Value, stored: str) -> list:
        """Store values contiguously."""
        at, moved = self._where(x.operands[0])
        size = BITS[stored] // 8
        each = enumerate(x.operands[1:])
        return [y for k, v in each for y in self._stored(stored, (at + size * k, moved), v)]

    def _entered(self, x: Value, name: str) -> list:
        """Call a subroutine."""
        self.module.enter(self.b.functions[name])
        found: list = []
        for pointer in x.operands:
            at, moved = self._where(pointer)
            fixed = b"\x41" + signed(at)
            found += (fixed,) if moved == ZERO else (*moved, fixed, b"\x6a")
        return [*found, Call(name)]

    def _place(self, x: Value, stored: str) -> None:
        base, index = x.operands
        at, moved = self._where(base)
        size = BITS[stored] // 8
        if type(index) is Value:
            far = b"\x41" + signed(size) + b"\x6c"
            code = (*self._push("i64", index), bytes([WRAP]), far)
            self.places[x] = at, code if moved == ZERO else (*moved, *code, b"\x6a")
        else:
            self.places[x] = at + size * int(index), moved

    def _where(self, pointer: Value) -> tuple[int, Code]:
        """Split an address into a constant offset and code for the rest."""
        if pointer.operation != "named":
            return self.places[pointer]
        (name,) = pointer.operands
        if not isinstance(name, str):
            return name, ZERO
        if name == "%work":
            return self.work
        if name in self.literals:
            return self.literals[name], ZERO
        return 0, _local(1 + self.pointers.index(name))

    def _written(self, x: Value, name: str, rest: str) -> Code:
        if name == "load":
            at, moved = self._where(x.operands[0])
            return (*moved, bytes([LOAD[x.type]]) + b"\x00" + unsigned(at))
        if name == "call":
            return self._call(x, rest.removeprefix("@"))
        if name in ("fcmp", "icmp"):
            return self._compared(x, rest)
        if name == "select":
            condition, yes, no = x.operands
            pair = self._push(x.type, yes) + self._push(x.type, no)
            return (*pair, *self._push("i1", condition), bytes([SELECT]))
        if name == "same":
            return self._push(x.type, x.operands[0])
        if len(x.operands) == 1 and name != "fneg":
            return self._cast(x, name, rest)
        given = [part for y in x.operands for part in self._push(x.type, y)]
        t = REGISTERS.get(x.type, x.type)
        try:
            code = (*given, bytes([ARITHMETIC[t][name]]))
        except KeyError:
            raise NotNativeError(f"the instruction {x.operation} in WebAssembly") from None
        return (*code, bytes([EXTEND_8])) if x.type == "i8" else code

    def _compared(self, x: Value, predicate: str) -> Code:
        known = next(y.type for y in x.operands if type(y) is Value)
        a, b = (self._push(known, y) for y in x.operands)
        codes = COMPARED[REGISTERS.get(known, known)]
        if predicate == "one":
            return (*a, *b, bytes([codes["olt"]]), *a, *b, bytes([codes["ogt"], 0x72]))
        if predicate == "uno":
            return (*a, *a, bytes([codes["une"]]), *b, *b, bytes([codes["une"], 0x72]))
        if known in FLOATS and predicate in OTHERWISE:
            return (*a, *b, bytes([codes[OTHERWISE[predicate]], EQZ]))
        return (*a, *b, bytes([codes[predicate]]))

    def _cast(self, x: Value, name: str, source: str) -> Code:
        given = self._push(source, x.operands[0])
        s, t = (REGISTERS.get(y, y) for y in (source, x.type))
        if name in ("fpext", "fptrunc"):
            return (*given, bytes([PROMOTE if name == "fpext" else DEMOTE]))
        if name == "bitcast":
            return (*given, bytes([REINTERPRETED[s, t]]))
        if name in ("sitofp", "uitofp"):
            if name == "uitofp" and source == "i8":
                given += (b"\x41\xff\x01\x71",)
            return (*given, bytes([CONVERTED[s, t][name == "uitofp"]]))
        if name == "fptosi":
            return (*given, b"\xfc" + bytes([TRUNCATED[s, t]]))
        if name == "trunc":
            given += (bytes([WRAP]),) if s == "i64" else ()
            mask = {"i1": b"\x41\x01\x71", "i8": bytes([EXTEND_8])}
            return (*given, mask.get(x.type, b""))
        if name == "sext" and source == "i1":
            given = (b"\x41\x00", *given, b"\x6b")
        if name == "zext" and source == "i8":
            given += (b"\x41\xff\x01\x71",)
        extend = EXTEND_S if name == "sext" else EXTEND_U
        found = (*given, bytes([extend])) if t == "i64" else given
        return (*found, bytes([EXTEND_8])) if x.type == "i8" else found

    def _call(self, x: Value, name: str) -> Code:
        types = (y.type if type(y) is Value else x.type for y in x.operands)
        given = [self._push(t, y) for t, y in zip(types, x.operands, strict=True)]
        together = tuple(part for x in given for part in x)
        if not name.startswith("llvm."):
            number = self.module.imported(name, [x.type] * len(given), x.type)
            return (*together, b"\x10" + unsigned(number))
        _, name, *types = name.split(".")
        if name == "fma":
            if x.type == "double":
                return (*together, self.module.fused())
            codes = ARITHMETIC[x.type]
            product = (*given[0], *given[1], bytes([codes["fmul"]]))
            return (*product, *given[2], bytes([codes["fadd"]]))
        if "sat" in types:
            if x.type == "i8":
                raise NotNativeError("floats as bytes in WebAssembly")
            kind = TRUNCATED[x.operands[0].type, x.type] + (name == "fptoui")
            return (*together, b"\xfc" + bytes([kind]))
        if name == "copysign":
            return (*together, bytes([COPYSIGN[x.type]]))
        # Ties round away from zero: the largest number below one half is added.
        if name == "round":
            half = self._push(x.type, 0.49999999999999994 if x.type == "double" else 0.49999997)
            add = bytes([COPYSIGN[x.type], ARITHMETIC[x.type]["fadd"], TRUNCATE[x.type]])
            return (*together, *half, *together, add)
        return (*together, bytes([INTRINSIC[x.type][name]]))


def _local(k: int) -> Code:
    """Read the local of a parameter."""
    return (b"\x20" + unsigned(k),)


def _spans(body: list) -> dict[Value, tuple[int, int]]:
    """Live ranges: first and last position of each value, extended to the end of a loop that uses a
    value from before it.
    """
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    # For each open construct, its beginning and the values from before it that it uses.
    around: list[tuple[int, set[Value]]] = []
    loops: list[tuple[int, set[Value]]] = []
    for at, part in enumerate(body):
        if part is BLOCK or part is LOOP or part is IF:
            around.append((at, set()))
            if part is LOOP:
                loops.append(around[-1])
        elif part is END:
            if around.pop() in loops[-1:]:
                last |= dict.fromkeys(loops.pop()[1], at)
        elif type(part) in (Value, Set):
            x = part.value if type(part) is Set else part
            last[x], begun = at, first.setdefault(x, at)
            for begin, met in loops:
                if begun < begin:
                    met.add(x)
                    break
    return {x: (at, last[x]) for x, at in first.items()}
