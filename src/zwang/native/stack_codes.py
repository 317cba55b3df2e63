"""Opcodes of WebAssembly by native operation, and the encoding of numbers.

Reference: W3C, WebAssembly Core Specification 2.0, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

CODES = {"double": 0x7C, "float": 0x7D, "i64": 0x7E, "i32": 0x7F}
REGISTERS = {"i1": "i32", "i8": "i32", "ptr": "i32"}
"""WebAssembly types that hold narrower types."""
ARITHMETIC = {
    "double": {"fadd": 0xA0, "fsub": 0xA1, "fmul": 0xA2, "fdiv": 0xA3, "fneg": 0x9A},
    "float": {"fadd": 0x92, "fsub": 0x93, "fmul": 0x94, "fdiv": 0x95, "fneg": 0x8C},
    **{
        t: {
            name: first + k
            for k, name in enumerate(
                ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "shl")
                + ("ashr", "lshr")
            )
        }
        for t, first in (("i32", 0x6A), ("i64", 0x7C))
    },
}
COMPARED = {
    **{
        t: {name: first + k for k, name in enumerate(("oeq", "une", "olt", "ogt", "ole", "oge"))}
        for t, first in (("float", 0x5B), ("double", 0x61))
    },
    **{
        t: {
            name: first + k
            for k, name in enumerate(
                ("eq", "ne", "slt", "ult", "sgt", "ugt", "sle", "ule", "sge", "uge")
            )
        }
        for t, first in (("i32", 0x46), ("i64", 0x51))
    },
}
OTHERWISE = {"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt"}
"""Comparisons that are true for NaN, each as the negation of one that is false for NaN."""
INTRINSIC = {
    "double": {"fabs": 0x99, "ceil": 0x9B, "floor": 0x9C, "roundeven": 0x9E, "sqrt": 0x9F},
    "float": {"fabs": 0x8B, "ceil": 0x8D, "floor": 0x8E, "roundeven": 0x90, "sqrt": 0x91},
}
TRUNCATE = {"double": 0x9D, "float": 0x8F}
COPYSIGN = {"double": 0xA6, "float": 0x98}
LOAD = {"i32": 0x28, "i64": 0x29, "float": 0x2A, "double": 0x2B, "i8": 0x2C}
STORE = {"i32": 0x36, "i64": 0x37, "float": 0x38, "double": 0x39, "i8": 0x3A}
CONVERTED = {
    ("i32", "float"): (0xB2, 0xB3),
    ("i64", "float"): (0xB4, 0xB5),
    ("i32", "double"): (0xB7, 0xB8),
    ("i64", "double"): (0xB9, 0xBA),
}
"""Opcodes by source and target type: for a signed source, for an unsigned source."""
TRUNCATED = {("float", "i32"): 0, ("double", "i32"): 2, ("float", "i64"): 4, ("double", "i64"): 6}
"""Second opcode bytes of saturating conversions; unsigned ones have the next number."""
REINTERPRETED = {
    ("float", "i32"): 0xBC,
    ("double", "i64"): 0xBD,
    ("i32", "float"): 0xBE,
    ("i64", "double"): 0xBF,
}
EQZ, SELECT, WRAP, EXTEND_S, EXTEND_U, EXTEND_8 = 0x45, 0x1B, 0xA7, 0xAC, 0xAD, 0xC0
DEMOTE, PROMOTE = 0xB6, 0xBB
BLOCK, LOOP, IF = b"\x02\x40", b"\x03\x40", b"\x04\x40"
ELSE, END, RETURN = b"\x05", b"\x0b", b"\x0f"


def unsigned(x: int) -> bytes:
    """Encode a nonnegative integer in groups of seven bits (LEB128)."""
    found = bytearray()
    while x >= 0x80:
        found.append(x & 0x7F | 0x80)
        x >>= 7
    return bytes([*found, x])


def signed(x: int) -> bytes:
    """Encode a signed integer in groups of seven bits (LEB128)."""
    found = bytearray()
    while not -0x40 <= x < 0x40:
        found.append(x & 0x7F | 0x80)
        x >>= 7
    return bytes([*found, x & 0x7F])


def vector(parts: Sequence[bytes]) -> bytes:
    return unsigned(len(parts)) + b"".join(parts)


def text(x: str) -> bytes:
    return unsigned(len(x.encode())) + x.encode()
