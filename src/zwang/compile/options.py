"""Options of the compiler for programs of many small operations."""

from __future__ import annotations

import functools

import jax

IN_TURN: dict[str, str | bool] = {"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"}
"""Option of the compiler: operations in turn. They take a microsecond or less each; spread over
threads, as the compiler would have it,
their hand-over costs more than they do (a step of two four-bar loops: 280 µs in turn, 430 without;
40 loops, half the time).
"""
BESIDE: dict[str, str | bool] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}
"""Option of the compiler for motions side by side: only products are left to its library YNNPACK. A
sum over an axis of 32 matrices of
15 rows takes 15 µs there, 3 µs compiled with what surrounds it (`3rrr`: a member in 5.6 ms instead
of 7.6).
"""


@functools.cache
def compiler_options(members: int = 1) -> dict[str, str | bool]:
    """How programs of many small operations are to be compiled on this machine: `IN_TURN` on a
    processor, with more than one member side
    by side `BESIDE` as well; nothing else elsewhere.

    zwang's own programs are. Around one of your own, `jax.jit(f,
    compiler_options=zw.compiler_options())` does the same.
    """
    if jax.default_backend() != "cpu":
        return {}
    return {
        name: value
        for name, value in (IN_TURN | BESIDE if members > 1 else IN_TURN).items()
        if _is_known(name, value)
    }


@functools.cache
def _is_known(name: str, value: str | bool) -> bool:
    """Whether this version of the compiler has an option; without it programs are slower, not
    wrong.
    """
    try:
        jax.jit(lambda x: x, compiler_options={name: value}).lower(0.0).compile()
    except Exception:
        return False
    return True
