"""python -m tests.fuzz --models 2000 --starts 2000 --formulas 100000 --toml 100000 \\
--robots 10000 --arguments 10000 --programs 2000 --seed 0
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax

from tests.fuzz import (
    arguments,
    formulas,
    models,
    programs,
    robot_files,
    runner,
    starts,
    toml_files,
)

KINDS = {
    "formulas": (formulas.case, 5.0),
    "toml": (toml_files.case, 10.0),
    "robots": (robot_files.case, 20.0),
    "arguments": (arguments.case, 120.0),
    "starts": (starts.case, 120.0),
    "models": (models.case, 300.0),
    "programs": (programs.case, 120.0),
}
"""A case of each kind, and the seconds that it may take, compilation included."""
VALID = ("starts", "models")
"""Kinds whose cases are valid input, of which few should end in a sentence."""
SHOWN = 40
"""Failures of a kind that are printed; all of them are in the file of seeds."""
LINES = 40
"""Most progress lines printed for one kind, at least a second apart."""


class Progress:
    """Prints each failure as it happens, and at most `LINES` lines of progress."""

    def __init__(self, kind: str, count: int):
        self.kind, self.count, self.every = kind, count, max(1, count // LINES)
        self.known = len(runner.remembered(kind))
        self.done = self.failed = self.refused = self.last = 0
        self.begun, self.said = time.monotonic(), 0.0

    def __call__(self, seed: int, what: str | None) -> None:
        self.done, self.last = self.done + 1, seed
        if what is not None:
            self.failed += 1
            if self.failed <= SHOWN:
                print(f"  {self.kind}, seed {seed}: {what}", flush=True)
        took = time.monotonic() - self.begun
        if self.done % self.every == 0 and took > self.said + 1.0:
            self.said = took
            print(f"{self.kind}: {self.counts()}, {took:.0f} s", flush=True)

    def answered(self, seed: int, sentence: str) -> None:
        """Count a case that ended in a sentence; of valid models each of them is shown."""
        self.refused += 1
        if self.kind in VALID:
            print(f"  {self.kind}, seed {seed} ends in a sentence: {sentence}", flush=True)

    def counts(self) -> str:
        return f"{self.done} tried, {self.failed} failed, {self.refused} ended in a sentence"

    def interrupted(self, first: int) -> str:
        start = first if self.done <= self.known else self.last + 1
        going_on = f"--{self.kind} {first + self.count - start} --seed {start}"
        return f"{self.kind}: stopped after {self.done}, {self.failed} failed; go on by {going_on}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    total = 0
    for kind, (case, seconds) in KINDS.items():
        if count := getattr(asked, kind):
            begun = time.monotonic()
            progress = Progress(kind, count)
            heard = {"progress": progress, "answered": progress.answered}
            try:
                wrong = runner.failures(kind, case, count, asked.seed, seconds, **heard)
            except KeyboardInterrupt:
                print(progress.interrupted(asked.seed), flush=True)
                return 130
            took = time.monotonic() - begun
            print(f"{kind}: {progress.counts()}, {took:.0f} s", flush=True)
            total += len(wrong)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
