"""Records all runs of the gallery with one version of zwang and compares them with another version:
a restructuring must leave every one of them as it is.

    python -m benchmarks.gallery_runs record old.npz
    python -m benchmarks.gallery_runs record part.npz --only five-bar,3rrr
    python -m benchmarks.gallery_runs compare old.npz new.npz

`PYTHONPATH` selects the version that is recorded. A run that fails is recorded as its sentence and
the others go on. `compare` prints one line per run and returns 1 if any run changed. Compiling
takes most of the time, so that most of the compiler's optimizations are left out unless
`--optimized` is given; they change results by round-off.

Two correct programs differ by round-off, and a mechanism amplifies it: a double pendulum a
thousandfold within seconds, a sliding block not at all. No fixed bound fits both. Each recording
therefore holds two more runs of the same compiled programs, which measure its own bounds:

    noise(t)     largest change up to t if the start moves by a few units in the last place
    coarse(t)    largest change up to t if rtol is ten times as large

All differences are relative to the largest value of each entry over the run. A difference up to
`AMPLIFIED` times the noise is round-off. A difference up to `coarse`, or ten times rtol, is within
the tolerance of the run. With a larger one the run has changed; it has also changed if it ends,
crosses a singular configuration or switches differently, or takes a fifth more or fewer steps,
unless the noise alone changes their number by half as much.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sums in one order

import jax
import numpy as np

import zwang as zw
from benchmarks.gallery_cases import Fields, cases, gaps, over_samples, plain

ROUND_OFF, AMPLIFIED = 1e-11, 100.0
"""Round-off: a relative difference below the first, or below the second times the noise."""
SAME_TIME, MORE_STEPS = 1e-5, 0.2
"""Largest difference of the times of equal events [s], and of the numbers of steps
(relative). At an rtol of 1e-10 round-off alone changes the latter by 0.07 for `five-bar`.
"""
EARLY = 0.25
"""Share of the samples that is also shown separately: later ones say little of a chaotic run."""
GROUPS = ("motion", "forces", "start")
MAPPINGS, MOST_MAPPINGS = Path("/proc/self/maps"), 30_000
"""A compiled program holds memory mappings, of which Linux gives a process 65 530."""
SEPARATOR = " | "


def record(path: Path, only: Sequence[str] = (), *, optimized=False, resume=False) -> None:
    """Record all `cases`, or those whose names begin with one of `only`; save after each of them.

    With `resume`, runs that the file already holds are kept as they are.
    """
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", not optimized)
    print(f"zwang {zw.__version__} of {Path(str(zw.__file__)).parent}", flush=True)
    written = {"version": np.array(zw.__version__)}
    if resume and path.exists():
        with np.load(path) as file:
            written |= {key: file[key] for key in file.files}
    for name, compute in cases().items():
        kept = f"{name}{SEPARATOR}seconds" in written
        if kept or (only and not name.startswith(tuple(only))):
            continue
        begun = time.perf_counter()
        try:
            fields = compute()
        except Exception as error:  # one run that fails must not cost the others
            fields = {"failure": np.array(f"{type(error).__name__}: {error}")}
        fields["seconds"] = np.array(time.perf_counter() - begun)
        written |= {f"{name}{SEPARATOR}{field}": x for field, x in fields.items()}
        np.savez_compressed(path, **written)
        print(f"{name:36s} {fields['seconds']:6.1f} s  {fields.get('failure', '')}", flush=True)
        if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
            jax.clear_caches()
            gc.collect()


def same(name: str, a: Fields, b: Fields) -> bool:
    """Whether a field agrees; `gaps` compares the values of samples, and this their number."""
    x, y = a[name], b[name]
    if name == "steps":
        by_noise = abs(np.sum(a.get("noise steps", x)) - np.sum(x))
        allowed = max(5, MORE_STEPS * np.sum(x), 2 * by_noise)
        return bool(abs(np.sum(y) - np.sum(x)) <= allowed)
    if x.shape != y.shape or over_samples(name, a):
        return x.shape == y.shape
    if name.endswith(" times"):
        return bool(np.all(np.abs(x - y) <= SAME_TIME))
    return bool(np.array_equal(x, y))


def sensitivity(variation: str, a: Fields) -> dict[str, np.ndarray]:
    """Largest change up to each sample that a variation of the run caused, by group."""
    varied = {name.removeprefix(variation): a[name] for name in a if name.startswith(variation)}
    return {group: np.maximum.accumulate(gap) for group, gap in gaps(a, varied).items()}


def judge(a: Fields, b: Fields) -> tuple[dict[str, str], str]:
    """The cells of a line by column, and the verdict; the first recording sets the bounds."""
    if "failure" in a and "failure" in b:
        return {}, "failed in both"
    if "failure" in a or "failure" in b:
        return {}, f"changed: {b.get('failure', 'no longer fails')}"
    changed = [f"{name} is in one only" for name in sorted(plain(a) ^ plain(b))]
    cells, share, beyond = {}, 0.0, False
    for group, gap in gaps(a, b).items():
        # what did not vary, as the start of a run that is not moved, has no sensitivity
        noise, coarse = (
            sensitivity(variation, a).get(group, np.zeros(len(gap)))
            for variation in ("noise ", "coarse ")
        )
        n = min(len(gap), len(noise), len(coarse))
        round_off = np.maximum(ROUND_OFF, AMPLIFIED * noise[:n])
        allowed = np.maximum(np.maximum(10 * a["rtol"], coarse[:n]), round_off)
        share = max(share, float(np.max(gap[:n] / allowed)))
        beyond |= bool(np.any(gap[:n] > round_off))
        cells[group] = f"{np.max(gap):.0e}"
        if group == "motion":
            cells["early"] = f"{np.max(gap[: max(1, round(EARLY * n))]):.0e}"
        if np.any(gap[:n] > allowed):
            changed.append(f"{group} by {np.max(gap):.0e}")
    changed += [name for name in sorted(plain(a) & plain(b)) if not same(name, a, b)]
    cells["share"] = f"{share:.0e}"
    if events := sum(len(a.get(f"{x} times", ())) for x in ("crossing", "switch")):
        cells["events"] = f"{events} equal"
    if any(name.startswith(("crossing", "switch")) for name in changed):
        cells["events"] = "differ"
    verdict = "within tolerance" if beyond else "equal to round-off"
    return cells, f"changed: {', '.join(changed)}" if changed else verdict


def read(path: Path, only: Sequence[str] = ()) -> dict[str, Fields]:
    """Runs of a recording, by name."""
    runs: dict[str, Fields] = {}
    with np.load(path) as file:
        for key in file.files:
            name, _, field = key.partition(SEPARATOR)
            if field and (not only or name.startswith(tuple(only))):
                runs.setdefault(name, {})[field] = file[key]
    return runs


def compare(first: Path, second: Path, only: Sequence[str] = ()) -> int:
    """Print a line for each run of two recordings; 1 if any has changed, otherwise 0."""
    a, b, changed = read(first, only), read(second, only), 0
    line = "{:36s} {:>9s} {:>9s} {:>7s} {:>7s} {:>7s} {:>7s} {:>7s} {:8s} {}".format
    print(line("run", "steps A", "steps B", "early", *GROUPS, "÷ tol", "events", "verdict"))
    for name, fields in a.items():
        other = b.get(name, {"failure": np.array("not in the second recording")})
        cells, verdict = judge(fields, other)
        steps = ["+".join(map(str, x.get("steps", "–"))) for x in (fields, other)]
        columns = [cells.get(x, "–") for x in ("early", *GROUPS, "share", "events")]
        print(line(name, *steps, *columns, verdict))
        changed += verdict.startswith("changed")
    added = f"; only in the second: {', '.join(sorted({*b} - {*a}))}" if {*b} - {*a} else ""
    print(f"{len(a)} runs, {changed} changed{added}")
    return int(changed > 0)


def main(arguments: Sequence[str]) -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, files in (("record", ["file"]), ("compare", ["first", "second"])):
        one = commands.add_parser(command)
        if command == "record":
            one.add_argument("--optimized", action="store_true", help="compile as a user does")
            one.add_argument("--resume", action="store_true", help="keep the runs of the file")
        one.add_argument("--only", type=lambda x: x.split(","), default=[], metavar="NAME,…")
        for file in files:
            one.add_argument(file, type=Path)
    given = parser.parse_args(arguments)
    if given.command == "compare":
        return compare(given.first, given.second, given.only)
    record(given.file, given.only, optimized=given.optimized, resume=given.resume)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
