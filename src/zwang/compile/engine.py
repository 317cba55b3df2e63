"""Choice of the engine that compiles a program: native code, or XLA."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator

import jax

from zwang.errors import ModelError

VARIABLE = "ZWANG_ENGINE"
"""Environment variable that names the engine: `native` (default) or `xla`."""
ENGINES = ("native", "xla")
NATIVE = "native code"
"""Engine named in results for native code; for XLA they also give the reason."""


def is_native_wanted() -> bool:
    """Return whether programs become native code if all of their primitives are supported.

    That is so on a CPU, unless `ZWANG_ENGINE=xla`.

    Raises:
        ModelError: if the variable names neither engine.
    """
    engine = os.environ.get(VARIABLE) or "native"
    if engine not in ENGINES:
        raise ModelError(f"{VARIABLE} is {engine!r}, expected native or xla, or unset it.")
    return engine == "native" and jax.default_backend() == "cpu"


_is_native = contextvars.ContextVar("native", default=False)
_calls: contextvars.ContextVar[dict | None] = contextvars.ContextVar("calls", default=None)


@contextlib.contextmanager
def native_trace() -> Iterator[None]:
    """Open a context whose traces become native code (`zwang.native`)."""
    token = _is_native.set(True)
    try:
        with one_trace():
            yield
    finally:
        _is_native.reset(token)


def is_native() -> bool:
    """Return whether the current trace becomes native code.

    There, structural zeros cost nothing, factors are applied rather than inverted, and loops are
    not vectorized.
    """
    return _is_native.get()


@contextlib.contextmanager
def one_trace() -> Iterator[None]:
    """Open a context in which functions are called once for equal operands
    (`zwang.compile.hints.traced_once`). It ends with a trace, and with it the traced values of
    these calls.
    """
    token = _calls.set({})
    try:
        yield
    finally:
        _calls.reset(token)


def last_calls() -> dict | None:
    """Return the last call of each function that is traced once; None outside of `one_trace`."""
    return _calls.get()
