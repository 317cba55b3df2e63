"""Targets, each with the measured figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.batch import CONTROLLED
from benchmarks.page.precision import OURS, TITLES, best
from benchmarks.page.words import digits, ratio, seconds, small
from benchmarks.peers.precision import TARGET_ERROR
from benchmarks.small import TARGETS

WARM, COLD = 20.0, 1.0
"""On A02 with two loops: times as fast as the best peer once running; time of a whole process
beside Exudyn's.
"""
FORTY, DENSE = 1.0, 15.0
"""On A02 with forty loops: times as fast as the best peer, and as zwang's own dense path."""
GROWTH, PER_ROD, VIOLATION = 1.4, 1.2e-6, 1e-12
"""From 1000 to 100 000 rods; seconds per rod; largest |φ| [m] of 10 000 rods over 100 steps."""
OF_SVD = 0.3
"""One acceleration of twelve rows beside the SVD member."""
LOOPS = {"a02-2": 3e-3, "a02-10": 15e-3, "a02-40": 60e-3}
"""A02 with two, ten and forty loops, once running [s]."""
LADDER = {3: 0.3, 5: 0.6, 9: 1.0, 17: 3.0, 33: 8.0, 65: 20.0, 201: 80.0}
"""One acceleration of four-bar loops by their number of bodies [µs]."""
FIRST = {
    "pendulum": (1.2, 0.9),
    "five-bar": (1.4, 1.0),
    "bennett": (2.0, 1.0),
    "stewart": (3.0, 1.3),
    "bricard": (3.0, 1.1),
    "quadrotor": (3.0, 1.2),
}
"""A whole process of `zwang run` with nothing compiled before, and once more [s]; of a member of
the gallery, or of a script in `benchmarks/models`.
"""
START, IMPORT = 3.0, 2.0
"""`zwang run five-bar` in a new process with a warm cache, and importing zwang [s]."""
BATCH, DERIVATIVE, PER_SECOND = 3.0, 1e-5, {"five-bar": 15_000}
"""Trajectories per second beside a loop of single runs; derivatives beside central differences,
relative; trajectories per second on two cores.
"""
IDLE, CLOSED = 0.05, 3.0
"""Of a step, what a gap that stays open takes; of a free acceleration, one with 20 contacts."""

Row = tuple[str, str, bool]
"""Target, measured, whether it is reached."""


def targets(results: dict) -> list[list[str]]:
    """Rows of (target, measured, verdict) of everything that was measured."""
    return [
        [target, measured, "reached" if reached else "**not reached**"]
        for part, rows in PARTS.items()
        if part in results
        for target, measured, reached in rows(results[part])
    ]


def _peers(found: dict) -> Iterator[Row]:
    runs = found["runs"]
    others = [p for p in found["peers"] if p not in OURS]
    for problem, wanted in (("a02-2", WARM), ("a02-40", FORTY)):
        mine, theirs = (
            best(runs, problem, OURS, TARGET_ERROR),
            best(runs, problem, others, TARGET_ERROR),
        )
        if mine is not None and theirs is not None:
            times = theirs["warm"]["median"] / mine["warm"]["median"]
            each = (
                f"{found['peers'][r['peer']]['title']} {seconds(r['warm']['median'])}"
                for r in (mine, theirs)
            )
            yield (
                f"{TITLES[problem]}, error ≤ {small(TARGET_ERROR)}, warm: at least "
                f"{digits(wanted)} × as fast as the best peer",
                f"{ratio(times)}: {', '.join(each)}",
                times >= wanted,
            )
    for problem, most in LOOPS.items():
        if mine := best(runs, problem, ("zwang",), TARGET_ERROR):
            taken = mine["warm"]["median"]
            yield (
                f"{TITLES[problem]}, zw.simulate by default, error ≤ {small(TARGET_ERROR)}, "
                f"warm: at most {seconds(most)}",
                seconds(taken),
                taken <= most,
            )
    ladder = {r["bodies"]: r for r in found.get("evaluations", {}).values() if _is_ladder(r)}
    for bodies, most in LADDER.items():
        if bodies in ladder:
            taken = ladder[bodies]["seconds"]["median"]
            yield (
                f"one acceleration, four-bar loops of {bodies} bodies: at most "
                f"{seconds(1e-6 * most)}",
                seconds(taken),
                taken <= 1e-6 * most,
            )
    mine, theirs = (best(runs, "a02-2", p, TARGET_ERROR) for p in (("zwang",), ("exudyn-alpha",)))
    if mine and mine["cold"]:
        target = (
            f"{TITLES['a02-2']}, start of the process to result: at most {digits(COLD)} × Exudyn's"
        )
        own = float(np.median(mine["cold"]))
        of = [r for r in runs.values() if r["problem"] == "a02-2" and r["peer"] == mine["peer"]]
        empty = [r["cold_empty_cache"] for r in of if r.get("cold_empty_cache")]
        said = f"zwang {seconds(own)}" + (
            f" ({seconds(empty[0])} with an empty compile cache)" if empty else ""
        )
        if theirs and theirs["cold"]:
            cold = float(np.median(theirs["cold"]))
            yield target, f"{ratio(own / cold)}: {said}, Exudyn {seconds(cold)}", own <= COLD * cold
        elif any(
            r["peer"] == "exudyn-alpha" and r["problem"] == "a02-2" and "warm" in r
            for r in runs.values()
        ):
            yield target, f"{said}; Exudyn did not reach that error within its time limit", True


