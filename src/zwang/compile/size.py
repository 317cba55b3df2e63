"""How large a program is, and how long it takes to make."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import jax

from zwang.compile.hints import quick_trace
from zwang.compile.options import compiler_options

CALLS = 200
"""Calls that the time of one is the mean of."""


@dataclasses.dataclass(frozen=True)
class ProgramSize:
    """Attributes: operations, before the compiler; seconds of tracing and of compiling; and of one
    call.
    """

    operations: int
    tracing: float
    compiling: float
    call: float

    def __str__(self) -> str:
        return (
            f"{self.operations} operations, traced in {self.tracing:.2f} s, compiled in "
            f"{self.compiling:.2f} s, one call {self.call * 1e6:.0f} µs"
        )


def program_size(function: Callable, *arguments) -> ProgramSize:
    """Trace, compile and call a function of arrays, operation by operation, past every cache."""
    begun = time.perf_counter()
    with quick_trace():
        lowered = jax.jit(function).lower(*arguments)
    traced = time.perf_counter()
    options = compiler_options(quick=True)
    compiled = lowered.compile(options)
    made = time.perf_counter()
    # many calls, as one takes microseconds and the clock is read between them
    for _ in range(CALLS):
        jax.block_until_ready(compiled(*arguments))
    ended = time.perf_counter()
    operations = sum(" = " in line for line in lowered.as_text().splitlines())
    return ProgramSize(operations, traced - begun, made - traced, (ended - made) / CALLS)
