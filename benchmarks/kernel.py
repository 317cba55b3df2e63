"""Runs of small models as native code beside the same programs compiled by XLA
(`ZWANG_ENGINE=xla`).

Each way has a process of its own; they take turns, so that a drift of the machine's speed meets
both alike. Counted is the compiled loop, not what a run does before and after it.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time

from benchmarks.timing import interleaved

RUNS = {
    "pendulum": 10.0,
    "five-bar": 10.0,
    "n-four-bar": 10.0,
    "rolling-disk": 2.0,
    "crane": 2.0,
    "slider-crank": 2.0,
    "3rrr": 2.0,
}
"""Models of the gallery and seconds of motion."""
REPEATS, RTOL = 7, 1e-8
WAYS = {"native code": "native", "XLA": "xla"}


def run() -> dict:
    rows, results = [], {}
    print(
        f"{'the loop of a run [ms], median (least … most)':46s}{'native code':26s}"
        f"{'XLA':26s} "
        "ratio   first run [s]"
    )
    for name, duration in RUNS.items():
        seen, first = _in_turn(name, duration)
        ratio = seen["XLA"]["median"] / seen["native code"]["median"]
        cells = [
            f"{1e3 * x['median']:.1f} ({1e3 * x['min']:.1f} … {1e3 * x['max']:.1f})"
            for x in seen.values()
        ]
        started = ", ".join(f"{first[way]:.1f}" for way in WAYS)
        print(
            f"  {name + f', {duration:g} s':44s}{cells[0]:26s}{cells[1]:26s} {ratio:5.1f}   "
            f"{started}"
        )
        rows.append([f"{name}, {duration:g} s", *cells, f"{ratio:.1f}", started])
        results[name] = {way: x | {"first": first[way]} for way, x in seen.items()}
    columns = [
        "the loop of a run [ms], median (least … most)",
        *WAYS,
        "ratio",
        "first run, compiling included [s]",
    ]
    return {
        **results,
        "table": {"title": "Native code and XLA", "columns": columns, "rows": rows},
    }


def _in_turn(name: str, duration: float) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    command = [sys.executable, "-m", "benchmarks.kernel", name, str(duration)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = {
        way: subprocess.Popen(command, env=os.environ | {"ZWANG_ENGINE": engine}, **pipes)
        for way, engine in WAYS.items()
    }

    def seconds(way: str) -> float:
        child = children[way]
        assert child.stdin is not None and child.stdout is not None
        print("go", file=child.stdin, flush=True)
        return float(child.stdout.readline())

    first = {way: seconds(way) for way in WAYS}
    seen = interleaved({way: functools.partial(seconds, way) for way in WAYS}, REPEATS)
    for child in children.values():
        child.communicate()
    return seen, first


def _child(name: str, duration: float) -> None:
    import jax

    from zwang import gallery
    from zwang.simulation import driver

    jax.config.update("jax_enable_x64", True)
    chunk, spent = driver.called_again, [0.0]

    def timed(*given):
        begun = time.perf_counter()
        found, engine = chunk(*given)
        jax.block_until_ready(found)
        spent[0] += time.perf_counter() - begun
        return found, engine

    driver.called_again = timed
    example, runs = gallery.load(name), 0
    for _ in sys.stdin:
        spent[0], begun = 0.0, time.perf_counter()
        example.run(duration=duration, rtol=RTOL)
        print(spent[0] if runs else time.perf_counter() - begun, flush=True)
        runs += 1


if __name__ == "__main__":
    _child(sys.argv[1], float(sys.argv[2]))
