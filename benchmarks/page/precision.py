"""Error against time: tables, and who is ahead."""

from __future__ import annotations

import numpy as np

from benchmarks.page.words import ratio, seconds, small, spread, table
from benchmarks.peers.precision import TARGET_ERROR, reaching

ERRORS = (1e-3, 1e-6, 1e-9)
"""Errors [rad or m] at which programs are compared."""
OURS = ("zwang", "zwang-compiled", "zwang-points")
TITLES = {
    "a01": "A01, a point mass on a rod",
    "a02-1": "A02, one four-bar loop",
    "a02-2": "A02, two loops",
    "a02-10": "A02, ten loops",
    "a02-40": "A02, forty loops",
    "five-bar": "Five-bar, one row redundant",
    "3rrr": "3RRR platform, driven",
    "chain": "Spatial chain of ten rods",
}


def section(found: dict) -> str:
    """A table per problem."""
    parts = []
    for problem, title in TITLES.items():
        if any(r["problem"] == problem for r in found["runs"].values()):
            picture = f"![Error against time, {title}](_static/performance/{problem}.svg)\n"
            parts += [f"### {title}\n", picture, table(*_problem(found, problem))]
    return "\n".join(parts)


def loop_in_python(found: dict) -> str:
    """Share of Python in Pinocchio's time, because it has no compiled loop; nothing if it was not
    measured.
    """
    shares = []
    for problem, title in TITLES.items():
        record = reaching(found["runs"], problem, "pinocchio", TARGET_ERROR)
        if record is not None and "share_outside" in record:
            shares.append(f"{max(record['share_outside'], 0.0):.0%} ({title})")
    if not shares:
        return ""
    return (
        "Pinocchio has no compiled loop for constrained motion, so its Runge-Kutta steps are "
        f"written in Python. At an error of {small(TARGET_ERROR)}, the share of the time outside "
        f"its own evaluations is {', '.join(shares)}.\n\n"
    )


def best(runs: dict, problem: str, peers, error: float) -> dict | None:
    """The quickest run of some peers that reaches an error."""
    return min(
        filter(None, (reaching(runs, problem, p, error) for p in peers)),
        key=lambda r: r["warm"]["median"],
        default=None,
    )


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
                f", {ratio(record['warm']['median'] / ours[error]['warm']['median'])}"
                if ours[error] and key != "zwang"
                else ""
            )
            cells.append(f"{spread(record['warm'])}{beside}")
        rows.append([*cells, *_rest(of)])
    columns = [
        "program",
        *(f"warm, error ≤ {small(e)}" for e in ERRORS),
        "least error",
        "cold at that error",
        "violation at that error",
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
        return (
            f"another motion at all {len([r for r in of if r['status'] == 'other motion'])} "
            "settings"
        )
    return said[x["status"]].format(x["sentence"].replace("|", "/"))


def ahead(found: dict) -> str:
    """Where others need less time than zwang at the same error."""
    rows = []
    for problem, title in TITLES.items():
        for error in ERRORS:
            others = [p for p in found["peers"] if p not in OURS]
            mine, theirs = (best(found["runs"], problem, p, error) for p in (OURS, others))
            if theirs is not None and (
                mine is None or theirs["warm"]["median"] < mine["warm"]["median"]
            ):
                factor = (
                    "zwang does not reach it"
                    if mine is None
                    else ratio(mine["warm"]["median"] / theirs["warm"]["median"])
                )
                rows.append(
                    [
                        title,
                        small(error),
                        found["peers"][theirs["peer"]]["title"],
                        seconds(theirs["warm"]["median"]),
                        factor,
                    ]
                )
    return (
        table(["problem", "error", "fastest", "its time", "zwang's ratio"], rows)
        or "None at these errors.\n"
    )
