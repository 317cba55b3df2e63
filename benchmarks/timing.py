"""Timing of compiled evaluations: many in one compiled loop, repeated, interleaved between the
things compared.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import jax
import numpy as np

from zwang.compile import BoundProgram, program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.native.machine import OPTIMIZER
from zwang.objects.record import combine, partition


def environment(**more: str) -> dict[str, str]:
    """The environment for timing a whole process: bytecode is written, as by default in Python,
    even if PYTHONDONTWRITEBYTECODE is set here.
    """
    kept = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "COLUMNS": "200", **more}


def looped(function: Callable, x: jax.Array, count: int) -> Callable[[], float]:
    """A call that returns seconds per evaluation of `function` (shape of x to shape of x), `count`
    in one compiled loop.

    Each evaluation's argument depends on the one before, so that none can be left out or moved.
    """

    @program  # as a run is compiled
    def loop(x):
        return jax.lax.fori_loop(
            0, count, lambda _, s: s + 1e-30 * function(x + 1e-30 * s), jax.numpy.zeros_like(x)
        )

    jax.block_until_ready(loop(x))

    def once() -> float:
        start = time.perf_counter()
        jax.block_until_ready(loop(x))
        return (time.perf_counter() - start) / count

    return once


def accelerations(dynamics: Dynamics, state) -> Callable[[int], float]:
    """A call that returns the seconds of so many accelerations in one compiled loop, as a run takes
    them: memory that a program asks
    for anew at each call costs as much as half an acceleration of 10⁵ rods.
    """
    arrays, rest = partition(
        dynamics
    )  # as arguments: constants of this size take minutes to compile
    arrays, tree = jax.tree_util.tree_flatten(arrays)

    @program  # as a run is compiled
    def evaluations(arrays, state, count):
        d = combine(jax.tree_util.tree_unflatten(tree, arrays), rest)

        def again(_, a):  # each depends on the one before, so that none is left out
            moved = state._replace(q=state.q + 1e-30 * jax.numpy.sum(a))
            return d.acceleration(d.equation_at(moved))

        return jax.lax.fori_loop(0, count, again, jax.numpy.zeros_like(state.v))

    def seconds(count: int) -> float:
        start = time.perf_counter()
        jax.block_until_ready(evaluations(arrays, state, np.asarray(count)))
        return time.perf_counter() - start

    wait_until_optimized(lambda: seconds(10))
    return seconds


def evaluations(function: Callable, dynamics: Dynamics, s, count: int = 40) -> Callable[[], float]:
    """A call that returns seconds per evaluation of `function(dynamics, q, v, t)`, an acceleration,
    in a compiled loop that is optimized, each of which waits for the one before.
    """

    def loop(dynamics, q, v, t):
        def again(_, a):
            return function(dynamics, q + 1e-30 * jax.numpy.sum(a), v, t)

        return jax.lax.fori_loop(0, count, again, v)

    given = tuple(np.asarray(x) for x in (s.q, s.v, s.t))
    made = BoundProgram(loop, (dynamics,), given)
    made.optimize()
    return called(lambda: made(*given), 1, per=count)


def wait_until_optimized(once: Callable[[], object], warm: float = 2.5) -> None:
    """Call native code for long enough to be optimized, and wait until it is.

    Args:
        warm: seconds of the processor of calls; after the default, code of 160 000 instructions is
            optimized (`zwang.native.compiled.OPTIMIZING`).
    """
    begun = time.process_time()
    while time.process_time() - begun < warm:
        once()
    for thread in threading.enumerate():
        if thread.name == OPTIMIZER:
            thread.join()


def called(function: Callable, count: int, per: int = 1) -> Callable[[], float]:
    """A call that returns seconds per plain Python call of `function`, which does `per` things."""

    def once() -> float:
        start = time.perf_counter()
        for _ in range(count):
            function()
        return (time.perf_counter() - start) / (count * per)

    return once


def interleaved(
    calls: dict[str, Callable[[], float]], repeats: int = 9
) -> dict[str, dict[str, float]]:
    """Median, smallest and largest seconds of each, measured in turn so that a drift of the
    machine's speed meets all alike.
    """
    seen: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, once in calls.items():
            seen[name].append(once())
    return {
        n: {"median": float(np.median(x)), "min": min(x), "max": max(x)} for n, x in seen.items()
    }
