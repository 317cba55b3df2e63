"""Error against time: tables, who is ahead, targets."""

from __future__ import annotations

import numpy as np

from benchmarks.page.words import digits, ratio, seconds, small, spread, table
from benchmarks.peers.precision import TARGET_ERROR, reaching

ERRORS = (1e-3, 1e-6, 1e-9)
"""Errors [rad or m] at which programs are compared."""
OURS = ("zwang", "zwang-compiled")
TITLES = {
    "a01": "A01, a point mass on a rod",
    "a02-1": "A02, one four-bar loop", "a02-2": "A02, two loops", "a02-10": "A02, ten loops", "a02-40": "A02, forty loops",
    "five-bar": "Five-bar, one row redundant", "3rrr": "3RRR platform, driven", "chain": "Spatial chain of ten rods",
}  # fmt: skip
WARM_TARGET, COLD_TARGET = 20.0, 1.0
"""On A02 with two loops: times as fast as the best peer once running; time of a whole process beside Exudyn's."""


def section(found: dict) -> str:
    """A table per problem."""
    parts = []
    for problem, title in TITLES.items():
        if any(r["problem"] == problem for r in found["runs"].values()):
            picture = f"![Error against time, {title}](_static/performance/{problem}.svg)\n"
            parts += [f"### {title}\n", picture, table(*_problem(found, problem))]
    return "\n".join(parts)


def loop_in_python(found: dict) -> str:
    """What of Pinocchio's time is Python's, since it has no loop of its own; nothing if it was not measured."""
    shares = []
    for problem, title in TITLES.items():
        record = reaching(found["runs"], problem, "pinocchio", TARGET_ERROR)
        if record is not None and "share_outside" in record:
            shares.append(f"{max(record['share_outside'], 0.0):.0%} ({title})")
    if not shares:
        return ""
    return (
        "Pinocchio has no compiled loop for constrained motion, so that its Runge-Kutta steps are Python; outside its own evaluations is, "
        f"at an error of {small(TARGET_ERROR)}, this share of its time: {', '.join(shares)}.\n\n"
    )


def best(runs: dict, problem: str, peers, error: float) -> dict | None:
    """The quickest run of some peers that reaches an error."""
    return min(filter(None, (reaching(runs, problem, p, error) for p in peers)), key=lambda r: r["warm"]["median"], default=None)


def _problem(found: dict, problem: str):
    runs = found["runs"]
    ours = {error: best(runs, problem, ("zwang",), error) for error in ERRORS}
    rows = []
    for key, about in found["peers"].items():
        of = [r for r in runs.values() if r["problem"] == problem and r["peer"] == key]
        if not of:
            continue
        cells = [about["title"]]
        for error in ERRORS:
            record = reaching(runs, problem, key, error)
            if record is None:
                cells.append("–")
                continue
            beside = (
                f", {ratio(record['warm']['median'] / ours[error]['warm']['median'])}" if ours[error] and key != "zwang" else ""
            )
            cells.append(f"{spread(record['warm'])}{beside}")
        rows.append([*cells, *_rest(of)])
    columns = [
        "program",
        *(f"warm, error ≤ {small(e)}" for e in ERRORS),
        "least error",
        "cold there",
        "violation there",
        "memory",
    ]
    return columns, rows


def _rest(of: list[dict]) -> list[str]:
    """What is said of a peer besides times: its best run, or why there is none."""
    ran = [r for r in of if r["status"] == "ran"]
    if not ran:
        return [_why(of), "–", "–", "–"]
    x = min(ran, key=lambda r: r["error"])
    return [
        small(x["error"]),
        seconds(float(np.median(x["cold"]))) if x["cold"] else "–",
        small(x["violation"]),
        f"{x['peak_mb']:.0f} MB",
    ]


def _why(of: list[dict]) -> str:
    """Why a peer has no result that counts."""
    said = {"cannot": "cannot: {}", "missing": "{}", "failed": "failed: {}", "left out": "{}"}
    x = of[0]
    if x["status"] == "other motion":
        return f"another motion at all {len([r for r in of if r['status'] == 'other motion'])} settings"
    return said[x["status"]].format(x["sentence"].replace("|", "/"))


def ahead(found: dict) -> str:
    """Where others need less time than zwang at the same error."""
    rows = []
    for problem, title in TITLES.items():
        for error in ERRORS:
            others = [p for p in found["peers"] if p not in OURS]
            mine, theirs = (best(found["runs"], problem, p, error) for p in (OURS, others))
            if theirs is not None and (mine is None or theirs["warm"]["median"] < mine["warm"]["median"]):
                factor = "zwang does not reach it" if mine is None else ratio(mine["warm"]["median"] / theirs["warm"]["median"])
                rows.append(
                    [title, small(error), found["peers"][theirs["peer"]]["title"], seconds(theirs["warm"]["median"]), factor]
                )
    return table(["problem", "error", "quickest", "its time", "zwang's beside it"], rows) or "None at these errors.\n"


def targets(found: dict) -> list[list[str]]:
    """What was to be reached, and what is: rows of (target, measured, verdict)."""
    runs, rows = found["runs"], []
    others = [p for p in found["peers"] if p not in OURS]
    for problem, wanted in (("a02-2", WARM_TARGET), ("a02-40", 1.0)):
        mine, theirs = best(runs, problem, OURS, TARGET_ERROR), best(runs, problem, others, TARGET_ERROR)
        if mine is None or theirs is None:
            continue
        times = theirs["warm"]["median"] / mine["warm"]["median"]
        target = (
            f"{TITLES[problem]}, error ≤ {small(TARGET_ERROR)}, warm: at least {digits(wanted)} times as fast as the best peer"
        )
        each = (f"{found['peers'][r['peer']]['title']} {seconds(r['warm']['median'])}" for r in (mine, theirs))
        rows.append([target, f"{ratio(times)}: {', '.join(each)}", verdict(times >= wanted)])
    mine, theirs = (best(runs, "a02-2", p, TARGET_ERROR) for p in (("zwang",), ("exudyn-alpha",)))
    target = f"the same, start of the process to result: at most {digits(COLD_TARGET)} times Exudyn's"
    if mine and mine["cold"]:
        own = float(np.median(mine["cold"]))
        empty = [r["cold_empty_cache"] for r in runs.values() if r["problem"] == "a02-2" and r.get("cold_empty_cache")]
        said = f"zwang {seconds(own)}" + (f" ({seconds(empty[0])} when nothing is compiled yet)" if empty else "")
        if theirs and theirs["cold"]:
            cold = float(np.median(theirs["cold"]))
            rows.append([target, f"{ratio(own / cold)}: {said}, Exudyn {seconds(cold)}", verdict(own <= COLD_TARGET * cold)])
        elif any(r["peer"] == "exudyn-alpha" and r["problem"] == "a02-2" and "warm" in r for r in runs.values()):
            rows.append([target, f"{said}; Exudyn did not reach that error in the time it had", verdict(True)])
    return rows


def verdict(reached: bool) -> str:
    return "reached" if reached else "**not reached**"
