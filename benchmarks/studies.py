"""Cost of a study beside the bare batch, and of workers beside this process.

    python -m benchmarks.studies [CASES]
    python -m benchmarks.studies workers [CASES]

Processor time is compared, as other programs share the machine: for the same cases, `zw.batch` as
prepared, `zw.sweep` in this process, and the resident memory after a tenth and after all of them.
Of workers, the wall time from the first to the last part, as the first one compiles; another
program on the machine makes two workers look slower than they are.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import zwang as zw  # noqa: E402
from zwang.simulation.batch import CHUNK_OF_MEMBERS, prepare  # noqa: E402

TIMES = np.linspace(0.0, 1.0, 21)
OPTIONS = {"rtol": 1e-8}


def spent(action) -> tuple[float, float]:
    """Processor and wall time [s] of an action."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return time.process_time() - processor, time.perf_counter() - wall


def memory() -> float:
    """Largest resident memory so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(cases: int) -> dict[str, float]:
    """Processor seconds for each way, and memory on the way."""
    example = zw.gallery.load("five-bar")
    start = np.asarray(example.q0), np.asarray(example.v0)
    masses = np.linspace(0.5, 4.0, cases)
    size = min(1024, cases)
    tiled = [np.tile(x, (size, 1)) for x in start]
    program = prepare(
        example.model,
        *tiled,
        TIMES,
        params={"coupler.mass": masses[:size]},
        chunk=CHUNK_OF_MEMBERS,
        **OPTIONS,
    )
    program()

    def bare():
        for first in range(0, cases, size):
            part = masses[first : first + size]
            rows = np.tile(start[0], (len(part), 1)), np.tile(start[1], (len(part), 1))
            program.with_members(*rows, {"coupler.mass": part})()

    seen = []

    def study(count: int, out: str) -> None:
        zw.sweep(
            example.model,
            {"coupler.mass": masses[:count]},
            start,
            times=TIMES,
            out=out,
            progress=lambda _: seen.append(memory()),
            **OPTIONS,
        )

    with tempfile.TemporaryDirectory() as folder:
        study(size, f"{folder}/warm")  # compiles
        plain = spent(bare)
        seen.clear()
        whole = spent(lambda: study(cases, f"{folder}/all"))
        return {
            "cases": cases,
            "batch, processor s": plain[0],
            "sweep, processor s": whole[0],
            "sweep / batch": whole[0] / plain[0],
            "batch, wall s": plain[1],
            "sweep, wall s": whole[1],
            "memory after the first part, MB": seen[0],
            "memory after the last part, MB": seen[-1],
        }


def workers(cases: int) -> dict[str, float]:
    """Cases per second of one worker with one thread and of two, and their ratio."""
    example = zw.gallery.load("five-bar")
    start = np.asarray(example.q0), np.asarray(example.v0)
    found: dict[str, float] = {"cases": cases}
    for number in (1, 2):
        seen = []
        zw.sweep(
            example.model,
            {"coupler.mass": np.linspace(0.5, 4.0, cases)},
            start,
            times=TIMES,
            workers=number,
            part=256,
            progress=lambda fraction, seen=seen: seen.append((fraction, time.perf_counter())),
            **OPTIONS,
        )
        # each worker compiles for its first part
        (done, begun), (_, ended) = seen[number - 1], seen[-1]
        found[f"{number} workers, cases/s"] = cases * (1 - done) / (ended - begun)
    found["ratio"] = found["2 workers, cases/s"] / found["1 workers, cases/s"]
    return found


if __name__ == "__main__":
    asked, given = workers if "workers" in sys.argv else measured, sys.argv[-1]
    print(json.dumps(asked(int(given) if given.isdigit() else 10_000), indent=1))
