"""One text of a mechanism's geometry with two homes: traced by JAX, or executed by NumPy on the
host.

`xp` is `jax.numpy`, and `numpy` inside `with on_host():`, where nothing is compiled. The home is a
property of the thread, so that a program can be traced in another thread while this one computes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

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

    def __reduce__(self) -> str:
        """By its name, as functions that compute with it are pickled with what they refer to."""
        return "xp"


xp = _Namespace()


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
