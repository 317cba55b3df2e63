"""Whole processes: `zwang --help`, importing, and `zwang run five-bar` with nothing kept and with
all of it, part by part.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from benchmarks.timing import environment

IMPORT = "import zwang as zw; zw.Model, zw.simulate, zw.motion"
REPEATS = 3


def run() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        given = environment(ZWANG_CACHE=f"{folder}/cache")
        python = [sys.executable, "-m", "zwang"]
        job = [*python, "run", "five-bar", "--duration", "20", "--out", f"{folder}/out"]

        def measured(command, **more) -> tuple[float, str]:
            start = time.perf_counter()
            ended = subprocess.run(
                command, check=True, env=given | more, capture_output=True, text=True
            )
            return time.perf_counter() - start, ended.stdout

        def median(command, **more) -> float:
            return float(np.median([measured(command, **more)[0] for _ in range(REPEATS)]))

        help_, importing = median([*python, "--help"]), median([sys.executable, "-c", IMPORT])
        (first, said), again = measured(job), [measured(job) for _ in range(REPEATS)]
        warm, said_again = sorted(again)[REPEATS // 2]
        bare, nothing_kept = median([*job, "--no-report"]), median(job, ZWANG_KEEP="0")
        results = {
            "help": help_,
            "import": importing,
            "first": first,
            "warm": warm,
            "warm without report": bare,
            "warm, nothing kept": nothing_kept,
            "warm / first": warm / first,
            "parts": {"first": parts(said), "warm": parts(said_again)},
        }
    print("whole process                                   seconds")
    for name, what in (
        ("help", "zwang --help"),
        ("import", "import"),
        ("first", "zwang run five-bar, nothing kept yet"),
        ("warm", "the same, once more"),
        ("warm without report", "the same, --no-report"),
        ("warm, nothing kept", "the same, ZWANG_KEEP=0 (JAX's cache alone)"),
    ):
        print(f"  {what:44s}{results[name]:10.2f}")
    for which in ("first", "warm"):
        print(
            f"  of the {which}: "
            + ", ".join(f"{name} {x:.2f}" for name, x in results["parts"][which].items())
        )
    return results


def parts(said: str) -> dict[str, float]:
    """Seconds by phase, from the closing table."""
    line = next(line for line in said.splitlines() if line.startswith("wall time")).partition(":")[
        2
    ]
    return {
        name.strip(): float(number) / (1000 if unit == "ms" else 1)
        for name, number, unit in re.findall(r"([a-z-]+) ([\d.]+) (ms|s)\b", line)
    }
