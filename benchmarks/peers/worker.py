"""What runs in a process of its own: `python -m benchmarks.peers.worker run|evaluate PEER PROBLEM …
FOLDER`.

`run` writes `first.npz` when the first result is there and `times.json` when it has run again; the
parent knows when it started the process. `evaluate` writes `times.json`; `import PEER` does that
and no more.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import Peer, by_key
from benchmarks.peers.problems import PROBLEMS, four_bars, plane_chain
from benchmarks.peers.process import limit_memory, peak_megabytes

FAMILIES = {"ladder": four_bars, "rods": plane_chain}

KEEPING = 0.5
"""Seconds after which what was measured so far is written down, in case the process runs out of its
time.
"""


def run(peer: Peer, name: str, setting: float, folder: Path, repeats: int, seconds: float) -> None:
    """Run once, then again, at least once and at most `repeats` times, as far as `seconds`
    allow.
    """
    problem = PROBLEMS[name]()
    go = peer.prepare(problem, setting)
    begun = time.perf_counter()
    outcome = go()
    first, ready = time.perf_counter() - begun, time.time()
    given = {"t": outcome.t} if outcome.t is not None else {}
    np.savez(folder / "first.npz", q=outcome.q, v=outcome.v, **given)
    again: list[float] = []

    def keep() -> None:
        times = {
            "ready": ready,
            "first": first,
            "again": again,
            "peak_mb": peak_megabytes(),
            "version": peer.version(),
        }
        _write(folder, {**times, **peer.extra(problem, setting)})

    if first > seconds and not peer.compiles:
        again.append(first)  # so long a run has nothing to warm up
        keep()
        return
    kept = 0.0
    while len(again) < repeats and (not again or sum(again) + again[-1] < seconds):
        begun = time.perf_counter()
        go()
        again.append(time.perf_counter() - begun)
        if begun - kept > KEEPING:  # not between all runs, as files would disturb short ones
            keep()
            kept = begun
    keep()


def evaluate(peer: Peer, family: str, size: int, folder: Path, repeats: int) -> None:
    """One evaluation, `repeats` times."""
    begun = time.perf_counter()
    found = peer.evaluation(FAMILIES[family](size))
    assert found is not None
    what, once = found
    ready = time.perf_counter() - begun
    again = []
    for _ in range(repeats):
        again.append(once())
        _write(
            folder,
            {
                "what": what,
                "ready": ready,
                "again": again,
                "peak_mb": peak_megabytes(),
                "version": peer.version(),
            },
        )


def _write(folder: Path, times: dict) -> None:
    new = folder / "times.new"
    new.write_text(json.dumps(times))
    new.replace(folder / "times.json")


if __name__ == "__main__":
    limit_memory()
    action, key, *given = sys.argv[1:]
    if action == "import":
        if not by_key(key).missing() and by_key(key).module:
            importlib.import_module(by_key(key).module)
    elif action == "run":
        name, setting, place, repeats, most = given
        run(by_key(key), name, float(setting), Path(place), int(repeats), float(most))
    else:
        family, size, place, repeats = given
        evaluate(by_key(key), family, int(size), Path(place), int(repeats))
