"""Error against time: every peer on every problem, from coarse settings to fine, each setting in a
process of its own.

`cold` is the time from the start of the process to its first result, imports, building and
compilation included; `warm` that of one run after the first. zwang's processes share a compile
cache, which the first of them fills (`cold_empty_cache`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers import Peer
from benchmarks.peers.equations import equations
from benchmarks.peers.problems import PROBLEMS, Problem, instants
from benchmarks.peers.process import run as run_process

REPEATS, WARM_SECONDS = 250, 3.0
"""Runs after the first: at most so many, and no more than fit into so many seconds."""
LONGEST, LONGEST_LARGE = 20.0, 40.0
"""Seconds that one run may be expected to take before a finer setting is left out: usually, and
with 40 loops.
"""
STARTING, COMPILING = 15.0, 90.0
"""Seconds that a process has for starting, and for compiling, beside twice the longest run."""
TARGET_ERROR = 1e-6
COLD_PROCESSES = 3
"""Processes, beside the first, that measure the spread of a cold start where a target speaks of
one.
"""
TARGET_PROBLEMS = ("a02-2", "a02-40")
DIFFERENT = 0.1
"""Error [rad, m] from which on a result is another motion: a wrong branch at a singular
configuration, mostly.
"""


def measure(
    problems: Sequence[str],
    peers: Sequence[Peer],
    found: dict,
    save: Callable[[dict], None],
    every: int = 1,
    folder: Path | None = None,
) -> dict:
    """Measure, put runs into `found` by `problem/peer/setting`, save after each.

    Args:
        every: take every so-manieth setting only.
        folder: where the compile cache is kept; a new one, removed afterwards, unless given.
    """
    with tempfile.TemporaryDirectory() as temporary:
        cache = Path(folder or temporary) / "cache"
        for peer in peers:  # read from disk once, so that no cold start counts that
            run_process(["benchmarks.peers.worker", "import", peer.key], STARTING)
        for name in problems:
            problem = PROBLEMS[name]()
            for peer in peers:
                for key in [k for k in found if k.startswith(f"{name}/{peer.key}/")]:
                    del found[key]
                for record in ladder(name, problem, peer, every, cache):
                    setting = "-" if record["setting"] is None else record["setting"]
                    found[f"{name}/{peer.key}/{setting}"] = record
                    save(found)
                    print(f"  {said(record)}", flush=True)
            if name in TARGET_PROBLEMS:
                cold_again(name, peers, found, cache, save)
    return found


def ladder(name: str, problem: Problem, peer: Peer, every: int, cache: Path):
    """Records of one peer on one problem."""
    blank = {"problem": name, "peer": peer.key, "setting": None}
    if sentence := peer.missing():
        yield {**blank, "status": "missing", "sentence": sentence}
        return
    if sentence := peer.cannot(problem):
        yield {**blank, "status": "cannot", "sentence": sentence}
        return
    longest = LONGEST_LARGE if name == "a02-40" else LONGEST
    expected, before = 0.0, None
    for setting in peer.settings(problem)[::every]:
        if before is not None:
            expected *= before / setting if "step" in peer.knob else 2.5
        if expected > longest:
            yield {
                **blank,
                "setting": setting,
                "status": "left out",
                "sentence": f"would take about {expected:.0f} s",
            }
            return
        record = one(name, problem, peer, setting, cache, _patience(peer, longest))
        yield record
        if record["status"] == "failed" and record["sentence"].startswith("not done"):
            return
        expected = record.get("warm", {}).get("median", expected)
        before = setting


def one(
    name: str,
    problem: Problem,
    peer: Peer,
    setting: float,
    cache: Path,
    seconds: float,
    repeats: int = REPEATS,
) -> dict:
    """One process."""
    record = {"problem": name, "peer": peer.key, "setting": setting}
    own = cache / name / peer.key
    empty = peer.compiles and not own.exists()
    environment = {"ZWANG_CACHE": str(own)}
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", peer.key, name, str(setting), folder, str(repeats), str(WARM_SECONDS)]
        started, sentence = run_process(
            ["benchmarks.peers.worker", *arguments], seconds, environment
        )
        times = Path(folder) / "times.json"
        if sentence and not times.exists():
            return {**record, "status": "failed", "sentence": sentence}
        seen, result = json.loads(times.read_text()), np.load(Path(folder) / "first.npz")
        record |= judged(problem, result)
    again, cold = seen.pop("again"), seen.pop("ready") - started
    record |= {
        "status": "ran" if record["error"] < DIFFERENT else "other motion",
        "warm": spread(again),
        "cold": [cold],
        **seen,
    }
    if empty:  # and once more, now that its programs are kept
        record["cold_empty_cache"] = cold
        record["cold"] = one(name, problem, peer, setting, cache, seconds, 1).get("cold", [])
    return record


def _patience(peer: Peer, longest: float) -> float:
    """Seconds after which a process is ended."""
    return (COMPILING if peer.compiles else STARTING) + 2 * longest


def judged(problem: Problem, result) -> dict:
    """Error, violation and energy drift of what a run found."""
    e, q, v = equations(problem), result["q"], result["v"]
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
        return {"error": float("inf"), "violation": float("inf"), "energy": float("inf")}
    t = result["t"] if "t" in result else instants(problem)
    energy = e.energy(q, v)
    drift = None if getattr(problem, "sines", ()) else float(np.max(np.abs(energy - energy[0])))
    return {"error": problem.error(t, q), "violation": e.violation(q), "energy": drift}


def cold_again(name: str, peers: Sequence[Peer], found: dict, cache: Path, save) -> None:
    """More processes at each peer's coarsest setting that reaches the target's error."""
    for peer in peers:
        record = reaching(found, name, peer.key, TARGET_ERROR)
        if record is not None and record["cold"][0] < LONGEST_LARGE:
            for _ in range(COLD_PROCESSES):
                more = one(
                    name,
                    PROBLEMS[name](),
                    peer,
                    record["setting"],
                    cache,
                    _patience(peer, LONGEST_LARGE),
                    1,
                )
                record["cold"] += more.get("cold", [])
            save(found)


def reaching(found: dict, problem: str, peer: str, error: float) -> dict | None:
    """The quickest run of a peer with at most this error."""
    runs = [
        r
        for r in found.values()
        if r["problem"] == problem
        and r["peer"] == peer
        and r["status"] == "ran"
        and r["error"] <= error
    ]
    return min(runs, key=lambda r: r["warm"]["median"], default=None)


def spread(seconds: Sequence[float]) -> dict:
    return {
        "median": float(np.median(seconds)),
        "min": min(seconds),
        "max": max(seconds),
        "runs": len(seconds),
    }


def said(record: dict) -> str:
    """A line of progress."""
    head = (
        f"{record['problem']:9s} {record['peer']:15s} "
        f"{record['setting'] if record['setting'] is not None else '':>8}"
    )
    if "warm" not in record:
        return f"{head}  {record['status']}: {record['sentence']}"
    x, error = record["warm"], record["error"] if np.isfinite(record["error"] or 0) else np.nan
    low, middle, high = (x[k] * 1e3 for k in ("min", "median", "max"))
    cold = record["cold"][0] if record["cold"] else np.nan
    return (
        f"{head}  error {error:8.1e}  violation {record['violation']:7.1e}  warm {middle:9.2f} "
        f"ms ({low:.2f} … {high:.2f})  cold {cold:6.2f} s  {record['peak_mb']:5.0f} "
        f"MB{'' if record['status'] == 'ran' else '  ' + record['status']}"
    )
