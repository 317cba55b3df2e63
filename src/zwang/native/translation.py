"""Compilation of a jaxpr: it is walked once, and its instructions are passed to LLVM."""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.native import rules as rules
from zwang.native.arrays import MOST_LOADED, Memory, Scalars, fill, row_major, scalars
from zwang.native.builder import Buffer, Builder
from zwang.native.compiled import ENTRY, NativeFunction
from zwang.native.errors import NotNativeError, refuse_lapack
from zwang.native.instructions import Value
from zwang.native.module import Stored, entry_text, packed_modules, unpacked
from zwang.native.subroutines import routine
from zwang.native.text import function_text, used
from zwang.native.translate import has_fused, lanes, object_code
from zwang.native.types import register_type
from zwang.native.walk import emit


def translated(
    program: ClosedJaxpr,
    level: int = 0,
    of_each: Sequence[bool] | None = None,
    make: Callable[[Sequence[str]], Iterable[bytes]] | None = None,
) -> Stored:
    """Compile a jaxpr to machine code.

    Args:
        program: of arrays.
        level: 0 for fast compilation, with optimization after some run time; 1 for fast code.
        of_each: for code that computes one batch member in each SIMD lane, which arguments have
            a batch axis; its results are bitwise identical to those of one lane.
        make: compiles modules to optimized code; by default this process does.

    Raises:
        NotNativeError: for an operation, a type or a size that is not supported.
    """
    if program.effects:
        raise NotNativeError(f"the effects {program.effects}")
    builder = Builder(has_fused(), 1 if of_each is None else lanes(), ENTRY)
    with _without_collecting():
        _emit_program(builder, program, of_each or [False] * len(program.in_avals))
        head = f"void @{ENTRY}(ptr noalias %in, ptr noalias %out, ptr noalias %work)"
        functions = function_text(builder, head, "ret void", used(builder)).all
        builder.forget()
    instructions, texts = sum(x.instructions for x in functions), packed_modules(functions)
    if level:
        modules = [unpacked(x) for x in texts]
        binaries = tuple(
            [object_code(x, level) for x in modules] if make is None else make(modules)
        )
        if len(binaries) < len(modules):
            raise NotNativeError("a process that could not be started, or has failed")
    else:  # Object code of subroutines exists already if another program has called them.
        own = object_code(entry_text(functions[0]), 0)
        binaries = (own, *(x.binary for x in functions[1:]))
    specify = lambda avals: tuple((tuple(x.shape), np.dtype(x.dtype).str) for x in avals)
    return Stored(
        binaries,
        (level,) * len(binaries),
        texts,
        specify(program.in_avals),
        specify(program.out_avals),
        builder.workspace,
        instructions,
        tuple(sorted(set().union(*(x.routines for x in functions)))),
        builder.lanes,
    )


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Suspend garbage collection: thousands of objects are created, and all are used."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _emit_program(
    b: Builder,
    program: ClosedJaxpr,
    of_each: Sequence[bool],
    places: Callable[[int, int], Any] | None = None,
) -> None:
    """Emit the whole function: load arguments, walk over the program, store results.

    Args:
        of_each: which arguments have a batch axis.
        places: pointer to an argument (0, k) or a result (1, k); by default read from the pointer
            tables that are passed to the function.
    """

    def listed(which: int, k: int) -> Value:
        pointer = b.shared("ptr", "getelementptr ptr", b.pointers[which], k, of="i64")
        return b.shared("ptr", "load", pointer)

    places, arguments = places or listed, []
    for k, x in enumerate(program.in_avals):
        register_type(x.dtype)
        base = places(0, k)
        buffer = _of_lanes(b, base, x, False) if of_each[k] else Buffer(base, False)
        view = Memory(buffer, np.dtype(x.dtype), x.shape, row_major(x.shape))
        arguments.append(view if view.size > MOST_LOADED else _loaded(b, view))
    found = emit(b, program, arguments)
    for k, (x, like) in enumerate(zip(found, program.out_avals, strict=True)):
        buffer = _of_lanes(b, places(1, k), like, True)
        target = Memory(buffer, np.dtype(like.dtype), like.shape, row_major(like.shape))
        if math.prod(like.shape):
            fill(b, target, x)


def instructions_of(
    program: ClosedJaxpr,
    places: Sequence[Sequence[Value]],
    name: str,
) -> Builder:
    """Emit the instructions of a jaxpr for one lane, to be printed in another language.

    Args:
        program: of arrays.
        places: pointers to its arguments and to its results.
        name: of the function.

    Raises:
        NotNativeError: for an operation without a lowering rule, or a call of LAPACK.
    """
    b = Builder(name=name, make=routine)
    with _without_collecting():
        _emit_program(b, program, [False] * len(places[0]), lambda which, k: places[which][k])
    refuse_lapack(b.routines)
    return b


def _of_lanes(b: Builder, base: Value, like: jax.ShapeDtypeStruct, mutable: bool) -> Buffer:
    """Memory of an array with a batch axis."""
    if b.lanes == 1:
        return Buffer(base, mutable)
    return b.of_members(base, math.prod(like.shape) * np.dtype(like.dtype).itemsize, mutable)


def _loaded(b: Builder, view: Memory) -> Scalars:
    found = scalars(b, view)
    b.remember(("spilled", id(found)), (view, found))  # The scalars are in memory already.
    return found


def function(f: Callable, *examples: object, level: int = 0) -> Callable:
    """Compile a function of arrays to native code.

    Args:
        f: of arrays, written in `jax.numpy`; its result is a pytree of arrays.
        examples: arrays, or shapes with types, as its arguments.
        level: 0 for fast compilation, with optimization after some run time; 1 for fast code.

    Returns:
        The same function of arrays of the same shapes; its result holds NumPy arrays.

    Raises:
        NotNativeError: if the function has an operation, a type or a size that is not supported.

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
    code = NativeFunction(translated(program, level))

    def called(*arrays: ArrayLike) -> PyTree:
        return jax.tree_util.tree_unflatten(shape, code(*arrays))

    called.code = code
    return called
