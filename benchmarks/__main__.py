"""`python -m benchmarks [name ...]`: run the benchmarks of `NAMES`, all or some, print tables, write `results/benchmarks.json`."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core, for NumPy too; read when it is first imported

NAMES = ("acceleration", "control", "crossing", "compile", "startup", "hierarchy", "modules", "robots", "sparse", "long")


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    import importlib

    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    machine = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    machine |= {"jax": jax.__version__, "numpy": np.__version__}
    print(", ".join(f"{k} {v}" for k, v in machine.items()), end="\n\n")
    results = {"machine": machine}
    for name in names or NAMES:
        results[name] = importlib.import_module(f"benchmarks.{name}").run()
        print()
    path = Path("results/benchmarks.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1))
    print(f"written to {path}")
    return 0


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


sys.exit(main(sys.argv[1:]))
