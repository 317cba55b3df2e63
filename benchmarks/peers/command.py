"""`python -m benchmarks peers` with its options, and the short run of `make bench`."""

from __future__ import annotations

import argparse

from benchmarks import store
from benchmarks.peers import ALL_PEERS, Peer, chosen, evaluation, precision
from benchmarks.peers.problems import PROBLEMS
from benchmarks.peers.process import end_with_children

SHORT_PROBLEM, SHORT_EVERY = "a02-2", 2
"""Of the short run: one problem, every second setting."""
SHORT_PEERS = ("zwang", "pinocchio", "exudyn-alpha", "mujoco-stiff")


def main(arguments: list[str]) -> int:
    """Measure all, or the problems and peers that are named; everything else in the results
    stays.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=__doc__)
    known = (
        f"{', '.join(PROBLEMS)}; a02 means all of them; {', '.join(evaluation.SIZES)} for one "
        "evaluation against size"
    )
    parser.add_argument("--problem", action="append", help=f"one of {known}")
    parser.add_argument(
        "--peer",
        action="append",
        help=f"one of {', '.join(p.key for p in ALL_PEERS)}, or the part before the hyphen",
    )
    parser.add_argument("--every", type=int, default=1, help="take every so-manieth setting only")
    given = parser.parse_args(arguments)
    peers = [p for name in given.peer for p in chosen(name)] if given.peer else list(ALL_PEERS)
    every = [*PROBLEMS, *evaluation.SIZES]
    names = (
        [n for name in given.problem for n in every if n == name or n.startswith(f"{name}-")]
        if given.problem
        else every
    )
    if not peers or not names:
        parser.error(
            f"nothing is called that; problems: {known}; peers: "
            f"{', '.join(p.key for p in ALL_PEERS)}"
        )
    measure(names, peers, given.every)
    return 0


def measure(
    names: list[str], peers: list[Peer], every: int = 1, sizes: dict = evaluation.SIZES
) -> None:
    """Both measures for what is named, saved as they come."""
    end_with_children()
    store.save("machine", store.machine())
    found = store.read().get("peers", {})
    runs, evaluations = found.get("runs", {}), found.get("evaluations", {})
    found = {"peers": about(), "runs": runs, "evaluations": evaluations}
    keep = lambda _: store.save("peers", found)
    precision.measure([n for n in names if n in PROBLEMS], peers, runs, keep, every)
    asked = [p for p in peers if p.key in EVALUATING]
    evaluation.measure([n for n in names if n in evaluation.SIZES], asked, evaluations, keep, sizes)
    keep(found)


EVALUATING = (
    "zwang",
    "numpy-rk4",
    "pinocchio",
    "pinocchio-lcaba",
    "mujoco-stiff",
    "exudyn-alpha",
    "drake",
)
"""Peers that offer one evaluation or one step by itself; IDA's would be that of NumPy by hand."""


def about() -> dict:
    """What each peer is and how it is set up."""
    return {
        p.key: {
            "title": p.title,
            "how": p.how,
            "knob": p.knob,
            "version": "" if p.missing() else p.version(),
        }
        for p in ALL_PEERS
    }


def run() -> dict:
    """The short run; peers that are not installed say so in a line."""
    print("error against time, A02 with two loops (the whole: make bench-all)")
    measure(
        [SHORT_PROBLEM],
        [p for key in SHORT_PEERS for p in chosen(key) if p.key == key],
        SHORT_EVERY,
    )
    return store.read()["peers"]
