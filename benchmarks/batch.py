"""Trajectories per second: `zw.batch` against a loop of single compiled runs of the same program on the same cores.

256 members of `five-bar` and of `3rrr`, 2 s each from starts a little apart, with error control, on all cores and on one; then with a
step of fixed length in double and in single precision. On a graphics processor, if JAX has one, the same.
"""

from __future__ import annotations

import jax
import numpy as np

import zwang as zw
from benchmarks.timing import called, interleaved
from zwang import gallery
from zwang.ensemble import prepare, trajectory

MEMBERS, SINGLE, DURATION = 256, 32, 2.0
STEP = 0.1
"""Step of fixed length [s], about that of the error control at rtol 1e-8."""


def starts(name: str) -> tuple[zw.Model, np.ndarray, np.ndarray]:
    """A model and starts a little apart, near its own start; each is moved onto the constraints."""
    example = gallery.load(name)
    random = np.random.default_rng(7)
    v0 = np.asarray(example.v0) + 0.05 * random.standard_normal((MEMBERS, len(np.asarray(example.v0))))
    return example.model, np.tile(np.asarray(example.q0), (MEMBERS, 1)), v0


def measure(name: str) -> dict:
    model, q0, v0 = starts(name)
    times = np.array([0.0, DURATION])
    loose = {"start_tolerance": np.inf}
    single = jax.jit(lambda q, v: trajectory(model, q, v, times, **loose))
    single(q0[0], v0[0]).q.block_until_ready()
    ways = {
        "error control": {},
        "error control, one core": {"cores": 1},
        "fixed step": {"step": STEP},
        "fixed step, single precision": {"step": STEP, "precision": "single"},
    }
    programs = {way: prepare(model, q0, v0, times, **options, **loose) for way, options in ways.items()}
    results = {way: program() for way, program in programs.items()}
    each = lambda call, members: lambda once=called(call, 1): once() / members
    calls = {f"batch, {way}": each(program, MEMBERS) for way, program in programs.items()}
    calls["loop of single runs, error control"] = each(
        lambda: [single(q0[i], v0[i]).q.block_until_ready() for i in range(SINGLE)], SINGLE
    )
    seen = interleaved(calls, repeats=5)
    one = seen["loop of single runs, error control"]["median"]
    print(f"{name}, {DURATION:g} s, batch of {MEMBERS}          trajectories/s   ratio to the loop   memory/member")
    for way, x in seen.items():
        result = results.get(way.removeprefix("batch, "))
        note = "" if result is None else f"{result.memory_per_member / 1e3:8.1f} kB   violation {np.nanmax(result.violation):.0e}"
        print(f"  {way:38s} {1 / x['median']:10.0f} ({1 / x['max']:.0f} … {1 / x['min']:.0f}) {one / x['median']:8.2f}   {note}")
    return {"seconds per trajectory": seen, "loop": one, "ratio": one / seen["batch, error control"]["median"]}


def run() -> dict:
    results: dict = {name: measure(name) for name in ("five-bar", "3rrr")}
    rows = [
        [name, way, f"{1 / x['median']:.0f}", f"{found['loop'] / x['median']:.1f}"]
        for name, found in results.items() for way, x in found["seconds per trajectory"].items()
    ]  # fmt: skip
    columns = ["model, 256 members of 2 s", "how", "trajectories per second", "beside the loop"]
    results["table"] = {"title": "Batches", "columns": columns, "rows": rows}
    if jax.default_backend() == "cpu":
        print("JAX sees no graphics processor here; with one, the same command measures it.")
    return results
