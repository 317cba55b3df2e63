"""One acceleration, or one step where a program offers no less, against the number of bodies: N
four-bar loops, and a chain of rods.

The small end of the ladder is the latency of one evaluation for 8 to 200 rows; the large end tells
what grows faster than the system.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.peers import Peer
from benchmarks.peers.precision import spread
from benchmarks.peers.process import run as run_process

SIZES = {
    "ladder": (1, 2, 4, 8, 16, 32, 100, 1000, 10_000),
    "rods": (10, 100, 1000, 10_000, 100_000),
}
"""Loops; rods."""
SHORT = {"ladder": (1, 4, 16), "rods": (10, 100)}
SECONDS, COMPILING = 30.0, 120.0
"""Of one process, and of one that compiles; a peer that does not finish one size is not asked for
the next.
"""
REPEATS = 7


def bodies(family: str, size: int) -> int:
    return 2 * size + 1 if family == "ladder" else size


def shape(family: str, size: int) -> tuple[int, int]:
    """Rows and coordinates, of the bodies' own coordinates."""
    return (6 * size + 2, 6 * size + 3) if family == "ladder" else (2 * size, 3 * size)


def measure(
    families: Sequence[str],
    peers: Sequence[Peer],
    found: dict,
    save: Callable[[dict], None],
    sizes: dict = SIZES,
) -> dict:
    """Measure, put records into `found` by `family/peer/size`, save after each."""
    with tempfile.TemporaryDirectory() as cache:
        for family in families:
            for peer in peers:
                for key in [k for k in found if k.startswith(f"{family}/{peer.key}/")]:
                    del found[key]
                for record in _growing(family, peer, sizes[family], cache):
                    found[f"{family}/{peer.key}/{record['size']}"] = record
                    save(found)
                    print(f"  {said(record)}", flush=True)
    return found


def _growing(family: str, peer: Peer, sizes: Sequence[int], cache: str):
    for size in sizes:
        m, n = shape(family, size)
        record = {
            "family": family,
            "peer": peer.key,
            "size": size,
            "bodies": bodies(family, size),
            "rows": m,
            "coordinates": n,
        }
        if sentence := peer.missing():
            yield {**record, "status": "missing", "sentence": sentence}
            return
        with tempfile.TemporaryDirectory() as folder:
            arguments = [
                "benchmarks.peers.worker",
                "evaluate",
                peer.key,
                family,
                str(size),
                folder,
                str(REPEATS),
            ]
            _, sentence = run_process(
                arguments, COMPILING if peer.compiles else SECONDS, {"ZWANG_CACHE": cache}
            )
            times = Path(folder) / "times.json"
            if not times.exists():
                yield {**record, "status": "failed", "sentence": sentence}
                return
            seen = json.loads(times.read_text())
        yield {**record, "status": "ran", "seconds": spread(seen.pop("again")), **seen}


def said(record: dict) -> str:
    head = f"{record['family']:7s} {record['peer']:15s} {record['bodies']:7d} bodies"
    if record["status"] != "ran":
        return f"{head}  {record['status']}: {record['sentence']}"
    x = record["seconds"]
    low, middle, high = (x[k] * 1e6 / record["bodies"] for k in ("min", "median", "max"))
    return (
        f"{head}  {record['what']:13s} {x['median'] * 1e6:12.1f} µs, per body {middle:8.3f} "
        f"({low:.3f} … {high:.3f}), ready in {record['ready']:5.1f} s, {record['peak_mb']:5.0f} "
        "MB"
    )
