"""Sine and cosine as inline instructions, for any number of SIMD lanes.

    x = k π/2 + r,  |r| ≤ π/4:   sin r = r + r³ S(r²),   cos r = 1 − r²/2 + r⁴ C(r²)

π/2 is subtracted in three parts, so that r is known to twice the digits of a double; the rounding
error of r enters to first order. The result is within one unit in the last place
(`tests/native/test_trigonometry.py`). The C library computes larger arguments.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from zwang.native import functions
from zwang.native.builder import Builder, Value
from zwang.native.instructions import Operand
from zwang.native.rolled import SIDE_BY_SIDE, alike

LIMIT = 1600.0
"""Largest argument; beyond it k has more than ten bits, and three parts of π/2 are too few."""
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""π/2 in parts; the first two have 33 bits, so that their products with k are exact."""
TWO_OVER_PI = 0.6366197723675814
S = (
    *(-0.16666666666666666, 0.008333333333333331, -0.00019841269841265063),
    *(2.7557319219337312e-06, -2.5052106231802837e-08, 1.6058531516797758e-10),
    -7.586691094197958e-13,
)
C = (
    *(0.041666666666666664, -0.0013888888888887398, 2.480158729876456e-05),
    *(-2.7557317271145144e-07, 2.087614614655861e-09, -1.1382623647474604e-11),
)
"""Polynomials that interpolate (sin r − r) / r³ and (cos r − 1 + r²/2) / r⁴ at Chebyshev nodes."""


def sine(b: Builder, t: str, x: Operand) -> Operand:
    return sine_and_cosine(b, x)[0] if _own(x, t) else functions.library(b, t, "sin", x)


def cosine(b: Builder, t: str, x: Operand) -> Operand:
    return sine_and_cosine(b, x)[1] if _own(x, t) else functions.library(b, t, "cos", x)


OF_ANGLES = {"sin": sine, "cos": cosine}


def of_angles(b: Builder, name: str, angles: np.ndarray) -> np.ndarray:
    """Apply sine or cosine to an array, fifty instructions for each register.

    Code for one batch member computes full SIMD registers of array elements.
    """
    key = name, *(x if type(x) is Value else repr(x) for x in angles.flat)
    if (known := b.remembered(key)) is None:
        function = lambda x: OF_ANGLES[name](b, "double", x)
        operands = [angles.reshape(-1).tolist()]
        made = alike(b, function, ["double"], operands, "double", False, SIDE_BY_SIDE, b.spans)
        known = b.remember(key, made)
    found = np.empty(angles.shape, object)
    found.reshape(-1)[:] = known
    return found


def _own(x: Operand, t: str) -> TypeGuard[Value]:
    return t == "double" and type(x) is Value


def sine_and_cosine(b: Builder, x: Value) -> tuple[Operand, Operand]:
    """Compute both functions of a double, which share most instructions."""
    key = ("sine and cosine", x)
    if (known := b.remembered(key)) is not None:
        return known
    t = "double"
    size = functions.intrinsic(b, t, "fabs", x)
    large = b.compare("ugt", t, size, LIMIT, lambda a, c: not a <= c)  # also true for NaN
    near = _of_small(b, x, b.select(t, large, 0.0, x))
    before, far, after = b.block, b.new_block(), b.new_block()
    b.branch(b.any(b.active(large)), far, after)
    b.begin(far)
    with b.scope():
        exact = [functions.library(b, t, name, x) for name in ("sin", "cos")]
        chosen = [b.select(t, large, y, z) for y, z in zip(exact, near, strict=True)]
        b.jump(after)
        end = b.block
    b.begin(after)
    found = [b.phi(t, x.wide) for _ in near]
    for phi, y, z in zip(found, near, chosen, strict=True):
        b.incoming(phi, (y, before), (z, end))
    return b.remember(key, (found[0], found[1]))


def _of_small(b: Builder, x: Value, small: Operand) -> tuple[Operand, Operand]:
    t = "double"
    k = functions.intrinsic(b, t, "roundeven", b.multiply(t, small, TWO_OVER_PI))
    first, second, third = (b.multiply(t, k, part) for part in HALF_PI)
    rest = b.subtract(t, small, first)
    r, lost = _difference(b, rest, second)
    # the rounding error of r
    tail = b.subtract(t, lost, third)
    y = b.add(t, r, tail)
    tail = b.add(t, b.subtract(t, r, y), tail)
    z = b.multiply(t, y, y)
    half = b.multiply(t, z, 0.5)
    one = b.subtract(t, 1.0, half)
    cosine = b.add(
        t, one, b.add(t, b.subtract(t, b.subtract(t, 1.0, one), half), _rest(b, y, z, tail))
    )
    slope = b.multiply_add(
        t, b.multiply(t, y, z), functions.polynomial(b, S, z), b.multiply(t, tail, one)
    )
    sine = b.add(t, y, slope)
    turns = b.cast("fptosi", t, "i32", k)
    odd = _bit(b, turns, 1)
    return (
        # −0 keeps its sign
        b.select(
            t,
            b.compare("oeq", t, x, 0.0, lambda a, c: a == c),
            x,
            _signed(b, _bit(b, turns, 2), b.select(t, odd, cosine, sine)),
        ),
        _signed(b, b.logic("xor", odd, _bit(b, turns, 2)), b.select(t, odd, sine, cosine)),
    )


def _rest(b: Builder, y: Operand, z: Operand, tail: Operand) -> Operand:
    """cos(y + tail) without its leading terms 1 − y²/2."""
    t = "double"
    quartic = b.multiply(t, b.multiply(t, z, z), functions.polynomial(b, C, z))
    return b.multiply_add(t, b.negative(t, y), tail, quartic)


def _difference(b: Builder, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """x − y, and its rounding error."""
    t = "double"
    d = b.shared(t, "fsub", x, y)
    back = b.shared(t, "fsub", x, d)
    other = b.shared(t, "fadd", d, back)
    return d, b.add(t, b.shared(t, "fsub", x, other), b.shared(t, "fsub", back, y))


def _bit(b: Builder, whole: Value, which: int) -> Operand:
    one = b.shared("i32", "and", whole, which)
    return b.compare("ne", "i32", one, 0, lambda x, y: x != y)


def _signed(b: Builder, negative: Operand, x: Operand) -> Operand:
    return b.select("double", negative, b.negative("double", x), x)
