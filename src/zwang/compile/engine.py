"""What makes machine code of a program: native code, or XLA."""

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
"""What results say of a program that is native code; of XLA they say why."""


def is_native_wanted() -> bool:
    """Whether programs become native code where all of their operations are known: on a processor,
    unless `ZWANG_ENGINE=xla`.

    Raises:
        ModelError: if the variable names neither engine.
    """
    engine = os.environ.get(VARIABLE) or "native"
    if engine not in ENGINES:
        raise ModelError(f"{VARIABLE} is {engine!r}, expected native or xla, or unset it.")
    return engine == "native" and jax.default_backend() == "cpu"


_is_native = contextvars.ContextVar("native", default=False)


@contextlib.contextmanager
def native_trace() -> Iterator[None]:
    """What is traced within becomes native code (`zwang.native`)."""
    token = _is_native.set(True)
    try:
        yield
    finally:
        _is_native.reset(token)


def is_native() -> bool:
    """Whether the program that is traced now becomes native code: zeros of its structure cost
    nothing, factors are applied and not inverted, and loops are loops.
    """
    return _is_native.get()
