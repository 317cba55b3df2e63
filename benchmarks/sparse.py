"""The sparse path: cost per rod of one acceleration, against the dense path, and long runs.

`chain` times one acceleration of a pendulum of N rods, A, b and factor included. `loops` runs N
four-bar loops through their singular configurations on both paths. `long_run` takes 100 adaptive
steps with 10 000 rods.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from benchmarks.page.words import digits, seconds, spread
from benchmarks.timing import accelerations, interleaved
from zwang import gallery
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.pseudoinverse.sparse import Sparse
from zwang.dynamics.sparse_structure import sparsity_of

SIZES = (1_000, 10_000, 100_000)
DENSE = (10, 20, 40, 80, 160, 320)
LOOPS_REPEATS = 8
"""Runs of 40 loops on each path; one on the dense path takes three seconds."""


def plain_chain(N: int):
    """The chain in few lines: a gallery model gives each of 10⁵ rods three names."""
    import zwang as zw

    l, m = 1.0 / N, 1.0 / N
    params = {
        "mass": np.tile([m, m, m * l * l / 12], N),
        "weight": np.tile([0.0, -9.81 * m, 0.0], N),
    }  # constants compile slowly

    def pins(q, t, p):
        x, y, a = q.reshape(N, 3).T
        c, s = l / 2 * jnp.cos(a), l / 2 * jnp.sin(a)
        before = lambda z: jnp.concatenate([jnp.zeros(1), z[:-1]])
        return jnp.stack([x - c - before(x + c), y - s - before(y + s)], axis=1).ravel()

    system = zw.System(3 * N, lambda q, t, p: p["mass"], lambda q, v, t, p: p["weight"])
    i = (np.arange(N) + 0.5) * l
    return zw.Model(system, [zw.Holonomic(pins, name="pins")], params), jnp.asarray(
        np.stack([i, 0 * i, 0 * i], axis=1).ravel()
    )


def acceleration(model, q, method) -> Callable[[], float]:
    """A call that returns the seconds of one acceleration, the mean of several."""
    seconds = accelerations(
        model.dynamics(pseudoinverse=method), model.state(q, jnp.zeros(model.system.nv))
    )
    count = max(5, 20_000 // len(q))
    return lambda: seconds(count) / count


def chain() -> list[dict]:
    rows, calls = [], {}
    for N in SIZES:
        model, q = plain_chain(N)
        start = time.perf_counter()
        structure = sparsity_of(model).structure
        found = time.perf_counter() - start
        start = time.perf_counter()
        calls[N] = acceleration(model, q, Sparse())
        compiled = time.perf_counter() - start
        rows.append(
            {
                "N": N,
                "find": found,
                "compile": compiled,
                "colors": structure.layout.colors,
                "rounds": structure.plan.elimination.rounds,
            }
        )
    seen = interleaved(calls)
    print("rods      find (s)   compile (s)   µs per rod (min … max)     colors  rounds")
    for row in rows:
        N, per = row["N"], {k: x / row["N"] * 1e6 for k, x in seen[row["N"]].items()}
        row["us_per_rod"] = per
        print(
            f"{N:7d} {row['find']:10.2f} {row['compile']:12.1f} {per['median']:14.3f} "
            f"({per['min']:.3f} … {per['max']:.3f})  {row['colors']:8d} {row['rounds']:7d}"
        )
    grown = rows[-1]["us_per_rod"]["median"] / rows[0]["us_per_rod"]["median"]
    print(f"cost per rod from {SIZES[0]} to {SIZES[-1]} rods: {grown:.2f} times")
    return rows


def crossover() -> list[dict]:
    rows = []
    print("rods    rows    sparse (µs)    dense (µs)    dense/sparse")
    for N in DENSE:
        model, q = plain_chain(N)
        calls = {
            "sparse": acceleration(model, q, Sparse()),
            "dense": acceleration(model, q, Proximal()),
        }
        seen = {k: x["median"] * 1e6 for k, x in interleaved(calls).items()}
        rows.append({"N": N, "us": seen})
        print(
            f"{N:4d} {2 * N:7d} {seen['sparse']:14.1f} {seen['dense']:13.1f} "
            f"{seen['dense'] / seen['sparse']:14.2f}"
        )
    return rows


def loops(N: int = 40, duration: float = 10.0) -> dict:
    """Seconds of a run of N four-bar loops on both paths, compiled whole for many runs; least of
    several in turn.
    """
    import zwang as zw

    example = gallery.load("n-four-bar", N=N)
    times = np.array([0.0, duration])
    exact = np.array([example.exact(times)[f"crank {i + 1}.angle"][-1] for i in range(N + 1)])
    ends = {}

    def run(name: str, method) -> Callable[[], float]:
        once = zw.program(
            lambda q, v: zw.trajectory(example.model, q, v, times, rtol=1e-8, pseudoinverse=method)
        )

        def wall() -> float:
            start = time.perf_counter()
            ends[name] = np.asarray(once(example.q0, example.v0).q[-1])
            return time.perf_counter() - start

        return wall

    calls = {"sparse": run("sparse", Sparse()), "dense": run("dense", Proximal())}
    first = {name: call() for name, call in calls.items()}
    again = interleaved(calls, repeats=LOOPS_REPEATS)
    error = {
        name: float(np.max(np.abs(end[2 : 3 * (N + 1) : 3] - exact))) for name, end in ends.items()
    }
    found = {
        name: {"first": first[name], "again": again[name]["min"], "error": error[name]}
        for name in calls
    }
    ratio = found["dense"]["again"] / found["sparse"]["again"]
    print(
        f"{N} four-bar loops, {duration:g} s: sparse {found['sparse']}, dense {found['dense']}: "
        f"{ratio:.1f} times faster"
    )
    return {"N": N, "duration": duration, **found, "ratio": ratio}


def long_run(N: int = 10_000, steps: int = 100) -> dict:
    """Adaptive steps of a pendulum of many rods."""
    model, q = plain_chain(N)
    import zwang as zw

    start = time.perf_counter()
    run = zw.simulate(
        model, q, 0 * q, duration=10.0, samples=2, rtol=1e-5, max_steps=steps + 1, throw=False
    )
    wall = time.perf_counter() - start
    phi = model.constraints.position_residual(run.steps.y[-1][: 3 * N], 0.0, model.params)
    out = {
        "N": N,
        "steps": run.attrs["steps_accepted"],
        "seconds": wall,
        "violation": float(np.max(np.abs(phi))),
    }
    print(
        f"{N} rods: {out['steps']} steps in {wall:.1f} s with compilation, largest |phi| "
        f"{out['violation']:.1e} m"
    )
    return out


def run() -> dict:
    found = {"chain": chain(), "crossover": crossover(), "loops": loops(), "run": long_run()}
    return {**found, "tables": tables(found)}


def tables(found: dict) -> list[dict]:
    """What the page on performance shows of it."""

    def beside(what: str, sparse: float, dense: float) -> list[str]:
        return [what, seconds(sparse), seconds(dense), digits(dense / sparse)]

    per_rod = [
        [
            str(row["N"]),
            spread({**{k: x * 1e-6 for k, x in row["us_per_rod"].items()}, "runs": 2}),
            seconds(row["find"]),
            seconds(row["compile"]),
        ]
        for row in found["chain"]
    ]
    accelerations = [
        beside(
            f"one acceleration, {2 * row['N']} rows",
            *(row["us"][k] * 1e-6 for k in ("sparse", "dense")),
        )
        for row in found["crossover"]
    ]
    whole = found["loops"]
    first = ", ".join(f"{k} {seconds(whole[k]['first'])}" for k in ("sparse", "dense"))
    run = beside(
        f"{whole['N']} four-bar loops, {whole['duration']:g} s, compiled whole (with compiling "
        f"{first})",
        *(whole[k]["again"] for k in ("sparse", "dense")),
    )
    return [
        {
            "title": "The sparse path, per body",
            "columns": ["rods", "one acceleration, per rod", "finding the structure", "compiling"],
            "rows": per_rod,
        },
        {
            "title": "The sparse path and the dense path",
            "columns": ["", "sparse", "dense", "dense / sparse"],
            "rows": [*accelerations, run],
        },
    ]