def _is_ladder(r: dict) -> bool:
    return (r["family"], r["peer"], r["status"]) == ("ladder", "zwang", "ran")


def _first(found: dict) -> Iterator[Row]:
    for name, wanted in FIRST.items():
        if name in found:
            taken = found[name]["first"], found[name]["again"]
            yield (
                f"{name}, a process of `zwang run`, first time and again: at most "
                f"{' and '.join(map(seconds, wanted))}",
                " and ".join(map(seconds, taken)),
                all(x <= most for x, most in zip(taken, wanted, strict=True)),
            )


def _small(found: dict) -> Iterator[Row]:
    for name, wanted in ((name, 1e-6 * x) for name, x in TARGETS.items()):
        own, C = (found[name][k]["median"] for k in ("zwang", "C"))
        yield (
            f"one acceleration, {name}, in a loop: at most {seconds(wanted)}",
            f"{seconds(own)}, in plain C {seconds(C)}",
            own <= wanted,
        )


def _acceleration(found: dict) -> Iterator[Row]:
    own, svd = (found["m = n = 12"][k]["median"] for k in ("Proximal", "SVD"))
    yield (
        f"one acceleration, m = n = 12: at most {OF_SVD} of the time by SVD",
        digits(own / svd),
        own <= OF_SVD * svd,
    )


def _sparse(found: dict) -> Iterator[Row]:
    loops = found["loops"]
    yield (
        f"{loops['N']} four-bar loops, {loops.get('duration', 1.0):g} s, compiled whole: at "
        f"least {digits(DENSE)} × as fast as dense",
        f"{ratio(loops['ratio'])}: {seconds(loops['sparse']['again'])}, dense "
        f"{seconds(loops['dense']['again'])}",
        loops["ratio"] >= DENSE,
    )
    per = {row["N"]: row["us_per_rod"]["median"] * 1e-6 for row in found["chain"]}
    first, last = min(per), max(per)
    yield (
        f"one acceleration per rod, {first} to {last} rods: grows by at most {GROWTH} ×",
        ratio(per[last] / per[first]),
        per[last] <= GROWTH * per[first],
    )
    most = max(per, key=lambda N: per[N])
    yield (
        f"the same: at most {seconds(PER_ROD)} per rod",
        f"{seconds(per[most])} at {most} rods",
        per[most] <= PER_ROD,
    )
    run = found["run"]
    yield (
        f"{run['N']} rods, 100 adaptive steps: violation at most {small(VIOLATION)} m",
        f"{run['steps']} steps, {small(run['violation'])} m",
        run["steps"] >= 100 and run["violation"] <= VIOLATION,
    )


def _batch(found: dict) -> Iterator[Row]:
    for model, hows in found.items():
        if model != "table":
            x = hows[CONTROLLED]["ratio"]
            yield (
                f"batch of {model}: at least {digits(BATCH)} × the trajectories of a loop of "
                "single runs",
                ratio(x),
                x >= BATCH,
            )
        if model in PER_SECOND:
            each = 1 / hows[CONTROLLED]["wall"]
            yield (
                f"batch of {model}, two cores: at least {PER_SECOND[model]} trajectories/s",
                f"{each:.0f}",
                each >= PER_SECOND[model],
            )


def _gradients(found: dict) -> Iterator[Row]:
    for mode, apart in found["apart"].items():
        yield (
            f"{mode} mode through singular configurations: central differences to "
            f"{small(DERIVATIVE)}",
            small(apart),
            apart <= DERIVATIVE,
        )


def _startup(found: dict) -> Iterator[Row]:
    for target, key, wanted in (
        ("`zwang run five-bar`, new process, warm cache", "warm", START),
        ("`import zwang` with all that a run needs", "import", IMPORT),
    ):
        yield f"{target}: at most {seconds(wanted)}", seconds(found[key]), found[key] <= wanted


def _contact(found: dict) -> Iterator[Row]:
    for loops in (2, 8):
        more = found[f"step, {loops} loops"] - 1
        yield (
            f"a gap that never closes in a model of {loops} four-bar loops: at most "
            f"{digits(100 * IDLE)} % of a step",
            f"{digits(100 * more)} %",
            more <= IDLE,
        )
    closed = found["closed contacts"]
    yield (
        f"an acceleration with twenty closed contacts: at most {digits(CLOSED)} × a free one",
        ratio(closed),
        closed <= CLOSED,
    )


PARTS: dict[str, Callable[[dict], Iterator[Row]]] = {
    "peers": _peers,
    "small": _small,
    "acceleration": _acceleration,
    "sparse": _sparse,
    "batch": _batch,
    "gradients": _gradients,
    "startup": _startup,
    "first": _first,
    "contact": _contact,
}
"""Which part of the results says what; the order of the page."""
