"""Options of the compiler for programs of many small operations."""

from __future__ import annotations

import functools

import jax

from zwang.arguments import count, flag
from zwang.call import misfits_named
from zwang.compile.compilers import is_plain

SEQUENTIAL: dict[str, str | bool] = {
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
}
"""Operations in sequence. They take a microsecond or less each; spread over threads, as the
compiler would have it, their hand-over costs more than they do (a step of two four-bar loops: 280
µs in sequence, 430 without; 40 loops, half the time).
"""
BATCHED: dict[str, str | bool] = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}
"""For motions side by side: only products are left to the compiler's library YNNPACK. A sum over an
axis of 32 matrices of 15 rows takes 15 µs there, 3 µs compiled with what surrounds it (`3rrr`: a
member in 5.6 ms instead of 7.6).
"""
QUICK: dict[str, str | bool] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_cpu_multi_thread_eigen": False,
    "xla_disable_hlo_passes": "while-loop-invariant-code-motion",
}
"""For programs that someone waits for, called thousands of times for some tens of microseconds. The
older way to emit fused operations compiles a fifth faster (the evaluation of a spatial four-bar:
1.7 s instead of 2.2) and runs as fast. Products of small matrices are loops, not calls of a library
(the stages of `gyroscope`: 430 µs instead of 600). What does not change in a loop stays in it: more
than eight operations that could run at once are spread over threads, whose waking takes 20 µs, and
before the loop there were always more.
"""


@misfits_named
def compiler_options(members: int = 1, *, quick: bool = False) -> dict[str, str | bool]:
    """Options with which zwang's own programs are compiled on this machine.

    Around a function of your own, `jax.jit(f, compiler_options=zw.compiler_options())` does the
    same.

    Args:
        members: how many motions lie side by side in the program.
        quick: whether it is to be compiled quickly rather than to run fast.

    Returns:
        Names and values, as far as this version of the compiler knows them; empty on an accelerator
        and with `ZWANG_COMPILER=plain`.
    """
    batched = count(members, "compiler_options: members") > 1
    quick = flag(quick, "compiler_options: quick")
    return {} if is_plain() else dict(_options(batched, quick))


@functools.cache
def _options(batched: bool, quick: bool) -> dict[str, str | bool]:
    if jax.default_backend() != "cpu":
        return {}
    wanted = SEQUENTIAL | (BATCHED if batched else {}) | (QUICK if quick else {})
    if _are_known(**wanted):
        return wanted
    return {name: value for name, value in wanted.items() if _are_known(**{name: value})}


@functools.cache
def _are_known(**options: str | bool) -> bool:
    """Whether this version of the compiler has these options; without them programs are slower, not
    wrong.
    """
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except Exception:
        return False
    return True
