"""Functions of one and two numbers: processor instructions, or calls of the C library.

A call of the library rounds as `libm` does, within one unit in the last place; the same function is
called at every optimization level.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from zwang.native.builder import Builder, Value
from zwang.native.instructions import Operand
from zwang.native.types import BITS, FLOATS, is_signed, register_type, wrapped


def _suffix(t: str) -> str:
    return "f64" if t == "double" else "f32"


def intrinsic(b: Builder, t: str, name: str, *x: Operand) -> Operand:
    """Emit an LLVM intrinsic for which the processor has an instruction."""
    if all(type(y) is not Value for y in x):
        fold = {
            "sqrt": np.sqrt,
            "floor": np.floor,
            "ceil": np.ceil,
            "fabs": np.abs,
            "roundeven": np.rint,
            "round": _rounded_away,
        }[name]
        with np.errstate(all="ignore"):
            return _narrow(t, float(fold(*x)))
    return b.intrinsic(t, f"{name}.{_suffix(t)}", *x)


def _rounded_away(x: float) -> float:
    """Round to the nearest integer, ties away from zero."""
    whole = np.floor(np.abs(x))
    return math.copysign(whole + (np.abs(x) - whole >= 0.5), x)


def magnitude(b: Builder, t: str, x: Operand) -> Operand:
    if type(x) is Value and x.operation == "fneg":
        x = x.operands[0]
    return intrinsic(b, t, "fabs", x)


def library(b: Builder, t: str, name: str, *x: Operand) -> Operand:
    """Emit a call of the C library."""
    known = [float(y) for y in x if type(y) is not Value]
    if len(known) == len(x) and (fold := FOLDED.get(name)) is not None:
        # Where Python raises instead of returning inf or NaN, the call is emitted.
        with contextlib.suppress(ValueError, OverflowError):
            return _narrow(t, fold(*known))
    name = name if t == "double" else name + "f"
    return b.call(t, name, [t] * len(x), *x)


def _narrow(t: str, x: float) -> float:
    return x if t == "double" else float(np.float32(x))


FOLDED: dict[str, Callable[..., float]] = {
    name: getattr(math, name)
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh"),
        *("acosh", "atanh", "exp", "exp2", "expm1", "log", "log1p", "cbrt", "pow", "fmod"),
        "nextafter",
    )
}
"""The same library functions in Python, for constant folding."""


def _by_library(name: str) -> Callable:
    return lambda b, t, *x: library(b, t, name, *x)


def _reciprocal_root(b: Builder, t: str, x: Operand) -> Operand:
    return b.divide(t, 1.0, intrinsic(b, t, "sqrt", x))


def polynomial(b: Builder, coefficients: tuple, z: Operand) -> Operand:
    """Evaluate `Σ cₖ zᵏ` in doubles by Horner's rule."""
    found: Operand = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        found = b.multiply_add("double", found, z, c)
    return found


OF_FLOATS: dict[str, Callable] = {
    **{
        name: _by_library(name)
        for name in (
            "tan",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "exp2",
            "expm1",
            "log1p",
            "cbrt",
            "erf",
            "erfc",
        )
    },
    "lgamma": _by_library("lgamma"),
    "sqrt": lambda b, t, x: intrinsic(b, t, "sqrt", x),
    "floor": lambda b, t, x: intrinsic(b, t, "floor", x),
    "ceil": lambda b, t, x: intrinsic(b, t, "ceil", x),
    "rsqrt": _reciprocal_root,
}
"""Emitters of float functions by primitive name, without those of `trigonometry` and
`exponentials`.
"""


