"""Functions of arrays made into compiled programs: as one kernel, or operation by operation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import jax

from zwang.compile import canary, fusion
from zwang.compile.events import NOT_FUSED, NOT_NATIVE
from zwang.compile.hints import native_trace, quick_trace
from zwang.compile.options import compiler_options
from zwang.errors import ModelError
from zwang.native import NativeFunction, NotNativeError, translated


class Lowered(NamedTuple):
    """A program in its three stages (`jax.stages`); native code is not lowered."""

    traced: jax.stages.Traced
    lowered: jax.stages.Lowered | None
    compiled: jax.stages.Compiled | NativeFunction


class Way(NamedTuple):
    """How a function of arrays is compiled.

    Attributes:
        limits: how large one kernel may be; None for none.
        quick: whether it is to be compiled quickly rather than to run fast.
        members: how many motions lie side by side in it; 0 for a program of one.
        native: whether it becomes native code, if all of it can.
    """

    limits: fusion.Limits | None = fusion.SMALL
    quick: bool = False
    members: int = 0
    native: bool = False


def compile_flat(flat: Callable[..., list], arrays: list, way: Way = Way()) -> Lowered:
    """A function of arrays compiled for their shapes: as one kernel if it can be one.

    Args:
        flat: of arrays, to a list of arrays; as one kernel it returns one number more, which means
            nothing.
        arrays: examples.
        way: how.
    """
    # traced once; all ways to compile start from the same operations
    with contextlib.ExitStack() as flags:
        if way.quick:
            flags.enter_context(quick_trace())
        if way.native:
            flags.enter_context(native_trace())
        traced = jax.jit(flat).trace(*arrays)
    # a value of another trace that somebody's function has kept becomes an argument that nobody has
    if len(traced.jaxpr.jaxpr.invars) != len(arrays):
        raise ModelError(
            "a function of the model keeps a traced value from one call to the next: return it "
            "rather than store it in a global, a list or an attribute."
        )
    name = getattr(flat, "__name__", "program")
    if way.native:
        try:
            return Lowered(traced, None, NativeFunction(translated(traced.jaxpr)))
        except NotNativeError as reason:
            jax.monitoring.record_event(NOT_NATIVE, reason=f"{name}: {reason}")
    if _may_be_fused(traced.jaxpr, way, name):
        try:
            lowered = jax.jit(fusion.one_kernel(traced.jaxpr, name)).lower(*arrays)
            of_kernel = fusion.BATCH_KERNEL_OPTIONS if way.members else fusion.KERNEL_OPTIONS
            options = compiler_options() | of_kernel
            return Lowered(traced, lowered, lowered.compile(options))
        except Exception as reason:  # an operation that is not emitted as code after all
            jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
    lowered = traced.lower()
    return Lowered(traced, lowered, lowered.compile(compiler_options(way.members, quick=way.quick)))


def _may_be_fused(program, way: Way, name: str) -> bool:
    """Whether a traced program becomes one kernel here."""
    if way.limits is None:
        return False
    if jax.default_backend() != "cpu" or not fusion.fits(program, way.limits):
        if way.members:  # where a kernel was asked for
            reason = "it is too large, or one of its operations is a call of the runtime"
            jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
        return False
    # asked last: on an unknown version the answer takes a process of its own
    if reason := canary.refusal():
        jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
        return False
    return True
