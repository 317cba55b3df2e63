"""Element types: their names in LLVM IR, in memory and in registers."""

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
"""Register type for each supported array type."""
FLOATS = {"double", "float"}
BITS = {"double": 64, "float": 32, "i64": 64, "i32": 32, "i8": 8, "i1": 1}


_DOUBLE = struct.Struct(">d")


def register_type(dtype: DTypeLike) -> str:
    """Type of a register for one element of an array.

    Raises:
        NotNativeError: for complex numbers, half precision, keys and other unsupported types.
    """
    try:
        return TYPES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise NotNativeError(f"arrays of {dtype}") from None


def stored_type(type_: str) -> str:
    """Type in memory: a truth value occupies a byte there."""
    return "i8" if type_ == "i1" else type_


def is_signed(dtype: DTypeLike) -> bool:
    return np.dtype(dtype).kind == "i"


def constant_text(type_: str, value: float) -> str:
    """Format a constant in LLVM IR."""
    if type_ in FLOATS:  # LLVM writes a 32-bit float with the bits of the equal double
        value = value if type_ == "double" else float(np.float32(value))
        return f"0x{int.from_bytes(_DOUBLE.pack(value)):016X}"
    if type_ == "i1":
        return "true" if value else "false"
    return str(int(value))


def wrapped(dtype: DTypeLike, value: int) -> int:
    """Wrap an integer to the range of its type, as registers do."""
    bits, value = np.dtype(dtype).itemsize * 8, int(value)
    value &= (1 << bits) - 1
    signed = is_signed(dtype) and value >= 1 << (bits - 1)
    return value - (1 << bits) if signed else value


def rounded(t: str, x: float) -> float:
    """Round a constant to the precision of a register."""
    return x if t == "double" else float(np.float32(x))


def same(a: object, b: object) -> bool:
    """Return whether two constants are identical: −0 is not 0, NaN is NaN."""
    if isinstance(a, float) and isinstance(b, float):
        both_nan = a != a and b != b
        return both_nan or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b
