"""Lookup of a program in the caches, or its compilation.

A program is traced by JAX and becomes native code, or is compiled by XLA if that is not possible.
"""

from __future__ import annotations

import time
from typing import Literal, overload

import jax

from zwang.compile.engine import is_native_wanted, native_trace
from zwang.compile.events import NOT_NATIVE
from zwang.compile.flat import CompiledProgram, FlatFunction, of_xla
from zwang.compile.options import compiler_options
from zwang.compile.program_cache import cache
from zwang.errors import ModelError
from zwang.native.compiled import NativeFunction
from zwang.native.errors import NotNativeError
from zwang.native.machine import fast_code_apart
from zwang.objects.record import is_array


@overload
def obtained(
    flat: FlatFunction, leaves: list, *, make: Literal[True] = ..., of_each: list[bool] | None = ...
) -> CompiledProgram: ...


@overload
def obtained(
    flat: FlatFunction, leaves: list, *, make: bool, of_each: list[bool] | None = ...
) -> CompiledProgram | None: ...


def obtained(
    flat: FlatFunction, leaves: list, *, make: bool = True, of_each: list[bool] | None = None
) -> CompiledProgram | None:
    """Return a cached program of equal content, or compile it if `make`.

    Args:
        of_each: for code that computes several batch members at once, which arrays have a batch
            axis.
    """
    kept = cache.current() if is_native_wanted() else cache.IN_PROCESS
    key = kept.key(flat, leaves, of_each)
    if key is not None and (ready := kept.known(key)) is not None:
        ready.zeros = flat.zeros
        return ready
    if not make:
        return None
    ready = _made(flat, [x for x in leaves if is_array(x)], of_each)
    ready.zeros = flat.zeros
    if key is not None:
        kept.keep(key, flat, ready)
    return ready


def _made(flat: FlatFunction, arrays: list, of_each: list[bool] | None) -> CompiledProgram:
    begun = time.perf_counter()
    if is_native_wanted():
        # These forty modules are not needed in a process whose programs are all cached.
        from zwang.native.translation import translated

        with native_trace():
            traced = jax.jit(flat).trace(*arrays)
        _refuse_kept_values(traced, arrays)
        try:
            if of_each is None:
                code = NativeFunction(translated(traced.jaxpr))
            else:
                code = NativeFunction(translated(traced.jaxpr, 1, of_each, fast_code_apart))
            return CompiledProgram(code, flat.skeleton, time.perf_counter() - begun)
        except NotNativeError as reason:
            if of_each is not None:
                raise
            why = f"{flat.__name__}: {reason}"
            jax.monitoring.record_event(NOT_NATIVE, reason=why)
    else:
        why = "asked for"
    traced = jax.jit(flat).trace(*arrays)
    _refuse_kept_values(traced, arrays)
    compiled = traced.lower().compile(compiler_options())
    seconds = time.perf_counter() - begun
    return CompiledProgram(compiled, flat.skeleton, seconds, of_xla(why))


def _refuse_kept_values(traced: jax.stages.Traced, arrays: list) -> None:
    # A tracer that leaked from another trace becomes an additional argument.
    if len(traced.jaxpr.jaxpr.invars) != len(arrays):
        raise ModelError(
            "a function of the model keeps a traced value from one call to the next: return it "
            "rather than store it in a global, a list or an attribute."
        )
