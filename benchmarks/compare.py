"""Each benchmark of this tree beside the same one of another version, side by side:

    git worktree add ../old v0.1.0
    python -m benchmarks compare ../old                      # the short parts (`make bench`)
    python -m benchmarks compare ../old small control --rounds 5
    python -m benchmarks compare ../old small --processor    # on a machine that does other things

A part runs in a process of its own, in turn with the code of either tree, `--rounds` times, so that
a drift of the machine's speed meets both alike. Of every time the smallest one counts, as other
programs on the machine only ever add to it. A table gives the ratio new/old of each; the command
returns 1 if one is above `SLOWER` and by more than what the smallest times of one tree differ from
round to round, so that a noisy machine says nothing rather than something wrong.

With `--processor` the clock of a part is the processor time of its process, which does not go on
while other programs run; `startup`, which times other processes, cannot be measured so.

What runs nothing of zwang (`limits`, and the same operations in C and in NumPy) is shown as well:
it tells how far two equal programs differ on this machine, and is never called slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

SLOWER = 1.1
"""Ratio of times from which on a part has become slower."""
ROUNDS = 3
PARTS = ("limits", "acceleration", "small", "control", "crossing", "startup", "hierarchy")
"""What is compared when nothing is named: the short parts, but those that run other programs."""
RATES = {"limits"}
"""Parts whose figures are rates, more of which are better."""
SECONDS = {"startup"}
"""Parts whose plain numbers are seconds."""
OTHERS = ("C", "NumPy by hand", "NumPy pinv alone")
"""Figures of other programs, by the last part of their path."""
ON_THE_PROCESSOR = """
import runpy, sys, time
time.perf_counter = time.process_time
sys.argv = ["benchmarks", *sys.argv[1:]]
runpy.run_module("benchmarks", run_name="__main__")
"""
"""Runs a part by another clock."""
LABELS = ("model", "N", "rtol", "name", "method", "rods")
"""Entries that tell the rows of a list apart."""

Times = dict[str, float]
"""Smallest time of each figure, by its path in the results of a part."""


def times_of(part: str, found, path: str = "") -> Iterator[tuple[str, float]]:
    """Every time among the results of a part, with its path."""
    if isinstance(found, list):
        for i, row in enumerate(found):
            named = isinstance(row, dict) and [str(row[x]) for x in LABELS if x in row]
            yield from times_of(part, row, f"{path}, {' '.join(named) if named else i}")
    if not isinstance(found, dict):
        return
    if {"median", "min", "max"} <= found.keys():
        best = found["max"] if part in RATES else found["min"]
        yield path.removeprefix(", "), 1 / best if part in RATES else best
        return
    for name, x in found.items():
        if name == "seconds" or (part in SECONDS and isinstance(x, float) and "/" not in name):
            if isinstance(x, float):
                yield f"{path}, {name}".removeprefix(", "), x
        if name not in ("table", "tables", "parts"):
            yield from times_of(part, x, f"{path}, {name}")


def measured(tree: Path, part: str, processor: bool = False) -> Times:
    """The times of one part, by a new process with the code of a tree."""
    program = ["-c", ON_THE_PROCESSOR] if processor else ["-m", "benchmarks"]
    paths = os.pathsep.join(str(tree.resolve() / x) for x in ("", "src"))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, *program, part],
            cwd=folder,  # where it writes its results
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{part} of {tree} failed:\n{done.stderr[-2000:]}")
        results = json.loads((Path(folder) / "results" / "benchmarks.json").read_text())
    return dict(times_of(part, results[part]))


def table(part: str, old: Sequence[Times], new: Sequence[Times]) -> list[tuple[str, float, bool]]:
    """What both trees measure: its name, new/old, and whether that is slower beyond doubt."""
    rows = []
    for name in [x for x in old[0] if x in new[0]]:
        before, after = ([x[name] for x in times] for times in (old, new))
        ratio = min(after) / min(before)
        # what the rounds of one tree differ by, the slowest of them left out
        noise = max(sorted(x)[len(x) // 2] / min(x) for x in (before, after))
        ours = part not in RATES and name.rpartition(", ")[2] not in OTHERS
        rows.append((f"{part}: {name}", ratio, ours and ratio > SLOWER and ratio > noise))
    return rows


def main(arguments: Sequence[str]) -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("compare", description=__doc__, formatter_class=form)
    parser.add_argument("old", type=Path, help="a checkout of the other version")
    parser.add_argument("parts", nargs="*", default=PARTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--processor", action="store_true", help="count processor time")
    given = parser.parse_args(arguments)
    if given.processor:
        given.parts = [part for part in given.parts if part not in SECONDS]
    new = Path(__file__).resolve().parents[1]
    slower: list[str] = []
    print(f"{'time, the smallest of ' + str(given.rounds) + ' rounds':70s} new/old")
    for part in given.parts:
        both = lambda part=part: [measured(x, part, given.processor) for x in (given.old, new)]
        rounds = [both() for _ in range(given.rounds)]
        rows = table(part, *zip(*rounds, strict=True))
        if not rows:
            print(f"{part}: nothing that both trees measure")
        for name, ratio, worse in rows:
            print(f"{name:70s} {ratio:7.2f}{'  slower' if worse else ''}", flush=True)
            slower += [name] * worse
    print(f"slower than {SLOWER:g} times: {'; '.join(slower) or 'none'}")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
