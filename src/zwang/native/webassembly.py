"""Functions as a WebAssembly module for browsers.

Each instruction of native code with one lane becomes instructions of the stack machine. Arrays have
fixed addresses in the module's memory (`Module.places`), so functions take and return nothing. A
fused multiply-add is a function (`FUSED`); in a browser without such an instruction it is replaced
by `ROUNDED_TWICE`. Functions without an instruction (sine of large angles, powers) are imported
from JavaScript's `Math` as `math`.

Reference: W3C, WebAssembly Core Specification 3.0, section 5.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr
from numpy.typing import DTypeLike

from zwang.native.errors import NotNativeError, refuse_lapack
from zwang.native.instructions import ALIGNMENT, Value
from zwang.native.stack_codes import CODES, END, signed, text, unsigned, vector
from zwang.native.stack_function import Call, StackFunction, wrapped
from zwang.native.subroutines import Routine
from zwang.native.text import used
from zwang.native.translation import instructions_of
from zwang.native.types import BITS, FLOATS

PAGE = 65536
"""Bytes of a memory page."""
MOST_MEMORY = 2**30
"""Limit of the memory for arrays [bytes]; addresses are positive 32-bit integers."""
LACKING = {"erf", "erfc", "lgamma", "nextafter"}
"""Functions of the C library without a counterpart in JavaScript."""

FUSED = b"".join(b"\x20%c\xfd\x14" % k for k in range(3)) + b"\xfd\x87\x02\xfd\x21\x00"
ROUNDED_TWICE = b"\x20\x00\x20\x01\xa2\x20\x02\xa0".ljust(len(FUSED), b"\x01")
"""Function bodies of `a b + c`, of equal length: by a SIMD instruction on 128-bit registers
(`f64x2.relaxed_madd`), and by two instructions.
"""


class Module:
    """Functions that share arrays.

    Attributes:
        places: address, type and shape of each array, by its name.
        instructions: of each function, by its name.
    """

    def __init__(self):
        self.places: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}
        self.instructions: dict[str, int] = {}
        self._end = ALIGNMENT
        self._data: dict[bytes, int] = {}
        self._types: dict[bytes, int] = {}
        self._imports: dict[str, tuple[int, bytes]] = {}
        self._bodies: dict[str, tuple[int, list[bytes | Call]]] = {}
        self._exported: list[str] = []
        self.place_type(())

    def place(self, name: str, dtype: DTypeLike, shape: Sequence[int]) -> int:
        """Address of an array; arrays of one name are the same array."""
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
        """Add a traced function, whose arguments and results are named arrays.

        Raises:
            NotNativeError: for an operation without a lowering rule, or a call of LAPACK.
        """
        places = []
        for names, avals in ((arguments, program.in_avals), (results, program.out_avals)):
            at = [self.place(n, x.dtype, x.shape) for n, x in zip(names, avals, strict=True)]
            places.append([Value(0, "ptr", "named", (x,)) for x in at])
        b = instructions_of(program, places, name)
        needed = used(b)
        self._write(name, 0, StackFunction(self, b, needed, self._room(b.workspace)))
        self.instructions[name] = len(needed)
        self._exported.append(name)

    def enter(self, called: Routine) -> None:
        """Add a subroutine that a function calls, once."""
        if called.name not in self._bodies:
            kind = self.place_type(["i32"] * (1 + len(called.pointers)))
            b, needed, pointers = called.builder, called.needed, called.pointers
            self._write(called.name, kind, StackFunction(self, b, needed, None, pointers))
            self.instructions[called.name] = len(needed)

    def fused(self) -> Call:
        """A call of the function `a b + c`, which is added to the module."""
        kind = self.place_type(["double"] * 3, "double")
        self._bodies.setdefault("fma", (kind, [b"\x00", FUSED, END]))
        return Call("fma")

    def _write(self, name: str, kind: int, function: StackFunction) -> None:
        refuse_lapack(function.b.routines)
        self._bodies[name] = kind, function.code()

    def literal(self, stored: str, values: Sequence[Any]) -> int:
        """Address of a constant array."""
        kinds = {"double": "d", "float": "f", "i64": "q", "i32": "i", "i8": "b"}
        given = values if stored in FLOATS else [wrapped(x, BITS[stored]) for x in values]
        data = struct.pack(f"<{len(values)}{kinds[stored]}", *given)
        if data not in self._data:
            self._data[data] = self._room(len(data))
        return self._data[data]

    def place_type(self, parameters: Sequence[str], result: str | None = None) -> int:
        """Number of a function type."""
        results = [] if result is None else [bytes([CODES[result]])]
        key = b"\x60" + vector([bytes([CODES[t]]) for t in parameters]) + vector(results)
        return self._types.setdefault(key, len(self._types))

    def imported(self, name: str, parameters: Sequence[str], result: str) -> int:
        """Number of a function imported from `math`."""
        if name not in self._imports:
            plain = name.removesuffix("f") if result == "float" else name
            if plain in LACKING:
                raise NotNativeError(f"the function {plain} in WebAssembly")
            kind = unsigned(self.place_type(parameters, result))
            entry = text("math") + text(plain) + b"\x00" + kind
            self._imports[name] = len(self._imports), entry
        return self._imports[name][0]

    def binary(self) -> bytes:
        """The encoded module."""
        if self._end > MOST_MEMORY:
            raise NotNativeError(f"more than {MOST_MEMORY} bytes of arrays in WebAssembly")
        first = len(self._imports)
        memory = b"\x00" + unsigned(-(-self._end // PAGE))
        number = {name: unsigned(first + k) for k, name in enumerate(self._bodies)}
        exported = [text("memory") + b"\x02\x00"]
        exported += [text(name) + b"\x00" + number[name] for name in self._exported]
        data = [
            b"\x00\x41" + signed(at) + END + unsigned(len(x)) + x for x, at in self._data.items()
        ]
        bodies = [
            b"".join(b"\x10" + number[x.name] if isinstance(x, Call) else x for x in code)
            for _, code in self._bodies.values()
        ]
        sections = {
            1: vector(list(self._types)),
            2: vector([entry for _, entry in self._imports.values()]),
            3: vector([unsigned(kind) for kind, _ in self._bodies.values()]),
            5: vector([memory]),
            7: vector(exported),
            10: vector([unsigned(len(x)) + x for x in bodies]),
            11: vector(data),
        }
        parts = [bytes([k]) + unsigned(len(x)) + x for k, x in sections.items()]
        return b"\x00asm\x01\x00\x00\x00" + b"".join(parts)
