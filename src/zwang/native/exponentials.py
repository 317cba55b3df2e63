"""Exponential and logarithm as inline instructions, for any number of SIMD lanes.

    x = k ln 2 + r,  |r| ≤ ½ ln 2:      exp x = 2ᵏ (1 + r + r²/2 + r³ E(r))
    x = 2ᵉ m,  √½ ≤ m < √2,  f = m − 1,  s = f / (2 + f):
                                        log x = e ln 2 + f − (f²/2 − s (f²/2 + s² L(s²)))

The results are within one unit in the last place (`tests/native/test_exponentials.py`). They are
bitwise identical in native code, C and WebAssembly, whereas the C libraries of several systems
differ.
"""

from __future__ import annotations

import math

from zwang.native import functions
from zwang.native.builder import Builder, Value
from zwang.native.instructions import Operand

LN_2 = (0.6931471803691238, 1.9082149292705877e-10)
"""ln 2 in two parts; the first has 32 bits, so that its product with k is exact."""
ONE_OVER_LN_2 = 1.4426950408889634
OVERFLOW, UNDERFLOW = 709.782712893384, -745.1332191019411
"""Arguments beyond which the exponential overflows to infinity or underflows to zero."""
ROOT_HALF = 0x3FE6A09E667F3BCD
"""The bits of √½."""
NORMAL, RAISED = 2.2250738585072014e-308, 54
"""The least normal number; subnormal ones are scaled by a power of two."""
MANTISSA, BIAS = 52, 1023
"""Mantissa bits of a double, and the exponent bias."""
E = (
    *(0.16666666666666669, 0.041666666666666664, 0.008333333333330062),
    *(0.0013888888888886552, 0.00019841269863053618, 2.4801587317144498e-05),
    *(2.7557268459997064e-06, 2.755728296954995e-07, 2.510038549551032e-08),
    2.0911236630261545e-09,
)
L = (
    *(0.6666666666666666, 0.4000000000000088, 0.2857142857080285, 0.22222222391887064),
    *(0.18181795621632782, 0.15386240708969665, 0.13268746195596595, 0.13086907887965027),
)
"""Polynomials that interpolate (exp r − 1 − r − r²/2) / r³ and (log((1 + s) / (1 − s)) / s − 2) /
s² at Chebyshev nodes.
"""
D = "double"


def exponential(b: Builder, t: str, x: Operand) -> Operand:
    if t != D or type(x) is not Value:
        return functions.library(b, t, "exp", x)
    size = functions.intrinsic(b, t, "fabs", x)
    within = b.compare("ole", t, size, -UNDERFLOW, None)
    small: Operand = b.select(t, within, x, 0.0)
    k = functions.intrinsic(b, t, "roundeven", b.multiply(t, small, ONE_OVER_LN_2))
    rest = b.subtract(t, small, b.multiply(t, k, LN_2[0]))
    lost = b.multiply(t, k, LN_2[1])
    r = b.subtract(t, rest, lost)
    # the rounding error of r
    tail = b.subtract(t, b.subtract(t, rest, r), lost)
    z = b.multiply(t, r, r)
    cubic = b.multiply_add(t, b.multiply(t, z, r), functions.polynomial(b, E, r), tail)
    near = b.add(t, 1.0, b.add(t, r, b.multiply_add(t, z, 0.5, cubic)))
    whole = b.cast("fptosi", t, "i64", k)
    half = b.shared("i64", "ashr", whole, 1)
    for part in (half, b.shared("i64", "sub", whole, half)):  # 2ᵏ may leave the range
        near = b.multiply(t, near, _power_of_two(b, part))
    beyond = b.select(t, b.compare("ogt", t, x, OVERFLOW, None), math.inf, near)
    beyond = b.select(t, b.compare("olt", t, x, UNDERFLOW, None), 0.0, beyond)
    return b.select(t, b.compare("uno", t, x, x, None), x, beyond)


def _power_of_two(b: Builder, exponent: Value) -> Value:
    bits = b.shared("i64", "shl", b.shared("i64", "add", exponent, BIAS), MANTISSA)
    return b.cast("bitcast", "i64", D, bits)


def logarithm(b: Builder, t: str, x: Operand) -> Operand:
    if t != D or type(x) is not Value:
        return functions.library(b, t, "log", x)
    tiny = b.compare("olt", t, x, NORMAL, None)
    raised = b.select(t, tiny, b.multiply(t, x, 2.0**RAISED), x)
    assert type(raised) is Value
    bits = b.cast("bitcast", t, "i64", raised)
    exponent = b.shared("i64", "ashr", b.shared("i64", "sub", bits, ROOT_HALF), MANTISSA)
    shifted = b.shared("i64", "shl", exponent, MANTISSA)
    m = b.cast("bitcast", "i64", t, b.shared("i64", "sub", bits, shifted))
    e = b.subtract(t, b.cast("sitofp", "i64", t, exponent), b.select(t, tiny, float(RAISED), 0.0))
    f = b.subtract(t, m, 1.0)
    s = b.divide(t, f, b.add(t, 2.0, f))
    z = b.multiply(t, s, s)
    half = b.multiply(t, b.multiply(t, f, 0.5), f)
    rest = b.add(t, half, b.multiply(t, z, functions.polynomial(b, L, z)))
    slope = b.multiply_add(t, s, rest, b.multiply(t, e, LN_2[1]))
    near = b.subtract(t, b.multiply(t, e, LN_2[0]), b.subtract(t, b.subtract(t, half, slope), f))
    zero = b.compare("oeq", t, x, 0.0, None)
    near = b.select(t, b.compare("olt", t, x, math.inf, None), near, x)
    # NaN for NaN and for negative numbers
    near = b.select(t, b.compare("oge", t, x, 0.0, None), near, math.nan)
    return b.select(t, zero, -math.inf, near)


def logistic(b: Builder, t: str, x: Operand) -> Operand:
    return b.divide(t, 1.0, b.add(t, 1.0, exponential(b, t, b.negative(t, x))))


EXPONENTIALS = {"exp": exponential, "log": logarithm, "logistic": logistic}
