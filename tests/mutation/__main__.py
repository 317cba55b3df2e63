"""python -m tests.mutation --count 300 --seed 1 [--only kernel] [--seconds 60] [--jobs 8]"""

from __future__ import annotations

import argparse
import ast
import collections
import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A mutant is a fork of this process, which has imported everything and computed nothing.
import hypothesis  # noqa: F401
import pytest
import scipy.sparse.linalg  # noqa: F401

import zwang  # noqa: F401
from tests.mutation.equivalent import why_equivalent
from tests.mutation.groups import GROUPS, Group
from tests.mutation.mutants import Mutant, mutants, mutated

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "zwang"
TARGET = 0.85
"""Part of the mutants that has to be killed."""
KILLED, SURVIVED, LATE, EQUIVALENT = "killed", "survived", "took too long", "equivalent"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", choices=sorted(GROUPS), nargs="*", help="groups; all unless given"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="time of one mutant")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    asked = parser.parse_args()
    groups = {name: GROUPS[name] for name in asked.only or GROUPS}
    for group in groups.values():
        for module in group.files:
            importlib.import_module(f"zwang.{module}")
    total = collections.Counter()
    for name, group in groups.items():
        start = time.monotonic()
        unchanged = [("", None)]
        if next(fates(group, unchanged, asked.seconds, 1))[2] != SURVIVED:
            print(
                f"{name}: without a mutant the tests fail, or take longer than --seconds",
                flush=True,
            )
            return 2
        took = time.monotonic() - start
        drawn, of = sample(group, asked.count // len(groups), f"{asked.seed} {name}")
        found = collections.Counter()
        print(f"{name}: {len(drawn)} of {of} mutants, the tests take {took:.1f} s", flush=True)
        tried = [x for x in drawn if why_equivalent(*x, path_of(x[0]).read_text()) is None]
        found[EQUIVALENT] = len(drawn) - len(tried)
        for module, mutant, fate in fates(group, tried, asked.seconds, asked.jobs):
            found[fate] += 1
            if fate == SURVIVED:
                print(f"  {module}:{mutant.line} {mutant.kind}: {mutant.what}", flush=True)
        print(
            f"{name}: {found[SURVIVED]} survived, {found[EQUIVALENT]} change nothing, "
            f"score {score(found):.0%}",
            flush=True,
        )
        total += found
    print(
        f"all: {sum(total.values())} mutants with seed {asked.seed}, {total[SURVIVED]} survived, "
        f"{total[EQUIVALENT]} change nothing, {total[LATE]} took too long, score {score(total):.1%}"
    )
    return 0 if score(total) >= TARGET else 1


def score(found: collections.Counter) -> float:
    """Part of the mutants that can be noticed that did not survive; one that never ends is
    noticed, too.
    """
    return 1 - found[SURVIVED] / max(sum(found.values()) - found[EQUIVALENT], 1)


def sample(group: Group, count: int, seed: str) -> tuple[list[tuple[str, Mutant]], int]:
    """A random sample of a group's mutants, and how many there are."""
    every = [
        (module, mutant)
        for module in group.files
        for mutant in mutants(path_of(module).read_text())
    ]
    return random.Random(seed).sample(every, min(count, len(every))), len(every)


def path_of(module: str) -> Path:
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py")


def fates(group: Group, drawn: list, seconds: float, jobs: int):
    """What becomes of mutants: (module, mutant, fate) as they end, `jobs` of them at a time.

    A module without a mutant stands for the program as it is.
    """
    waiting, running = drawn[::-1], {}
    while waiting or running:
        while waiting and len(running) < jobs:
            module, mutant = waiting.pop()
            running[begun(group, module, mutant)] = module, mutant, time.monotonic() + seconds
        for child, (module, mutant, end) in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                fate = SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED
            elif time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                fate = LATE
            else:
                continue
            del running[child]
            yield module, mutant, fate
        time.sleep(0.02)


def begun(group: Group, module: str, mutant: Mutant | None) -> int:
    """Begin the tests of a group on a mutant, in a process of its own, whose number is returned."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 3
        try:
            code = in_child(group, module, mutant)
        finally:
            os._exit(code)
    return child


def in_child(group: Group, module: str, mutant: Mutant | None) -> int:
    """Change one module, and run the tests up to the first that fails."""
    if mutant is not None:
        put_in(f"zwang.{module}", mutated(path_of(module).read_text(), mutant))
    os.chdir(ROOT)
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *group.tests]))


def put_in(name: str, tree: ast.Module) -> None:
    """Execute a changed text in the place of a module, and hand its names on to the modules that
    have imported them.
    """
    module = sys.modules[name]
    before = dict(vars(module))
    exec(compile(tree, str(module.__file__), "exec"), vars(module))
    changed = {k: x for k, x in vars(module).items() if x is not before.get(k) and k[:2] != "__"}
    for other in [x for key, x in sys.modules.items() if key.startswith("zwang")]:
        for key, new in changed.items():
            if other is not module and vars(other).get(key) is before.get(key, other):
                setattr(other, key, new)


if __name__ == "__main__":
    sys.exit(main())
