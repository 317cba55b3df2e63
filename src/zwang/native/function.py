"""Functions of arrays as native code."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

from zwang.native import rules as rules
from zwang.native.arrays import Memory, fill, row_major, scalars
from zwang.native.builder import Buffer, Builder, Value
from zwang.native.errors import NotNativeError
from zwang.native.machine import Code, has_fused, object_code
from zwang.native.text import module_text
from zwang.native.types import register_type
from zwang.native.walk import emit

ENTRY = "zwang_function"
MOST_LOADED = 1024
"""Elements of an argument that are read at the beginning; of a larger one where they are used."""


class NativeFunction:
    """A function of arrays as machine code; thread-safe, and other threads run meanwhile.

    Attributes:
        instructions: of the code.
        seconds: how long it took to trace, emit and translate it.

    Args:
        program: the traced function.
        level: 0 for code at once, 1 for fast code.
    """

    def __init__(self, program: ClosedJaxpr, level: int = 1):
        self.seconds: dict[str, float] = {}
        begun = time.perf_counter()
        builder = Builder(has_fused())
        _emit_program(builder, program)
        text, self.instructions = module_text(builder, ENTRY)
        emitted = time.perf_counter()
        self._code = Code(object_code(text, level), ENTRY)
        self.seconds = {"emit": emitted - begun, "translate": time.perf_counter() - emitted}
        self.text = text
        self.arguments = [(x.shape, np.dtype(x.dtype)) for x in program.in_avals]
        self.results = [(x.shape, np.dtype(x.dtype)) for x in program.out_avals]
        self.workspace = builder.workspace
        self._pointers = ctypes.c_void_p * max(len(self.arguments), 1)
        self._targets = ctypes.c_void_p * max(len(self.results), 1)

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """The function's results as arrays of NumPy."""
        given = [
            np.ascontiguousarray(x, dtype)
            for x, (_, dtype) in zip(arrays, self.arguments, strict=True)
        ]
        found = [np.empty(shape, dtype) for shape, dtype in self.results]
        work = np.empty(self.workspace + 64, np.uint8)
        self._code.call(
            self._pointers(*(x.ctypes.data for x in given)),
            self._targets(*(x.ctypes.data for x in found)),
            work.ctypes.data + (-work.ctypes.data) % 64,
        )
        return found


def _emit_program(b: Builder, program: ClosedJaxpr) -> None:
    """The whole function: arguments, the program, results."""
    arguments: list = []
    for k, x in enumerate(program.in_avals):
        t = register_type(x.dtype)
        pointer = b.shared("ptr", "getelementptr ptr", b.pointers[0], k, of="i64")
        base = b.shared("ptr", "load", pointer)
        view = Memory(Buffer(base, False), np.dtype(x.dtype), x.shape, row_major(x.shape))
        del t
        arguments.append(view if view.size > MOST_LOADED else _loaded(b, view))
    found = emit(b, program, arguments)
    for k, (x, like) in enumerate(zip(found, program.out_avals, strict=True)):
        pointer = b.shared("ptr", "getelementptr ptr", b.pointers[1], k, of="i64")
        base = b.shared("ptr", "load", pointer)
        target = Memory(Buffer(base, True), np.dtype(like.dtype), like.shape, row_major(like.shape))
        if math.prod(like.shape):
            fill(b, target, x)


def _loaded(b: Builder, view: Memory) -> Any:
    found = scalars(b, view)
    b.remember(("spilled", id(found)), (view, found))  # it lies in memory already
    return found


def function(f: Callable, *examples: Any, level: int = 1) -> Callable:
    """A function of arrays as native code.

    Args:
        f: of arrays, written in `jax.numpy`; its result is a pytree of arrays.
        examples: arrays, or shapes with types, as its arguments.
        level: 0 for code at once, 1 for fast code.

    Returns:
        The same function of arrays of the same shapes; its result holds arrays of NumPy.

    Raises:
        NotNativeError: if the function has an operation, a type or a size that is not emitted.

    Example:
        >>> norm = native.function(lambda x: jnp.sqrt(x @ x), np.zeros(3))
        >>> norm(np.array([2.0, 3.0, 6.0]))
        array(7.)
    """
    shape: Any = None

    def flat(*arrays):
        nonlocal shape
        leaves, shape = jax.tree_util.tree_flatten(f(*arrays))
        return leaves

    program = jax.make_jaxpr(flat)(*examples)
    code = NativeFunction(program, level)

    def called(*arrays: Any) -> Any:
        return jax.tree_util.tree_unflatten(shape, code(*arrays))

    called.code = code
    return called


__all__ = ["NativeFunction", "NotNativeError", "Sequence", "Value", "function"]
