"""Mechanisms in space, whose bodies turn by quaternions: compiled runs and batches with products
`N v` taken body by body, as they are, beside the same with N formed as a whole.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

import zwang as zw
from benchmarks.timing import interleaved
from zwang import gallery

DURATIONS = {"gyroscope": 0.2, "bennett": 1.0}
"""Models of the gallery and how long they are run [s]."""
MEMBERS = 64
"""Members of a batch."""
REPEATS = 5


def run() -> dict:
    print(f"{'in space':24s}{'body by body [ms]':>20s}{'N as a whole [ms]':>20s}{'ratio':>8s}")
    rows = []
    for name, duration in DURATIONS.items():
        example = gallery.load(name)
        models = {"body by body": example.model, "as a whole": with_whole_map(example.model)}
        for what, timed in (("run", compiled_run), ("batch", batch)):
            calls = {way: timed(model, example, duration) for way, model in models.items()}
            seen = interleaved(calls, REPEATS)
            ms = [seen[way]["median"] * 1e3 for way in models]
            label = f"{name}, {what if what == 'run' else f'batch of {MEMBERS}'}"
            print(f"{label:24s}{ms[0]:20.1f}{ms[1]:20.1f}{ms[0] / ms[1]:8.2f}", flush=True)
            rows.append([label, f"{ms[0]:.1f}", f"{ms[1]:.1f}", f"{ms[0] / ms[1]:.2f}"])
    columns = ["model", "body by body [ms]", "N as a whole [ms]", "ratio"]
    title = "Mechanisms in space: products N v, in compiled runs and batches"
    return {"table": {"title": title, "columns": columns, "rows": rows}}


def with_whole_map(model: zw.Model) -> zw.Model:
    """The model with a velocity map that is formed for each product."""
    formed = model.system.velocity_map
    system = dataclasses.replace(model.system, velocity_map=lambda q, t, p: formed(q, t, p))
    return zw.Model(system, model.constraints.members, model.params)


def compiled_run(model: zw.Model, example, duration: float) -> Callable[[], float]:
    """A call that returns the seconds of a compiled run."""
    go = lambda: zw.simulate(model, example.q0, example.v0, duration=duration, samples=11)
    return _timed(go)


def batch(model: zw.Model, example, duration: float) -> Callable[[], float]:
    """A call that returns the seconds of a batch whose members start at different speeds."""
    q = np.tile(example.q0, (MEMBERS, 1))
    v = np.outer(np.linspace(1.0, 1.01, MEMBERS), example.v0)
    return _timed(lambda: zw.batch(model, q, v, times=np.linspace(0.0, duration, 11)))


def _timed(go: Callable[[], object]) -> Callable[[], float]:
    go()  # compiled here

    def once() -> float:
        start = time.perf_counter()
        go()
        return time.perf_counter() - start

    return once
