"""Printed programs, and the results of native code for them."""

import functools
import zlib

import jax
import numpy as np

import tests.native.cases as cases
from tests.native.loops import LOOPS
from zwang.native import NativeFunction, translated

FLOATS = (np.float64, np.float32)
WHOLE = (np.int64, np.int32)
SPECIAL = (0.0, -0.0, np.inf, np.nan, 1.5, -2.5, 1e-8, -1e5, 709.5)
LIMITS = (0, 1, -1, 7, -7, 31, 64, 2**31 - 1, -(2**31))


SELECTED = 6
"""Of the cases of arrays and loops each sixth is printed by default."""


def functions(every: int) -> dict[str, tuple]:
    """Each case of a function of numbers, and some of arrays, with its arrays."""
    given = {}
    for name, f in cases.OF_ONE.items():
        given |= {f"{name} of {np.dtype(t)}": (f, cases.one(SPECIAL, t)) for t in FLOATS}
    for name, f in cases.OF_TWO.items():
        given[name] = f, *cases.pairs(SPECIAL)
    for name, f in cases.OF_INTEGERS.items():
        given |= {f"{name} of {np.dtype(t)}": (f, *cases.pairs(LIMITS, t)) for t in WHOLE}
    for name, f in cases.OF_TRUTHS.items():
        given[f"{name} of truths"] = (f, *cases.pairs((False, True), bool))
    others = [*cases.CASES.items(), *((k, x) for k, x in LOOPS.items() if "huge" not in k)]
    given |= dict(others[::every])
    return given


def _program(f, *arrays):
    flat = lambda *x: jax.tree_util.tree_leaves(f(*x))
    return jax.make_jaxpr(flat)(*arrays), [np.asarray(x) for x in arrays]


@functools.cache
def known(every: int) -> dict[str, tuple]:
    """The programs with what native code gives."""
    return programs_of(functions(every))


def programs_of(given: dict[str, tuple]) -> dict[str, tuple]:
    """Functions with arrays as programs, the arrays, and what native code gives."""
    found = {}
    for name, each in given.items():
        program, arrays = _program(*each)
        code = NativeFunction(translated(program, 0))
        found[name] = program, arrays, code(*arrays)
    return found


def symbol(name: str) -> str:
    """A name for the function of a case."""
    return f"f{zlib.crc32(name.encode()):08x}"
