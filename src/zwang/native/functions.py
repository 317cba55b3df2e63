"""Functions of one and two floating-point numbers: instructions of the processor, or the C library.

A call of the library rounds as `libm` does, within one unit in the last place; it is the same
function whatever the level of optimization.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.native.builder import Builder, Value


def _suffix(t: str) -> str:
    return "f64" if t == "double" else "f32"


def intrinsic(b: Builder, t: str, name: str, *x: Any) -> Any:
    """One of LLVM's functions that the processor has an instruction for."""
    if all(type(y) is not Value for y in x):
        fold = {
            "sqrt": np.sqrt,
            "floor": np.floor,
            "ceil": np.ceil,
            "fabs": np.abs,
            "roundeven": np.rint,
            "round": lambda y: np.trunc(y + math.copysign(0.5, y)),
        }[name]
        with np.errstate(all="ignore"):
            return _narrow(t, float(fold(*x)))
    return b.intrinsic(t, f"{name}.{_suffix(t)}", *x)


def magnitude(b: Builder, t: str, x: Any) -> Any:
    if type(x) is Value and x.operation == "fneg":
        x = x.operands[0]
    return intrinsic(b, t, "fabs", x)


def library(b: Builder, t: str, name: str, *x: Any) -> Any:
    """A function of the C library."""
    if all(type(y) is not Value for y in x) and (fold := FOLDED.get(name)) is not None:
        with np.errstate(all="ignore"):
            return _narrow(t, float(fold(*(np.float64(y) for y in x))))
    name = name if t == "double" else name + "f"
    return b.call(t, name, [t] * len(x), *x)


def _narrow(t: str, x: float) -> float:
    return x if t == "double" else float(np.float32(x))


FOLDED: dict[str, Callable] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "pow": np.power,
    "fmod": np.fmod,
    "nextafter": np.nextafter,
}
"""Functions of the library by which constants are computed while the code is written."""


def _by_library(name: str) -> Callable:
    return lambda b, t, *x: library(b, t, name, *x)


def _reciprocal_root(b: Builder, t: str, x: Any) -> Any:
    return b.divide(t, 1.0, intrinsic(b, t, "sqrt", x))


def _logistic(b: Builder, t: str, x: Any) -> Any:
    return b.divide(t, 1.0, b.add(t, 1.0, library(b, t, "exp", b.negative(t, x))))


OF_FLOATS: dict[str, Callable] = {
    **{
        name: _by_library(name)
        for name in (
            "sin",
            "cos",
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
            "exp",
            "exp2",
            "expm1",
            "log",
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
    "logistic": _logistic,
}
"""Emitted code of each primitive that is a function of floats, by its name."""