def converted(b: Builder, source: DTypeLike, target: DTypeLike, x: Operand) -> Operand:
    """Convert a number to another type with the semantics of XLA."""
    s, t = register_type(source), register_type(target)
    if type(x) is not Value:
        return _converted_constant(s, t, target, x)
    if t == "i1":
        zero, predicate = (0.0, "une") if s in FLOATS else (0, "ne")
        return b.compare(predicate, s, x, zero, operator.ne)
    if s in FLOATS and t in FLOATS:
        return b.cast("fpext" if t == "double" else "fptrunc", s, t, x)
    if s in FLOATS:
        kind = "s" if is_signed(target) else "u"
        suffix = f"{t}.{'f64' if s == 'double' else 'f32'}"
        # saturating beyond the range of integers; NaN becomes zero
        return b.call(t, f"llvm.fpto{kind}i.sat.{suffix}", [s], x)
    if t in FLOATS:
        kind = "s" if is_signed(source) else "u"
        return b.cast(f"{kind}itofp", s, t, x)
    if BITS[s] == BITS[t]:
        return x
    if BITS[s] > BITS[t]:
        return b.cast("trunc", s, t, x)
    return b.cast("sext" if is_signed(source) else "zext", s, t, x)


def total_order(b: Builder, dtype: DTypeLike, x: Operand) -> tuple[str, Operand]:
    """Map a float to an integer that orders all floats, −0 before 0 and NaN last; also its type."""
    t = register_type(dtype)
    if t not in FLOATS:
        return t, x
    bits = BITS[t]
    of = f"i{bits}"
    if type(x) is not Value:
        x = int(np.array(x, dtype).view(f"i{bits // 8}"))
        return of, x if x >= 0 else x ^ ((1 << (bits - 1)) - 1)
    x = b.cast("bitcast", t, of, x)
    below = b.shared(of, "ashr", x, bits - 1)
    return of, b.shared(of, "xor", x, b.shared(of, "lshr", below, 1))


def _converted_constant(s: str, t: str, target: DTypeLike, x: float) -> Operand:
    if t == "i1":
        return bool(x)
    if t in FLOATS:
        return float(x) if t == "double" else float(np.float32(x))
    if s in FLOATS:
        if x != x:
            return 0
        bounds = np.iinfo(target)
        return int(min(max(x, bounds.min), bounds.max))
    return wrapped(target, int(x))


def extreme(b: Builder, name: str, dtype: DTypeLike) -> Callable[[Operand, Operand], Operand]:
    """Emit the maximum or minimum of two numbers; NaN if either float is NaN."""
    t = register_type(dtype)
    if t == "i1":
        return lambda x, y: b.logic("or" if name == "max" else "and", x, y)
    larger = name == "max"
    pick = max if larger else min
    if t not in FLOATS:
        predicate = ("s" if is_signed(dtype) else "u") + ("gt" if larger else "lt")
        fold = operator.gt if larger else operator.lt

        def of_integers(x, y):
            if type(x) is not Value and type(y) is not Value:
                return pick(x, y)
            return b.select(t, b.compare(predicate, t, x, y, fold), x, y)

        return of_integers

    least = -math.inf if larger else math.inf

    def of_floats(x, y):
        if type(x) is not Value and type(y) is not Value:
            if x != x or y != y:
                return math.nan
            return pick(x, y)
        # An unordered comparison selects NaN; of equal numbers, zeros, it selects the second one.
        if type(y) is not Value:
            if y == least:
                return x
            first = b.compare("ugt" if larger else "ult", t, x, y, None)
            return b.select(t, first, x, y) if y == y else y
        if type(x) is not Value:
            if x == least or (larger and x <= 0 and _is_size(y)):
                return y
            second = b.compare("uge" if larger else "ule", t, y, x, None)
            return b.select(t, second, y, x) if x == x else x
        chosen = b.select(t, b.compare("ogt" if larger else "olt", t, x, y, None), x, y)
        return b.select(t, b.compare("uno", t, y, x, None), math.nan, chosen)

    return of_floats


def _is_size(x: Value) -> bool:
    """Return whether a float is a square root or a magnitude, which is never negative."""
    return x.operation.startswith(("call @llvm.sqrt.", "call @llvm.fabs."))
