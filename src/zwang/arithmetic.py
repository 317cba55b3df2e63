"""One text of an algorithm with two homes: traced by JAX, or executed by NumPy on the host.

`xp` is `jax.numpy`, and `numpy` inside `with on_host():`. An algorithm that is written with `xp`
and the few functions below runs in both; on the host nothing is compiled, and a loop is a loop of
Python. The home is a property of the thread, so that a program can be traced in another thread
while this one computes.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class _Home(threading.local):
    """Where the arithmetic of a thread is executed."""

    host = False


_HOME = _Home()


class _Namespace(threading.local):
    """The functions of NumPy or of `jax.numpy`, whichever the thread computes with."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np if _HOME.host else jnp, name)
        # kept until the thread changes its home: to look through both takes as long as a sum
        setattr(self, name, found)
        return found


xp: Any = _Namespace()


def _change(host: bool) -> bool:
    """Let this thread compute on the host or not, and tell where it did before."""
    before = _HOME.host
    if host != before:
        _HOME.host = host
        xp.__dict__.clear()
    return before


@contextlib.contextmanager
def on_host() -> Iterator[None]:
    """Compute with NumPy in this thread, within the context."""
    before = _change(True)
    try:
        yield
    finally:
        _change(before)


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Compute with JAX in this thread, within the context, also inside of `on_host`."""
    before = _change(False)
    try:
        yield
    finally:
        _change(before)


def while_loop(unfinished: Callable, body: Callable, start: Any) -> Any:
    """`jax.lax.while_loop`, or a loop of Python."""
    if not _HOME.host:
        return jax.lax.while_loop(unfinished, body, start)
    carry = start
    while unfinished(carry):
        carry = body(carry)
    return carry


def add(array: Any, index: Any, value: Any) -> Any:
    """The array with `value` added at `index`, whose entries are distinct."""
    if not _HOME.host:
        return jnp.asarray(array).at[index].add(value)
    changed = np.array(array, float)
    changed[index] += value
    return changed


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`where` for one condition: on the host one of both as it is, not a copy."""
    if not _HOME.host:
        return jnp.where(condition, yes, no)
    return yes if condition else no


def total(parts: Iterable[Any]) -> Any:
    """The sum of at least one array, in order. Unlike `sum` it does not start from the number 0,
    so that it has the type of its parts.
    """
    return functools.reduce(operator.add, parts)


def without_derivative(tree: Any) -> Any:
    """The same numbers, which a derivative takes as constants; on the host nothing has one."""
    if _HOME.host:
        return tree
    constant = lambda x: jax.lax.stop_gradient(x) if isinstance(x, jax.Array) else x
    return jax.tree_util.tree_map(constant, tree)
