"""Cost of a study beside the bare batch, and of workers beside one another.

    python -m benchmarks.studies [CASES]
    python -m benchmarks.studies workers [CASES]
    python -m benchmarks.studies scale [CASES]

The first compares `zw.sweep` in this process with `zw.batch` of the same cases, in turn. Processor
time is what to read where other programs run. The second times the same study on one worker of one
thread and on two, each compiled beforehand: it needs two idle cores, and says how idle they were
before. The third runs a study whose motions cost nothing on two workers: scheduler, traffic and
files are what a thousand workers would wait for.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import zwang as zw  # noqa: E402
from zwang.simulation.batch import CHUNK_OF_MEMBERS, prepare  # noqa: E402
from zwang.study.result import Sweep  # noqa: E402

TIMES = np.linspace(0.0, 1.0, 21)
OPTIONS = {"rtol": 1e-8}
ROUNDS = 2
"""Runs of study and batch in turn, so that a change of the machine's load meets both."""
PART = 1024
"""Cases of a part of a very large study."""


def spent(action: Callable[[], object]) -> np.ndarray:
    """Processor and wall time [s] of an action."""
    before = np.array([time.process_time(), time.perf_counter()])
    action()
    return np.array([time.process_time(), time.perf_counter()]) - before


def memory() -> float:
    """Resident memory now [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def masses(cases: int) -> np.ndarray:
    """The values that are varied: the mass of the middle bar [kg]."""
    return np.linspace(0.5, 4.0, cases)


def study(cases: int, **given) -> Sweep:
    """The study that is measured."""
    example = zw.gallery.load("five-bar")
    start = np.asarray(example.q0), np.asarray(example.v0)
    over = {"coupler.mass": masses(cases)}
    return zw.sweep(example.model, over, start, times=TIMES, **{**OPTIONS, **given})


def beside_the_batch(cases: int) -> dict[str, float]:
    """Processor and wall time of the study and of the bare batch [s], and the memory in use."""
    example = zw.gallery.load("five-bar")
    q0, v0 = np.asarray(example.q0), np.asarray(example.v0)
    few = 2 * CHUNK_OF_MEMBERS * (os.cpu_count() or 1)
    tiled = lambda n: (np.tile(q0, (n, 1)), np.tile(v0, (n, 1)))
    varied = {"coupler.mass": masses(few)}
    program = prepare(example.model, *tiled(few), TIMES, params=varied, **OPTIONS)
    bare = program.with_members(*tiled(cases), {"coupler.mass": masses(cases)})
    spent_on, held = {"batch": np.zeros(2), "sweep": np.zeros(2)}, []
    with tempfile.TemporaryDirectory() as folder:
        program()
        study(few, out=f"{folder}/warm")  # compiles
        watch = lambda _: held.append(memory())
        for i in range(ROUNDS):
            spent_on["batch"] += spent(bare)
            held.clear()
            spent_on["sweep"] += spent(
                lambda i=i: study(cases, out=f"{folder}/{i}", progress=watch)
            )
    found: dict[str, float] = {"cases": cases}
    for i, kind in enumerate(("processor", "wall")):
        both = [spent_on[name][i] / ROUNDS for name in ("batch", "sweep")]
        found |= {f"batch, {kind} s": both[0], f"sweep, {kind} s": both[1]}
        found[f"sweep / batch, {kind}"] = both[1] / both[0]
    found["memory after the first part, MB"] = held[0]
    found["memory after the last part, MB"] = held[-1]
    return found | {"largest memory after a part, MB": max(held)}


def processors_idle(seconds: float = 2.0) -> float:
    """How many processors other programs leave idle, measured over a while."""
    idle = lambda: int(Path("/proc/stat").read_text().split("\n")[0].split()[4])
    before = idle()
    time.sleep(seconds)
    return (idle() - before) / os.sysconf("SC_CLK_TCK") / seconds


def workers(cases: int) -> dict[str, float]:
    """Cases per second on one worker of one thread and on two, and their ratio."""
    from distributed.deploy.subprocess import SubprocessCluster

    found: dict[str, float] = {"cases": cases}
    for number in (1, 2):
        with SubprocessCluster(
            host="127.0.0.1", n_workers=number, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            given = {"cluster": cluster.scheduler_address}
            # a worker compiles for its first part; a few parts for each make sure of it
            study(8 * number * CHUNK_OF_MEMBERS, **given)
            found[f"{number}: processors idle before"] = processors_idle()
            elapsed = spent(lambda given=given: study(cases, **given))[1]
        found[f"{number}: cases/s"] = cases / elapsed
    found["ratio"] = found["2: cases/s"] / found["1: cases/s"]
    return found


def without_motions(payload: bytes, part: int, values: dict, settings: dict):
    """What a worker returns for a part, as large as it would be, but computed from nothing."""
    import cloudpickle

    plan = cloudpickle.loads(payload).share(part, values)
    cases = np.arange(plan.first, plan.first + plan.cases)
    made = plan._part(cases, None, np.zeros(0, int), {})
    # numbers that no file can pack
    noise = np.random.default_rng(part)
    made.columns.update({x.name: noise.standard_normal(len(cases)) for x in plan.outputs})
    return part, made


def scale(cases: int) -> dict[str, float]:
    """A study whose motions cost nothing, which leaves scheduler, traffic and files."""
    from distributed.deploy.subprocess import SubprocessCluster

    from zwang.study import engine

    seen: list[float] = []
    packed = engine.packed
    engine.compute_part = without_motions
    engine.packed = lambda plan: seen.append(len(packed(plan))) or packed(plan)
    coordinate = zw.gallery.load("five-bar").model.system.coordinates[0]
    outputs = [f"{coordinate}.{x}" for x in ("final", "max", "min")]
    try:
        with (
            SubprocessCluster(
                host="127.0.0.1", n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            tempfile.TemporaryDirectory() as folder,
        ):
            given = {"cluster": cluster.scheduler_address, "outputs": outputs, "part": PART}
            study(16 * PART, out=f"{folder}/first", **given)
            held = memory()
            took = spent(lambda: study(cases, out=f"{folder}/all", **given))
            files = [x.stat().st_size for x in Path(f"{folder}/all").glob("*.parquet")]
            again = spent(lambda: study(cases, out=f"{folder}/all", **given))
    finally:
        engine.packed = packed
    parts = len(files)
    return {
        "cases": cases,
        "parts": parts,
        "processor ms of this process for a part": 1e3 * took[0] / parts,
        "parts/s": parts / took[1],
        "study without its values, bytes": seen[-1],
        "files, MB": sum(files) / 2**20,
        "memory before, MB": held,
        "memory after, MB": memory(),
        "processor s to open the finished study": again[0],
    }


KINDS = {"workers": workers, "scale": scale}

if __name__ == "__main__":
    words = [x for x in sys.argv[1:] if not x.isdigit()]
    number = next((int(x) for x in sys.argv[1:] if x.isdigit()), 10_000)
    measured = KINDS[words[0]] if words else beside_the_batch
    print(json.dumps(measured(number), indent=1))
