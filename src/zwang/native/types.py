"""Types of elements: their names in LLVM's language, in memory and in registers."""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import DTypeLike

from zwang.native.errors import NotNativeError

TYPES = {
    np.dtype(np.float64): "double",
    np.dtype(np.float32): "float",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint64): "i64",
    np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "i32",
    np.dtype(np.int8): "i8",
    np.dtype(np.uint8): "i8",
    np.dtype(np.bool_): "i1",
}
"""Type of a register for each type of array that is emitted."""
FLOATS = {"double", "float"}
BITS = {"double": 64, "float": 32, "i64": 64, "i32": 32, "i8": 8, "i1": 1}


_DOUBLE = struct.Struct(">d")


def register_type(dtype: DTypeLike) -> str:
    """The type of a register that holds one element of an array.

    Raises:
        NotNativeError: for complex numbers, halves, keys and other types that are not emitted.
    """
    try:
        return TYPES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise NotNativeError(f"arrays of {dtype}") from None


def stored_type(type_: str) -> str:
    """The type in memory: a truth value takes a byte there."""
    return "i8" if type_ == "i1" else type_


def is_signed(dtype: DTypeLike) -> bool:
    return np.dtype(dtype).kind == "i"


def constant_text(type_: str, value: float) -> str:
    """A constant in LLVM's language."""
    if type_ in FLOATS:  # one of 32 bits is written with the bits of the double that equals it
        value = value if type_ == "double" else float(np.float32(value))
        return f"0x{int.from_bytes(_DOUBLE.pack(value)):016X}"
    if type_ == "i1":
        return "true" if value else "false"
    return str(int(value))


def wrapped(dtype: DTypeLike, value: int) -> int:
    """An integer reduced to the range of its type, as registers do."""
    bits, value = np.dtype(dtype).itemsize * 8, int(value)
    value &= (1 << bits) - 1
    signed = is_signed(dtype) and value >= 1 << (bits - 1)
    return value - (1 << bits) if signed else value


def rounded(t: str, x: float) -> float:
    """A constant as a register holds it."""
    return x if t == "double" else float(np.float32(x))


def same(a: object, b: object) -> bool:
    """Whether two constants are one: −0 is not 0, NaN is NaN."""
    if isinstance(a, float) and isinstance(b, float):
        both_nan = a != a and b != b
        return both_nan or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b
