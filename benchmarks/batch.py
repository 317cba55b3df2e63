"""Trajectories per second: `zw.batch` against a loop of single compiled runs of the same program on
the same cores.

512 members of `five-bar` and of `3rrr`, 2 s each from starts a little apart: with error control,
by the code that computes several members at once and by that of one; `five-bar` then with a step of
fixed length in double and in single precision. All cores; what one core does follows from processor
seconds, which other programs on the machine disturb less. Medians of calls in turn. On a graphics
processor, if JAX has one, the same.
"""

from __future__ import annotations

import threading
import time
import types
from collections.abc import Callable

import jax
import numpy as np

import zwang as zw
from zwang import gallery
from zwang.compile import compiler_options, program
from zwang.compile.interface import MAKER
from zwang.simulation.batch import Program, prepare
from zwang.simulation.trajectory import trajectory

MEMBERS, SINGLE, DURATION, BUDGET = 512, 16, 2.0, 15.0
"""Members, runs of a loop, length of a motion [s], and of all calls together [s]."""
STEP = 0.1
"""Step of fixed length [s], about that of the error control at rtol 1e-8."""
CONTROLLED, ALONE = "batch, error control", "batch, members one by one"
FIXED = {
    "batch, fixed step": {"step": STEP},
    "batch, fixed step, single precision": {"step": STEP, "precision": "single"},
}
LOOP, APART = "loop of single runs", "loop of single runs, jax.jit"
"""As `zw.program` compiles them, and by XLA."""


def starts(name: str) -> tuple[zw.Model, np.ndarray, np.ndarray]:
    """A model and starts a little apart, near its own start; each is moved onto the constraints."""
    example = gallery.load(name)
    random = np.random.default_rng(7)
    v0 = np.asarray(example.v0) + 0.05 * random.standard_normal(
        (MEMBERS, len(np.asarray(example.v0)))
    )
    return example.model, np.tile(np.asarray(example.q0), (MEMBERS, 1)), v0


def finished(batch: Program, alone: bool) -> Program:
    """A batch with the code that it has after some seconds of calls: optimized, and for several
    members at once unless each is to be computed alone.
    """
    many = batch._compiled
    if many._native is not None:
        many._native.compiled.optimize()
        if alone:
            many.several = types.SimpleNamespace(ready=None, count=lambda seconds: None)
        else:
            many.several.count(np.inf)
            for maker in threading.enumerate():
                if maker.name == MAKER:
                    maker.join()
    return batch


def seconds(call: Callable[[], object], members: int) -> tuple[float, float]:
    """Seconds and processor seconds per member of one call."""
    start, used = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - start) / members, (time.process_time() - used) / members


def measure(name: str, ways: dict[str, dict]) -> dict:
    """Seconds per trajectory of each way and of the loop, measured in turn, and those until a way
    is compiled.
    """
    model, q0, v0 = starts(name)
    times = np.array([0.0, DURATION])
    loose = {"start_tolerance": np.inf}
    motion = lambda q, v: trajectory(model, q, v, times, **loose)
    loops = {LOOP: program(motion), APART: jax.jit(motion, compiler_options=compiler_options())}
    programs, compiling = {}, {}
    for way, options in ways.items():
        start = time.perf_counter()
        made = prepare(model, q0, v0, times, **options, **loose)
        programs[way] = finished(made, way == ALONE)
        compiling[way] = time.perf_counter() - start
    calls = {way: (program, MEMBERS) for way, program in programs.items()}
    for way, one in loops.items():
        calls[way] = (
            lambda one=one: [np.asarray(one(q0[i], v0[i]).q) for i in range(SINGLE)],
            SINGLE,
        )
    results = {way: call() for way, (call, _) in calls.items()}
    seen, start = {way: [] for way in calls}, time.perf_counter()
    while time.perf_counter() - start < BUDGET:
        for way, call in calls.items():
            seen[way].append(seconds(*call))
    found = {
        way: dict(zip(("wall", "processor"), np.median(x, axis=0).tolist(), strict=True))
        for way, x in seen.items()
    }
    one = found[LOOP]
    print(
        f"{name}, {DURATION:g} s, batch of {MEMBERS:3d}                  per second   ratio to "
        "the loop   the same per core"
    )
    for way, x in found.items():
        note = ""
        if way in programs:
            note = (
                f"   {results[way].memory_per_member / 1e3:.1f} kB/member, violation "
                f"{np.nanmax(results[way].violation):.0e}"
            )
        ratio, per_core = one["wall"] / x["wall"], one["processor"] / x["processor"]
        print(f"  {way:38s} {1 / x['wall']:12.0f} {ratio:19.2f} {per_core:19.2f}{note}")
        least = min(x[0] for x in seen[LOOP]) / min(x[0] for x in seen[way])
        x |= {
            "ratio": ratio,
            "ratio per core": per_core,
            "ratio of least times": least,
            "compiling": compiling.get(way),
        }
    return found


def run() -> dict:
    results: dict = {
        "five-bar": measure("five-bar", {CONTROLLED: {}, ALONE: {}} | FIXED),
        "3rrr": measure("3rrr", {CONTROLLED: {}, ALONE: {}}),
    }
    rows = []
    for name, found in results.items():
        for way, x in found.items():
            ratios = [
                f"{x[key]:.1f}" for key in ("ratio", "ratio of least times", "ratio per core")
            ]
            rows.append(
                [
                    name,
                    way,
                    f"{1 / x['wall']:.0f}",
                    *ratios,
                    f"{x['compiling']:.0f} s" if x["compiling"] else "–",
                ]
            )
    columns = [
        f"model, {MEMBERS} members of {DURATION:g} s",
        "how",
        "trajectories per second",
        "relative to the loop",
        "ratio of the least times",
        "ratio per core",
        "compiling",
    ]
    results["table"] = {"title": "Batches", "columns": columns, "rows": rows}
    if jax.default_backend() == "cpu":
        print("JAX sees no graphics processor here; with one, the same command measures it.")
    return results
