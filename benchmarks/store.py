"""`results/benchmarks.json`: each part replaces itself and leaves the others as they were; parts of
many runs save after each.
"""

from __future__ import annotations

import json
import math
import os
import platform
from pathlib import Path

from zwang.files import write_text

RESULTS = Path("results/benchmarks.json")


def read(path: Path = RESULTS) -> dict:
    """Everything measured so far; nothing if there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(part: str, found, path: Path = RESULTS) -> None:
    """Put one part in place, whole or not at all: a run may be cut off at any time."""
    everything = {**read(path), part: _plain(found)}
    path.parent.mkdir(exist_ok=True, parents=True)
    write_text(path, json.dumps(everything, indent=1))


def machine() -> dict:
    """The machine and the versions that figures belong to."""
    import importlib.metadata

    versions = {name: importlib.metadata.version(name) for name in ("jax", "numpy", "scipy")}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **versions,
        "load": load,
    }


def _plain(x):
    """JSON has no infinities; a figure that is none is null."""
    if isinstance(x, dict):
        return {str(k): _plain(y) for k, y in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(y) for y in x]
    if hasattr(x, "item") and getattr(x, "ndim", 1) == 0:
        x = x.item()
    return None if isinstance(x, float) and not math.isfinite(x) else x


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
