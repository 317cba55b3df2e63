"""Functions as a module of WebAssembly, which browsers execute: the instructions of native code
with one lane, each of them one of the stack machine's.

Arrays lie at fixed places of the module's memory (`Module.places`), so that functions take and
return nothing. There is no fused product: sums are rounded twice. What is no instruction (sine
of large angles, exponentials) is imported from `math`, as JavaScript has it.

Reference: W3C, WebAssembly Core Specification 2.0, section 5.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from zwang.native.builder import ALIGNMENT, Builder
from zwang.native.compiled import instructions_of
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Block, Value
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
    text,
    unsigned,
    vector,
)
from zwang.native.structure import Nesting, Writing
from zwang.native.text import single_uses, transfers, used
from zwang.native.types import BITS, FLOATS

PAGE = 65536
"""Bytes of a page of memory."""
MOST_MEMORY = 2**30
"""Bytes of arrays; addresses are positive numbers of 32 bits."""
MOST_LOCALS = 50_000
"""Values that a function may hold: a limit of browsers."""
LACKING = {"erf", "erfc", "lgamma", "nextafter"}
"""Functions of the C library that JavaScript has no counterpart of."""


def _wrapped(x: Any, bits: int) -> int:
    """A whole number in the range of a signed type."""
    return (int(x) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


class Module:
    """Functions that share arrays.

    Attributes:
        places: of each array by its name: byte where it begins, type and shape.
        instructions: of each function by its name.
    """

    def __init__(self):
        self.places: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}
        self.instructions: dict[str, int] = {}
        self._end = ALIGNMENT
        self._data: dict[bytes, int] = {}
        self._types: dict[bytes, int] = {}
        self._imports: dict[str, tuple[int, bytes]] = {}
        self._bodies: dict[str, bytes] = {}
        self.place_type(())

    def place(self, name: str, dtype: Any, shape: Sequence[int]) -> int:
        """Where an array lies; one of the same name is the same array."""
        dtype, shape = np.dtype(dtype), tuple(shape)
        if name not in self.places:
            self.places[name] = self._room(int(np.prod(shape)) * dtype.itemsize), dtype, shape
        at, *known = self.places[name]
        if known != [dtype, shape]:
            raise AssertionError(f"{name} is {known}, not {[dtype, shape]}")
        return at

    def _room(self, size: int) -> int:
        at = self._end
        self._end += -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        return at

    def add(
        self, name: str, program: ClosedJaxpr, arguments: Sequence[str], results: Sequence[str]
    ) -> None:
        """A traced function, whose arguments and results are arrays of some names.

        Raises:
            NotNativeError: for an operation that is not emitted, or is a call of LAPACK.
        """
        places = []
        for names, avals in ((arguments, program.in_avals), (results, program.out_avals)):
            at = [self.place(n, x.dtype, x.shape) for n, x in zip(names, avals, strict=True)]
            places.append([Value(0, "ptr", "named", (x,)) for x in at])
        b = instructions_of(program, places)
        function = _Function(self, b, self._room(b.workspace))
        self._bodies[name] = function.code()
        self.instructions[name] = function.instructions

    def literal(self, stored: str, values: Sequence[Any]) -> int:
        """Where an array of constants lies."""
        kinds = {"double": "d", "float": "f", "i64": "q", "i32": "i", "i8": "b"}
        given = values if stored in FLOATS else [_wrapped(x, BITS[stored]) for x in values]
        data = struct.pack(f"<{len(values)}{kinds[stored]}", *given)
        if data not in self._data:
            self._data[data] = self._room(len(data))
        return self._data[data]

    def place_type(self, parameters: Sequence[str], result: str | None = None) -> int:
        """The number of a type of functions."""
        results = [] if result is None else [bytes([CODES[result]])]
        key = b"\x60" + vector([bytes([CODES[t]]) for t in parameters]) + vector(results)
        return self._types.setdefault(key, len(self._types))

    def imported(self, name: str, parameters: Sequence[str], result: str) -> int:
        """The number of a function of `math`."""
        if name not in self._imports:
            plain = name.removesuffix("f") if result == "float" else name
            if plain in LACKING:
                raise NotNativeError(f"the function {plain} in WebAssembly")
            kind = unsigned(self.place_type(parameters, result))
            entry = text("math") + text(plain) + b"\x00" + kind
            self._imports[name] = len(self._imports), entry
        return self._imports[name][0]

    def binary(self) -> bytes:
        """The module."""
        if self._end > MOST_MEMORY:
            raise NotNativeError(f"more than {MOST_MEMORY} bytes of arrays in WebAssembly")
        first = len(self._imports)
        memory = b"\x00" + unsigned(-(-self._end // PAGE))
        exported = [text("memory") + b"\x02\x00"]
        exported += [
            text(name) + b"\x00" + unsigned(first + k) for k, name in enumerate(self._bodies)
        ]
        data = [
            b"\x00\x41" + signed(at) + END + unsigned(len(x)) + x for x, at in self._data.items()
        ]
        sections = {
            1: vector(list(self._types)),
            2: vector([entry for _, entry in self._imports.values()]),
            3: vector([unsigned(self.place_type(()))] * len(self._bodies)),
            5: vector([memory]),
            7: vector(exported),
            10: vector([unsigned(len(x)) + x for x in self._bodies.values()]),
            11: vector(data),
        }
        parts = [bytes([k]) + unsigned(len(x)) + x for k, x in sections.items()]
        return b"\x00asm\x01\x00\x00\x00" + b"".join(parts)


class _Function:
    """The body of one function.

    Attributes:
        instructions: their number.
    """

    def __init__(self, module: Module, b: Builder, scratch: int):
        self.module, self.b, self.scratch = module, b, scratch
        self.needed = used(b)
        self.once = self._used_once()
        self.instructions = len(self.needed)
        self.literals = {name: module.literal(stored, x) for name, stored, x in b.constants}
        self.pushed: dict[Value, bytes] = {}
        self.places: dict[Value, tuple[int, bytes]] = {}

    def _used_once(self) -> dict[Value, Block | None]:
        """Of values that are used once, where; what is written twice counts as used twice."""
        found = single_uses(self.b, self.needed)
        for block in self.b.blocks:
            for x in block.instructions:
                twice = x.operation.startswith(("fcmp one", "fcmp uno", "call @llvm.round."))
                if twice or x.operation.startswith("getelementptr"):
                    found |= {y: None for y in x.operands if type(y) is Value}
        return found

    def code(self) -> bytes:
        declared = self._numbered()
        # in the order in which they were emitted, as operands are known then
        written = {block: self._instructions(block) for block in self.b.blocks}
        writing = Writing(
            *(BLOCK, LOOP, ELSE, END, RETURN),
            instructions=written.__getitem__,
            choice=lambda condition: self._push("i1", condition) + IF,
            jump=lambda depth: b"\x0c" + unsigned(depth),
            moves=self._moves,
        )
        body = b"".join(Nesting(self.b.blocks).written(self.b.blocks[0], writing))
        return declared + body + END

    # locals

    def _numbered(self) -> bytes:
        """Give each value that is held a local; those of one block take the places of others."""
        homes, held = self._homes(), list(CODES)
        count, most = dict.fromkeys(held, 0), dict.fromkeys(held, 0)
        local: dict[Value, tuple[str, int]] = {}
        for own in (False, True):
            before = dict(count)
            for block in self.b.blocks:
                count = dict(before) if own else count
                for x in block.instructions:
                    if self._is_held(x, block) and (homes.get(x) is block) == own:
                        t = REGISTERS.get(x.type, x.type)
                        local[x] = t, count[t]
                        count[t] += 1
                most = {t: max(most[t], n) for t, n in count.items()}
        if sum(most.values()) > MOST_LOCALS:
            raise NotNativeError(f"more than {MOST_LOCALS} values of a function in WebAssembly")
        first, base = {}, 0
        for t, n in most.items():
            first[t], base = base, base + n
        self.locals = {x: unsigned(first[t] + k) for x, (t, k) in local.items()}
        return vector([unsigned(n) + bytes([CODES[t]]) for t, n in most.items() if n])

    def _is_held(self, x: Value, block: Block) -> bool:
        name = x.operation.partition(" ")[0]
        if x not in self.needed or name in ("getelementptr", "store", "named"):
            return False
        return name in ("phi", "load") or self.once.get(x) is not block

    def _homes(self) -> dict[Value, Block | None]:
        """The block in which alone a value is used, the one that computes it; None of others."""
        made = {x: block for block in self.b.blocks for x in block.instructions}
        found: dict[Value, Block | None] = {}

        def note(x: Any, where: Block) -> None:
            if type(x) is not Value or x not in made:
                return
            if x.operation.startswith("getelementptr"):  # is computed where it is used
                for y in x.operands:
                    note(y, where)
            else:
                found[x] = where if made[x] is where is found.get(x, where) else None

        for block in self.b.blocks:
            for x in block.instructions:
                if x.operation == "phi":
                    found[x] = None
                for y in x.operands:
                    note(*(y if x.operation == "phi" else (y, block)))
            if block.end is not None and len(block.end[1]) > 1:
                note(block.end[1][0], block)
        for block in self.b.blocks:  # phis are set from elsewhere
            found |= {x: None for x in block.instructions if x.operation == "phi"}
        return found

    def _moves(self, block: Block, target: Block) -> bytes:
        """Assignments to the phi instructions of a block: all values are read before the first is
        set.
        """
        pairs = transfers(block, target, self.needed)
        read = b"".join(self._push(x.type, y) for x, y in pairs)
        return read + b"".join(b"\x21" + self.locals[x] for x, _ in reversed(pairs))

    # instructions

    def _push(self, t: str, x: Any) -> bytes:
        """Code that leaves an operand on the stack."""
        if type(x) is Value:
            found = self.pushed.get(x)
            return b"\x20" + self.locals[x] if found is None else found
        if t in FLOATS:
            kind = "<d" if t == "double" else "<f"
            with np.errstate(all="ignore"):
                return (b"\x44" if t == "double" else b"\x43") + struct.pack(kind, np.float64(x))
        return (b"\x42" if t == "i64" else b"\x41") + signed(_wrapped(x, 64 if t == "i64" else 32))

    def _instructions(self, block: Block) -> bytes:
        parts = []
        for x in block.instructions:
            if x not in self.needed or x.operation == "phi":
                continue
            name, _, rest = x.operation.partition(" ")
            if name == "getelementptr":
                self._place(x, rest)
            elif name == "store":
                at, moved = self._where(x.operands[1])
                value = self._push(rest, x.operands[0])
                parts.append(moved + value + bytes([STORE[rest]]) + b"\x00" + unsigned(at))
            else:
                written = self._written(x, name, rest)
                if self._is_held(x, block):
                    parts.append(written + b"\x21" + self.locals[x])
                else:
                    self.pushed[x] = written
        return b"".join(parts)

    def _place(self, x: Value, stored: str) -> None:
        base, index = x.operands
        if x in self.b.buffers:
            at = self.scratch + int(index)
            self.places[x] = at, b"\x41\x00"
            return
        at, _ = self._where(base)
        size = BITS[stored] // 8
        if type(index) is Value:
            code = self._push("i64", index) + bytes([WRAP])
            self.places[x] = at, code + b"\x41" + signed(size) + b"\x6c"
        else:
            self.places[x] = at + size * int(index), b"\x41\x00"

    def _where(self, pointer: Value) -> tuple[int, bytes]:
        """The fixed part of an address, and code for the other."""
        if pointer.operation == "named":
            (at,) = pointer.operands
            return (self.literals[at] if isinstance(at, str) else at), b"\x41\x00"
        return self.places[pointer]

    def _written(self, x: Value, name: str, rest: str) -> bytes:
        if name == "load":
            at, moved = self._where(x.operands[0])
            return moved + bytes([LOAD[x.type]]) + b"\x00" + unsigned(at)
        if name == "call":
            return self._call(x, rest.removeprefix("@"))
        if name in ("fcmp", "icmp"):
            return self._compared(x, rest)
        if name == "select":
            condition, yes, no = x.operands
            pair = self._push(x.type, yes) + self._push(x.type, no)
            return pair + self._push("i1", condition) + bytes([SELECT])
        if len(x.operands) == 1 and name != "fneg":
            return self._cast(x, name, rest)
        given = b"".join(self._push(x.type, y) for y in x.operands)
        t = REGISTERS.get(x.type, x.type)
        try:
            code = given + bytes([ARITHMETIC[t][name]])
        except KeyError:
            raise NotNativeError(f"the instruction {x.operation} in WebAssembly") from None
        return code + bytes([EXTEND_8]) if x.type == "i8" else code

    def _compared(self, x: Value, predicate: str) -> bytes:
        known = next(y.type for y in x.operands if type(y) is Value)
        a, b = (self._push(known, y) for y in x.operands)
        codes = COMPARED[REGISTERS.get(known, known)]
        if predicate == "one":
            return a + b + bytes([codes["olt"]]) + a + b + bytes([codes["ogt"], 0x72])
        if predicate == "uno":
            return a + a + bytes([codes["une"]]) + b + b + bytes([codes["une"], 0x72])
        if known in FLOATS and predicate in OTHERWISE:
            return a + b + bytes([codes[OTHERWISE[predicate]], EQZ])
        return a + b + bytes([codes[predicate]])

    def _cast(self, x: Value, name: str, source: str) -> bytes:
        given = self._push(source, x.operands[0])
        s, t = (REGISTERS.get(y, y) for y in (source, x.type))
        if name in ("fpext", "fptrunc"):
            return given + bytes([PROMOTE if name == "fpext" else DEMOTE])
        if name == "bitcast":
            return given + bytes([REINTERPRETED[s, t]])
        if name in ("sitofp", "uitofp"):
            if name == "uitofp" and source == "i8":
                given += b"\x41\xff\x01\x71"
            return given + bytes([CONVERTED[s, t][name == "uitofp"]])
        if name == "fptosi":
            return given + b"\xfc" + bytes([TRUNCATED[s, t]])
        if name == "trunc":
            given += bytes([WRAP]) if s == "i64" else b""
            mask = {"i1": b"\x41\x01\x71", "i8": bytes([EXTEND_8])}
            return given + mask.get(x.type, b"")
        if name == "sext" and source == "i1":
            given = b"\x41\x00" + given + b"\x6b"
        if name == "zext" and source == "i8":
            given += b"\x41\xff\x01\x71"
        extend = EXTEND_S if name == "sext" else EXTEND_U
        found = given + bytes([extend]) if t == "i64" else given
        return found + bytes([EXTEND_8]) if x.type == "i8" else found

    def _call(self, x: Value, name: str) -> bytes:
        types = (y.type if type(y) is Value else x.type for y in x.operands)
        given = [self._push(t, y) for t, y in zip(types, x.operands, strict=True)]
        together = b"".join(given)
        if not name.startswith("llvm."):
            number = self.module.imported(name, [x.type] * len(given), x.type)
            return together + b"\x10" + unsigned(number)
        _, name, *types = name.split(".")
        if name == "fma":
            codes = ARITHMETIC[x.type]
            product = given[0] + given[1] + bytes([codes["fmul"]])
            return product + given[2] + bytes([codes["fadd"]])
        if "sat" in types:
            if x.type == "i8":
                raise NotNativeError("floats as bytes in WebAssembly")
            kind = TRUNCATED[x.operands[0].type, x.type] + (name == "fptoui")
            return together + b"\xfc" + bytes([kind])
        if name == "copysign":
            return together + bytes([COPYSIGN[x.type]])
        if name == "round":  # away from zero: the largest number below a half is added
            half = self._push(x.type, 0.49999999999999994 if x.type == "double" else 0.49999997)
            add = bytes([ARITHMETIC[x.type]["fadd"], TRUNCATE[x.type]])
            return together + half + together + bytes([COPYSIGN[x.type]]) + add
        return together + bytes([INTRINSIC[x.type][name]])
