"""One source of a mechanism's geometry for two backends: traced by JAX, or executed by NumPy.

`xp` is `jax.numpy`, or `numpy` inside `with on_host():`, where nothing is compiled. The backend is
local to the thread, so that another thread can trace a program meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np


class _Home(threading.local):
    """The backend of a thread."""

    host = False


_HOME = _Home()


class _Namespace(threading.local):
    """The functions of NumPy or of `jax.numpy`, according to the thread's backend."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np if _HOME.host else jnp, name)
        # Cached until the backend changes: looking through both modules takes as long as a sum.
        setattr(self, name, found)
        return found

    def __reduce__(self) -> str:
        """Pickle by name, as functions that use it are pickled with their references."""
        return "xp"


xp = _Namespace()


def _change(host: bool) -> bool:
    """Set this thread's backend and return the previous one."""
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
    """Compute with JAX in this thread, within the context, even inside `on_host`."""
    before = _change(False)
    try:
        yield
    finally:
        _change(before)
