"""Whole processes: `zwang --help`, and `zwang run five-bar` with an empty and with a warm compile cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def run() -> dict:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ZWANG_CACHE": f"{folder}/cache"}
        job = [sys.executable, "-m", "zwang", "run", "five-bar", "--duration", "20", "--quiet", "--out", f"{folder}/out"]

        def seconds(command) -> float:
            start = time.perf_counter()
            subprocess.run(command, check=True, env=environment, capture_output=True)
            return time.perf_counter() - start

        help_ = [seconds([sys.executable, "-m", "zwang", "--help"]) for _ in range(5)]
        cold, warm = seconds(job), [seconds(job) for _ in range(3)]
        plain = [seconds([*job, "--no-report"]) for _ in range(3)]
    results = {
        "help": float(np.median(help_)), "first": cold, "warm": float(np.median(warm)), "warm without report": float(np.median(plain)),
        "warm / first": float(np.median(warm)) / cold,
    }  # fmt: skip
    print("whole process                                   seconds")
    print(f"  zwang --help                                {results['help']:10.2f}")
    print(f"  zwang run five-bar, empty compile cache     {cold:10.2f}")
    print(f"  the same, warm cache                        {results['warm']:10.2f}  ({results['warm / first']:.0%} of the first)")
    print(f"  the same, warm cache, --no-report           {results['warm without report']:10.2f}")
    return results
