"""One peer, one problem, one setting, in a process of its own: `python -m benchmarks.peers.worker PEER PROBLEM SETTING FOLDER …`.

Writes `first.npz` when the first result is there, and `times.json` when it has run again. The parent knows when it started the process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"


def main(key: str, name: str, setting: str, folder: str, repeats: str, seconds: str) -> None:
    """Run once, then again `repeats` times as far as `seconds` allow."""
    from benchmarks.peers import by_key
    from benchmarks.peers.problems import PROBLEMS

    peer, problem = by_key(key), PROBLEMS[name]()
    begun = time.perf_counter()
    go = peer.prepare(problem, float(setting))
    prepared = time.perf_counter() - begun
    begun = time.perf_counter()
    outcome = go()
    first = time.perf_counter() - begun
    ready = time.time()
    np.savez(Path(folder) / "first.npz", q=outcome.q, v=outcome.v)
    again: list[float] = []
    while len(again) < int(repeats) and (len(again) + 1) * (again or [first])[0] < float(seconds):
        begun = time.perf_counter()
        go()
        again.append(time.perf_counter() - begun)
    times = {
        "ready": ready, "prepare": prepared, "first": first, "again": again or [first], "peak_mb": _peak(), "version": peer.version(),
        **peer.extra(problem, float(setting)),
    }  # fmt: skip
    (Path(folder) / "times.json").write_text(json.dumps(times))


def _peak() -> float:
    """Largest memory of this process [MB]. `ru_maxrss` would count that of the parent that forked it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(x.split()[1]) / 1e3 for x in lines if x.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main(*sys.argv[1:])
