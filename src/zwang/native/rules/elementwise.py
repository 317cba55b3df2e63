"""Elementwise operations on arrays."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable

import numpy as np

from zwang.native import exponentials, functions, trigonometry
from zwang.native.arrays import (
    MOST_LOADED,
    Elements,
    Emitted,
    Memory,
    assign,
    constants,
    each,
    element,
    is_written_out,
    loop,
    memory,
    new_memory,
    scalars,
)
from zwang.native.builder import Builder, Value
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Operand
from zwang.native.types import BITS, FLOATS, is_signed, register_type, wrapped
from zwang.native.walk import Call, rule


def elementwise(call: Call, function: Callable[..., Operand], commutes: bool = False) -> Elements:
    """Apply a function of scalars to every element; operands in memory are read in loops.

    `commutes` says whether the operands may be exchanged.
    """
    b, out = call.builder, call.outputs[0]
    in_loops = any(isinstance(x, Memory) and x.size > 1 for x in call.inputs)
    if not in_loops or (out.size <= MOST_LOADED and any(map(is_written_out, call.inputs))):
        arrays = [scalars(b, x) for x in call.inputs]
        types = list(map(register_type, (*call.dtypes, out.dtype)))
        return each(b, function, arrays, types[:-1], types[-1], commutes)
    target = new_memory(b, out.dtype, out.shape)
    operands = [
        x if isinstance(x, Memory) or x.ndim == 0 else memory(b, x, call.dtypes[i])
        for i, x in enumerate(call.inputs)
    ]

    def at(index: tuple) -> None:
        read = [
            x.item() if isinstance(x, np.ndarray) else element(b, x, _index_of(x, index))
            for x in operands
        ]
        assign(b, target, index, function(*read))

    loop(b, out.shape, at)
    return target


def _index_of(x: Memory, index: tuple) -> tuple:
    """Index into an operand, with axes of length one broadcast."""
    return tuple(0 if n == 1 else i for n, i in zip(x.shape, index, strict=True)) if x.shape else ()


def _type(call: Call) -> str:
    return register_type(call.dtypes[0])


def arithmetic(on_floats: str, instruction: str, fold: Callable) -> Callable[[Call], Emitted]:
    """Make the rule of an operation on floats, integers, and truth values taken as numbers."""

    def emitted(call: Call) -> Emitted:
        t, dtype, b = _type(call), call.dtypes[0], call.builder
        if t in FLOATS:
            method = getattr(b, on_floats)
            return elementwise(call, lambda x, y: method(t, x, y), on_floats != "subtract")
        if (found := call.folded(fold)) is not None:
            return found
        whole = lambda x, y: wrapped(dtype, fold(x, y))
        return elementwise(call, lambda x, y: b.integer(instruction, t, x, y, whole))

    return emitted


rule("add", "add_any")(arithmetic("add", "add", operator.add))
rule("sub")(arithmetic("subtract", "sub", operator.sub))
rule("mul")(arithmetic("multiply", "mul", operator.mul))


@rule("div")
def divide(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x, y: b.divide(t, x, y))
    return elementwise(call, lambda x, y: _integer_division(b, dtype, x, y)[0])


@rule("rem")
def remainder(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x, y: functions.library(b, t, "fmod", x, y))
    return elementwise(call, lambda x, y: _integer_division(b, dtype, x, y)[1])


def _integer_division(b: Builder, dtype, x, y) -> tuple:
    """Quotient rounded towards zero, and remainder; −1 and x for a zero divisor, as in XLA."""
    t, signed = register_type(dtype), is_signed(dtype)
    if type(x) is not Value and type(y) is not Value:
        if y == 0:
            return wrapped(dtype, -1), x
        quotient = int(math.copysign(1, x) * math.copysign(1, y)) * (abs(x) // abs(y))
        return wrapped(dtype, quotient), wrapped(dtype, x - quotient * y)
    by_zero = b.compare("eq", t, y, 0, operator.eq)
    least = -(1 << (BITS[t] - 1))
    overflows = signed and b.logic(
        "and", b.compare("eq", t, x, least, operator.eq), b.compare("eq", t, y, -1, operator.eq)
    )
    # A divisor that traps is replaced before the division, and the result is corrected afterwards.
    safe = b.select(t, b.logic("or", by_zero, overflows), 1, y)
    kind = "s" if signed else "u"
    quotient = b.shared(t, f"{kind}div", x, safe)
    rest = b.shared(t, f"{kind}rem", x, safe)
    return b.select(t, by_zero, -1, quotient), b.select(t, by_zero, x, rest)


@rule("neg")
def negative(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x: b.negative(t, x))
    fold = lambda x, y: wrapped(dtype, x - y)
    return elementwise(call, lambda x: b.integer("sub", t, 0, x, fold))


@rule("abs")
def absolute(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x: functions.magnitude(b, t, x))
    if not is_signed(dtype):
        return call.inputs[0]

    def of(x):
        if type(x) is not Value:
            return wrapped(dtype, abs(x))
        below = b.compare("slt", t, x, 0, operator.lt)
        return b.select(t, below, b.shared(t, "sub", 0, x), x)

    return elementwise(call, of)


@rule("integer_pow")
def integer_power(call: Call) -> Emitted:
    t, b, y, dtype = _type(call), call.builder, call.params["y"], call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x: power(b, t, x, y))
    fold = lambda x, z: wrapped(dtype, x * z)

    def of(x):
        found = 1
        for _ in range(y):
            found = b.integer("mul", t, found, x, fold)
        return found

    return elementwise(call, of)


def power(b: Builder, t: str, x: Operand, y: int) -> Operand:
    """Raise x to an integer power by repeated squaring."""
    if y < 0:
        return b.divide(t, 1.0, power(b, t, x, -y))
    found: Operand | None = None
    while y:
        if y & 1:
            found = x if found is None else b.multiply(t, found, x)
        y >>= 1
        if y:
            x = b.multiply(t, x, x)
    return 1.0 if found is None else found


@rule("square")
def square(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:
        return elementwise(call, lambda x: b.multiply(t, x, x))
    fold = lambda x, y: wrapped(dtype, x * y)
    return elementwise(call, lambda x: b.integer("mul", t, x, x, fold))


PREDICATES = {
    "lt": ("olt", "lt", operator.lt),
    "le": ("ole", "le", operator.le),
    "gt": ("ogt", "gt", operator.gt),
    "ge": ("oge", "ge", operator.ge),
    "eq": ("oeq", "eq", operator.eq),
    "ne": ("une", "ne", operator.ne),
}


@rule(*PREDICATES)
def compare(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    on_floats, plain, fold = PREDICATES[call.name]
    if t in FLOATS:
        predicate = on_floats
    elif plain in ("eq", "ne"):
        predicate = plain
    else:
        predicate = ("s" if is_signed(dtype) else "u") + plain
    found, compared = call.folded(fold), lambda x, y: b.compare(predicate, t, x, y, fold)
    return elementwise(call, compared) if found is None else found


@rule("eq_to", "lt_to", "le_to")
def compare_in_full(call: Call) -> Emitted:
    """Comparisons in the total order of floats: −0 before 0, NaN at the ends by its sign."""
    b, dtype = call.builder, call.dtypes[0]
    _, plain, fold = PREDICATES[call.name.removesuffix("_to")]
    signed = np.dtype(dtype).kind in "if"
    predicate = plain if plain == "eq" else ("s" if signed else "u") + plain

    def of(x, y):
        (t, x), (_, y) = (functions.total_order(b, dtype, z) for z in (x, y))
        return b.compare(predicate, t, x, y, fold)

    return elementwise(call, of)


@rule("and", "or", "xor")
def logic(call: Call) -> Emitted:
    t, b, name = _type(call), call.builder, call.name
    if t == "i1":
        return elementwise(call, lambda x, y: b.logic(name, x, y))
    fold = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
    return elementwise(call, lambda x, y: b.integer(name, t, x, y, fold))


@rule("not")
def negation(call: Call) -> Emitted:
    t, b = _type(call), call.builder
    if t == "i1":
        return elementwise(call, lambda x: b.logic("xor", x, True))
    fold = lambda x, y: wrapped(call.dtypes[0], x ^ y)
    return elementwise(call, lambda x: b.integer("xor", t, x, -1, fold))


@rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def shift(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    name = {"shift_left": "shl", "shift_right_logical": "lshr"}.get(call.name, "ashr")
    bits = BITS[t]
    unsigned = (1 << bits) - 1

    def of(x, y):
        if type(y) is not Value:
            if not 0 <= y < bits:
                if name != "ashr":
                    return 0
                y = bits - 1
            if type(x) is not Value:
                if name == "shl":
                    return wrapped(dtype, x << y)
                whole = x & unsigned
                if name == "ashr" and whole >> (bits - 1):
                    whole -= 1 << bits
                return wrapped(dtype, whole >> y)
            return b.shared(t, name, x, y)
        # A shift by all bits or more is undefined in LLVM and zero in XLA.
        inside = b.compare("ult", t, y, bits, lambda a, c: a < c)
        moved = b.shared(t, name, x, b.select(t, inside, y, 0))
        over = b.shared(t, "ashr", x, bits - 1) if name == "ashr" else 0
        return b.select(t, inside, moved, over)

    return elementwise(call, of)


@rule("max", "min")
def extremum(call: Call) -> Emitted:
    return elementwise(call, functions.extreme(call.builder, call.name, call.dtypes[0]))


@rule("select_n")
def choose(call: Call) -> Emitted:
    b, t = call.builder, register_type(call.outputs[0].dtype)
    cases = len(call.inputs) - 1
    if _type(call) == "i1":
        if t == "i1":
            return elementwise(call, lambda c, no, yes: _choose_truth(b, c, yes, no))
        return elementwise(call, lambda c, no, yes: b.select(t, c, yes, no))
    number = _type(call)

    def of(which, *values):
        found = values[-1]
        for k in range(cases - 2, -1, -1):
            here = b.compare("eq", number, which, k, operator.eq)
            found = b.select(t, here, values[k], found)
        return found

    return elementwise(call, of)


def _choose_truth(b: Builder, c: Operand, yes: Operand, no: Operand) -> Operand:
    if type(c) is not Value:
        return yes if c else no
    if type(yes) is not Value:
        return b.logic("or", c, no) if yes else b.logic("and", b.logic("xor", c, True), no)
    if type(no) is not Value:
        return b.logic("or", b.logic("xor", c, True), yes) if no else b.logic("and", c, yes)
    return b.select("i1", c, yes, no)


@rule("clamp")
def clamp(call: Call) -> Emitted:
    b, dtype = call.builder, call.dtypes[1]
    low, high = functions.extreme(b, "max", dtype), functions.extreme(b, "min", dtype)
    return elementwise(call, lambda least, x, most: high(low(x, least), most))


@rule("sign")
def sign(call: Call) -> Emitted:
    t, b, dtype = _type(call), call.builder, call.dtypes[0]
    if t in FLOATS:

        def of(x):
            if type(x) is not Value:
                return x if x == 0 or x != x else math.copysign(1.0, x)
            signed = b.intrinsic(t, f"copysign.{'f64' if t == 'double' else 'f32'}", 1.0, x)
            ordinary = b.compare("one", t, x, 0.0, None)
            return b.select(t, ordinary, signed, x)

        return elementwise(call, of)
    positive = "sgt" if is_signed(dtype) else "ugt"

    def of_integer(x):
        if type(x) is not Value:
            return (x > 0) - (x < 0)
        above = b.compare(positive, t, x, 0, operator.gt)
        below = b.compare("slt", t, x, 0, operator.lt) if is_signed(dtype) else False
        return b.select(t, above, 1, b.select(t, below, -1, 0))

    return elementwise(call, of_integer)


@rule("is_finite")
def is_finite(call: Call) -> Emitted:
    t, b = _type(call), call.builder

    def of(x):
        if type(x) is not Value:
            return math.isfinite(x)
        return b.compare("one", t, functions.magnitude(b, t, x), math.inf, None)

    return elementwise(call, of)


OF_FLOATS = functions.OF_FLOATS | trigonometry.OF_ANGLES | exponentials.EXPONENTIALS


@rule(*OF_FLOATS)
def function(call: Call) -> Emitted:
    t, b = _type(call), call.builder
    if t not in FLOATS:
        raise NotNativeError(f"{call.name} of {call.dtypes[0]}")
    if call.name in trigonometry.OF_ANGLES and t == "double" and not call.in_memory:
        return trigonometry.of_angles(b, call.name, call.scalars(0))
    return elementwise(call, lambda *x: OF_FLOATS[call.name](b, t, *x))


@rule("pow")
def raised(call: Call) -> Emitted:
    t, b = _type(call), call.builder
    if call.dtypes[1] != call.dtypes[0]:
        exponents = call.known(1)
        if exponents is None or exponents.size != 1:
            raise NotNativeError("powers whose exponents are integers that are not known")
        n = int(exponents.reshape(()))
        one = {x: getattr(call, x)[:1] for x in ("inputs", "dtypes", "shapes", "last")}
        return integer_power(dataclasses.replace(call, name="integer_pow", params={"y": n}, **one))
    return elementwise(call, lambda x, y: functions.library(b, t, "pow", x, y))


@rule("round")
def rounded(call: Call) -> Emitted:
    t, b = _type(call), call.builder
    name = "roundeven" if int(call.params["rounding_method"]) == 1 else "round"
    return elementwise(call, lambda x: functions.intrinsic(b, t, name, x))


@rule("convert_element_type")
def convert(call: Call) -> Emitted:
    b, source, target = call.builder, call.dtypes[0], np.dtype(call.outputs[0].dtype)
    if source == target:
        return call.inputs[0]
    if source.kind == "b" and (truths := call.known(0)) is not None:  # such as a unit matrix
        return constants(truths.astype(target))
    return elementwise(call, lambda x: functions.converted(b, source, target, x))


@rule("nextafter")
def next_after(call: Call) -> Emitted:
    t, b = _type(call), call.builder
    return elementwise(call, lambda x, y: functions.library(b, t, "nextafter", x, y))
