"""Functions of arrays made into compiled programs: as one kernel, or operation by operation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from zwang.compile import canary, fusion
from zwang.compile.events import NOT_FUSED
from zwang.compile.hints import quick_trace
from zwang.compile.options import compiler_options
from zwang.errors import ModelError


class Lowered(NamedTuple):
    """A program in its three stages (`jax.stages`)."""

    traced: jax.stages.Traced
    lowered: jax.stages.Lowered
    compiled: jax.stages.Compiled


def compile_flat(
    flat: Callable[..., list],
    arrays: list,
    limits: fusion.Limits | None = fusion.SMALL,
    *,
    quick: bool = False,
) -> Lowered:
    """A function of arrays compiled for their shapes: as one kernel if it can be one.

    Args:
        flat: of arrays, to a list of arrays.
        arrays: examples.
        limits: how large one kernel may be; None for none.
        quick: whether it is to be compiled quickly rather than to run fast.
    """
    # traced once; both ways to compile start from the same operations
    with quick_trace() if quick else contextlib.nullcontext():
        traced = jax.jit(flat).trace(*arrays)
    # a value of another trace that somebody's function has kept becomes an argument that nobody has
    if len(traced.jaxpr.jaxpr.invars) != len(arrays):
        raise ModelError(
            "a function of the model keeps a traced value from one call to the next: return it "
            "rather than store it in a global, a list or an attribute."
        )
    name = getattr(flat, "__name__", "program")
    if limits is not None and _may_be_fused(traced.jaxpr, limits, name):
        try:
            lowered = jax.jit(fusion.one_kernel(traced.jaxpr, name)).lower(*arrays)
            options = compiler_options() | fusion.KERNEL_OPTIONS
            return Lowered(traced, lowered, lowered.compile(options))
        except Exception as reason:  # an operation that is not emitted as code after all
            jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
    lowered = traced.lower()
    return Lowered(traced, lowered, lowered.compile(compiler_options(quick=quick)))


def compile_batch_kernel(function: Callable, arguments: tuple) -> jax.stages.Compiled | None:
    """A function of many members (`zwang.compile.batch_last`) compiled as one kernel; None if it
    cannot be one (`NOT_FUSED` says why).

    Args:
        function: of pytrees of arrays.
        arguments: examples.

    Returns:
        The compiled function; its result comes in a pair with a number that means nothing.
    """
    name = getattr(function, "__name__", "program")
    try:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        if not _may_be_fused(closed, fusion.BATCH, name):
            raise NotImplementedError(
                "it is too large, or one of its operations is a call of the runtime"
            )
        kernel, tree = fusion.one_kernel(closed, name), jax.tree_util.tree_structure(shapes)

        def called(*arguments):
            *results, uses_all = kernel(*jax.tree_util.tree_leaves(arguments))
            return jax.tree_util.tree_unflatten(tree, results), uses_all

        options: dict[str, Any] = compiler_options() | fusion.BATCH_KERNEL_OPTIONS
        return jax.jit(called).lower(*arguments).compile(options)
    except Exception as reason:  # such as an operation that is not emitted as code after all
        jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
        return None


def _may_be_fused(program, limits: fusion.Limits, name: str) -> bool:
    """Whether a traced program becomes one kernel here."""
    if jax.default_backend() != "cpu" or not fusion.fits(program, limits):
        return False
    # asked last: on an unknown version the answer takes a process of its own
    if reason := canary.refusal():
        jax.monitoring.record_event(NOT_FUSED, reason=f"{name}: {reason}")
        return False
    return True
