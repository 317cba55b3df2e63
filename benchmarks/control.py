"""Microseconds per control evaluation: two robots that carry one object (5 coordinates, 2 hinge
rows, 3 servo rows, 6 torques),
`A`, `b`, `A_s` and `b_s` by automatic differentiation and the mass matrix from the kinetic energy
included; one state after the other, and a batch of 1000. One core.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import interleaved, looped

SINGLE, BATCH = 25e-6, 5e-6
"""Targets [s] per state."""
STATES = 1000


def run() -> dict:
    with _one_core():
        return _measured()


def _measured() -> dict:
    import zwang as zw

    example = zw.gallery.load("coordinated-robots")
    model, lift, q0 = example.model.passive, example.model.servo, jnp.asarray(example.q0)
    calls = {}
    for what, options in (
        ("least norm", {}),
        ("with gains", {"gains": 5.0}),
        ("as in the paper", {"null_space": zw.servo.PaperLeastNorm()}),
        ("limits, not reached", {"limits": zw.servo.Limits(-50.0, 50.0)}),
        ("limits, reached", {"limits": zw.servo.Limits(-7.0, 7.0)}),
    ):
        servo = zw.Servo(lift.constraints, lift.actuation, **options)

        def u(q, servo=servo):
            return zw.control(model, servo, q, jnp.zeros(5), 0.0).u

        def padded(q, u=u):
            return jnp.sum(u(q)) * jnp.ones(5)

        calls[f"one state, {what}"] = looped(padded, q0, 4000)
        calls[f"batch of {STATES}, {what}"] = _batched(u, q0)
    seen = interleaved(calls)
    for name, x in seen.items():
        target = (SINGLE if name.startswith("one") else BATCH) * 1e6
        print(
            f"  control, {name:36s} {x['median'] * 1e6:7.2f} µs ({x['min'] * 1e6:.2f} … "
            f"{x['max'] * 1e6:.2f}), target {target:.0f}"
        )
    return seen


def _batched(u, q0):
    qs = q0 + 1e-3 * jnp.asarray(np.random.default_rng(0).standard_normal((STATES, 5)))
    batch = jax.jit(jax.vmap(u))
    jax.block_until_ready(batch(qs))

    def once() -> float:
        start = time.perf_counter()
        for _ in range(10):
            jax.block_until_ready(batch(qs))
        return (time.perf_counter() - start) / (10 * STATES)

    return once


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Keep every thread of this process on one core, where the system can."""
    every = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()

    def keep(cores: set[int]) -> None:
        for thread in os.listdir("/proc/self/task") if cores else ():
            os.sched_setaffinity(int(thread), cores)

    keep(set(sorted(every)[:1]))
    try:
        yield
    finally:
        keep(every)
