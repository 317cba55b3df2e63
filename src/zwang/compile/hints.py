"""What a computation may tell the compiler without a change of its result, in neutral terms.

Numerics state here how a function treats a batch, and what is traced once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import PyTree

from zwang.compile.engine import is_native
from zwang.native.instructions import SHARED, WRITTEN_OUT
from zwang.objects.recent import Recent
from zwang.objects.record import combine, partition


def with_batch_rule(leading: Callable) -> Callable[[Callable], Callable]:
    """A decorator for a function of one array that has a way of its own for a batch of them.

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
    """A function whose batches are computed one member after another on a processor: a call of
    LAPACK for many matrices at once blocks the thread that its own parts wait for, in jaxlib 0.10.0
    to 0.11.0, and several such calls never return. Measured for a Cholesky factor of 38 rows: 33 µs
    a member, as fast as side by side.

    Args:
        function: of arrays, to a pytree of arrays; it has no reverse-mode derivative in a batch, so
            that its caller gives one (`zwang.algebra.lapack`).
        last_alone: the function for a batch of the last argument alone, along the first axis, where
            one call can do it.
    """
    # options of the function are no arrays, which is what `custom_vmap` takes all arguments for
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


def traced_once(function: Callable) -> Callable:
    """A function that native programs trace once for all of their calls of it with arguments of the
    same shapes, in this program or in another one.

    Args:
        function: of pytrees, whose leaves that are no arrays can be hashed.
    """
    return _traced(function, function.__name__)


def shared_code(function: Callable) -> Callable:
    """A function that is `traced_once`, and whose native code is made once, too: where it is long,
    programs call it as a subroutine.
    """
    return _traced(function, f"{SHARED}{function.__name__}")


def written_out(function: Callable) -> Callable:
    """A function that is `traced_once`, whose native code has no loops over elements that are
    computed alike: where they are gathered from places far from each other, some hundred of them
    take longer by a loop, which reads and writes memory. A sum of two products is rounded once
    less, so that equal ones do not cancel exactly.
    """
    return _traced(function, f"{WRITTEN_OUT}{function.__name__}")


def _traced(function: Callable, name: str) -> Callable:
    known: Recent[Callable] = Recent(MOST_TRACES)

    @functools.wraps(function)
    def called(*args):
        if not is_native():
            return function(*args)
        arrays, fixed = partition(args)
        leaves, tree = jax.tree_util.tree_flatten(fixed)
        key = tree, tuple(leaves)
        try:
            inner = known.get(key)
        except TypeError:  # of what cannot be hashed, nothing is shared
            return function(*args)
        if inner is None:
            traced = lambda given: function(*combine(given, fixed))
            traced.__name__ = name
            known.put(key, inner := jax.jit(traced))
        return inner(arrays)

    return called


MOST_TRACES = 64
"""Models, or shapes of their arguments, whose trace of one function is at hand."""


def over_rows(function: Callable) -> Callable:
    """A function applied to each row of its arguments: by a loop in native code, where rows side by
    side would be written one after the other, and side by side elsewhere.

    Args:
        function: of arrays, to a pytree of arrays.
    """
    if is_native():
        return lambda *rows: jax.lax.map(lambda row: function(*row), rows)
    return jax.vmap(function)


def of_members(function: Callable, shared: tuple, own: tuple) -> PyTree:
    """A function of each member: one after the other on a processor, where side by side they would
    take the memory of all of them, and callbacks know one alone.

    Args:
        shared, own: its arguments as `zwang.objects.record.combine` takes them.
    """
    one = lambda own: function(*combine(own, shared))
    side_by_side = jax.default_backend() != "cpu"
    return jax.vmap(one)(own) if side_by_side else jax.lax.map(one, own)


@custom_vmap
def for_any_member(x: jax.Array) -> jax.Array:
    """Whether a truth value holds for any member of a batch, as the condition of a branch that is
    to be taken by none if all can do without it. Native code asks each member for itself.
    """
    return x


@for_any_member.def_vmap
def _of_all(size: int, is_batched: list, x: jax.Array) -> tuple[jax.Array, bool]:
    return for_any_member(jnp.any(x, axis=0)), False
