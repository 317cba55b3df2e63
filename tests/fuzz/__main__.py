"""python -m tests.fuzz --models 2000 --starts 2000 --formulas 100000 --toml 100000 \\
--robots 10000 --arguments 10000 --seed 0
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import jax

from tests.fuzz import arguments, formulas, models, robot_files, runner, starts, toml_files

KINDS = {
    "formulas": (formulas.case, 5.0),
    "toml": (toml_files.case, 10.0),
    "robots": (robot_files.case, 20.0),
    "arguments": (arguments.case, 120.0),
    "starts": (starts.case, 120.0),
    "models": (models.case, 300.0),
}
"""A case of each kind, and the seconds that it may take, compilation included."""
SHOWN = 40


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
            wrong = runner.failures(kind, case, count, asked.seed, seconds)
            took = time.monotonic() - begun
            print(f"{kind}: {len(wrong)} of {count} failed, {took:.0f} s", flush=True)
            for seed, what in list(wrong.items())[:SHOWN]:
                print(f"  seed {seed}: {what}")
            total += len(wrong)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
