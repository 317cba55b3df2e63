"""Hints of numerical code to the compiler, which do not change results.

They state how a function treats a batch, and what is traced only once.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.custom_batching import custom_vmap
from jax.extend.core import get_opaque_trace_state
from jaxtyping import PyTree

from zwang.compile.compatibility import trace_state_clean
from zwang.compile.engine import is_native, last_calls
from zwang.native.instructions import SHARED, WRITTEN_OUT
from zwang.objects.recent import Recent
from zwang.objects.record import combine, partition


def with_batch_rule(leading: Callable) -> Callable[[Callable], Callable]:
    """Decorate a function of one array with its own batched version.

    Args:
        leading: the function for arrays along the first axis, as `jax.vmap` has them.

    Example:
        >>> @with_batch_rule(jax.vmap(f))
        ... def f(x): ...
    """

    def decorated(function: Callable) -> Callable:
        batched = custom_vmap(function)

        @batched.def_vmap
        def rule(size, is_batched, x):
            return leading(x), True

        return batched

    return decorated


def member_by_member(
    function: Callable, *, last_alone: Callable | None = None
) -> Callable[..., Any]:
    """Make a function whose batches are computed one member after another on a CPU.

    In jaxlib 0.10.0 to 0.11.0 a call of LAPACK for many matrices blocks the thread that its own
    parts wait for, and several such calls deadlock. Measured for a Cholesky factor of 38 rows: 33
    µs a member, as fast as all members in one call.

    Args:
        function: of arrays, to a pytree of arrays; it has no reverse-mode derivative in a batch, so
            that its caller gives one (`zwang.algebra.lapack`).
        last_alone: the function for a batch of the last argument alone, along the first axis, if
            one call can compute it.
    """
    # `custom_vmap` takes all arguments for arrays, which options of the function are not
    single = custom_vmap(lambda *args: function(*args))

    @single.def_vmap
    def rule(size, is_batched, *args):
        if last_alone is not None and not any(is_batched[:-1]):
            return last_alone(*args), True
        batched = [x for x, own in zip(args, is_batched, strict=True) if own]

        def member(*own):
            left = iter(own)
            return single(*(next(left) if b else x for x, b in zip(args, is_batched, strict=True)))

        in_turn = lambda *rows: jax.lax.map(lambda row: member(*row), rows)
        beside = jax.vmap(function, [0 if b else None for b in is_batched])
        if is_native():
            found = beside(*args)
        else:
            found = jax.lax.platform_dependent(
                *batched, cpu=in_turn, default=lambda *_: beside(*args)
            )
        return found, jax.tree_util.tree_map(lambda _: True, found)

    return single


def traced_once(function: Callable, *, always: bool = False) -> Callable:
    """Trace a function once for all native programs that call it with arguments of equal shapes.

    Args:
        function: of pytrees, whose leaves that are not arrays can be hashed.
        always: whether other traces share it as well, such as those that count the rows of a
            constraint. It does not pay for short functions.
    """
    return _traced(function, function.__name__, always)


def shared_code(function: Callable, *, always: bool = False) -> Callable:
    """Trace a function once (`traced_once`) and also compile it to native code once.

    If it is long, programs call it as a subroutine.
    """
    return _traced(function, f"{SHARED}{function.__name__}", always)


def written_out(function: Callable) -> Callable:
    """Trace a function once (`traced_once`) and emit its native code without loop rolling.

    For some hundred elements gathered from distant places a loop takes longer, as it loads and
    stores them. In addition, a sum of two products is fused, so equal products do not cancel
    exactly.
    """
    return _traced(function, f"{WRITTEN_OUT}{function.__name__}")


def _traced(function: Callable, name: str, always: bool = False) -> Callable:
    known: Recent[Callable] = Recent(MOST_TRACES)

    @functools.wraps(function)
    def called(*args):
        if not (is_native() or (always and not trace_state_clean())):
            return function(*args)
        arrays, fixed = partition(args)
        leaves, tree = jax.tree_util.tree_flatten(fixed)
        key, given = (tree, tuple(leaves)), tuple(jax.tree_util.tree_leaves(arrays))
        try:
            inner = known.get(key)
        except TypeError:  # arguments without a hash are not shared
            return function(*args)
        if inner is None:
            traced = lambda given: function(*combine(given, fixed))
            traced.__name__ = name
            known.put(key, inner := jax.jit(traced))
        # many constraints may read parts of one result: a trace calls the function once for them
        if not any(isinstance(x, Tracer) for x in given):
            return inner(arrays)
        if (calls := last_calls()) is None:
            return inner(arrays)
        now = inner, get_opaque_trace_state(), given
        if called not in calls or not _same(calls[called][0], now):
            calls[called] = now, inner(arrays)
        return calls[called][1]

    return called


def _same(call: tuple, other: tuple) -> bool:
    """Return whether two calls are of one function in one trace with the same operands."""
    (inner, trace, given), (inner_, trace_, given_) = call, other
    return (
        inner is inner_
        and trace == trace_
        and len(given) == len(given_)
        and all(map(operator.is_, given, given_))
    )


MOST_TRACES = 64
"""Number of traces kept for one function, each for a model or for other argument shapes."""


def over_rows(function: Callable) -> Callable:
    """Apply a function to each row: by a loop in native code, by `vmap` elsewhere.

    Native code would unroll a `vmap` over the rows.

    Args:
        function: of arrays, to a pytree of arrays.
    """
    if is_native():
        return lambda *rows: jax.lax.map(lambda row: function(*row), rows)
    return jax.vmap(function)


def of_members(function: Callable, shared: tuple, own: tuple) -> PyTree:
    """Apply a function to each batch member, one after another on a CPU.

    On a CPU `vmap` would need the memory of all members, and callbacks support one member only.

    Args:
        shared, own: its arguments as `zwang.objects.record.combine` takes them.
    """
    one = lambda own: function(*combine(own, shared))
    side_by_side = jax.default_backend() != "cpu"
    return jax.vmap(one)(own) if side_by_side else jax.lax.map(one, own)


@custom_vmap
def for_any_member(x: jax.Array) -> jax.Array:
    """Return whether a truth value holds for any batch member.

    It is the condition of a branch that is skipped if no member needs it. Native code evaluates the
    condition for each member.
    """
    return x


@for_any_member.def_vmap
def _of_all(size: int, is_batched: list, x: jax.Array) -> tuple[jax.Array, bool]:
    return for_any_member(jnp.any(x, axis=0)), False
