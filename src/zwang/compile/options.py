"""Compiler options of XLA for programs of many small operations."""

from __future__ import annotations

import functools

import jax

SEQUENTIAL: dict[str, str | bool] = {
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
}
"""Run operations in sequence. Each takes a microsecond or less; distributing them over threads,
XLA's default, costs more than they do (a step of two four-bar loops: 280 µs in sequence, 430 µs
with threads; for 40 loops sequence takes half the time).
"""


@functools.cache
def compiler_options() -> dict[str, str | bool]:
    """Options with which XLA compiles zwang's own programs.

    Returns:
        Names and values, if this version of XLA knows them; empty on an accelerator.
    """
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x, compiler_options=SEQUENTIAL).lower(0.0).compile()
    except Exception:  # without them programs are slower, not wrong
        return {}
    return SEQUENTIAL
