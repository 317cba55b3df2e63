"""What the machine can do on one core, and what one acceleration asks of it: floating point
operations and bytes.

    dense, m rows on n coordinates with a diagonal M:
        m n + m² n + m³/3 + 3 · 2 m² + 4 m n operations; 8 (m n + m²) bytes
    chain of N rods:
        a band of 2 rows to 6 entries of A; 8 · (state, A, factor) bytes, each of which is read or
        written once

Neither counts the evaluation of φ and its derivatives, so that no program can be as fast as this
limit, and none is faster.
"""

from __future__ import annotations

import time

import numpy as np

SIDE = 1000
"""Of the matrices whose product is timed."""
STREAM = 8_000_000
"""Numbers in each array of the triad: 64 MB, larger than caches."""
SWEEPS = 3
"""Of the proximal method."""


def run() -> dict:
    peak, small, stream = dgemm(SIDE), {n: cholesky(n) for n in (12, 60, 194)}, triad()
    print(
        f"limits, one core: dgemm {peak['median'] / 1e9:.1f} GFLOP/s, triad "
        f"{stream['median'] / 1e9:.1f} GB/s"
    )
    return {"dgemm": peak, "triad": stream, "cholesky": {str(n): x for n, x in small.items()}}


def operations(m: int, n: int) -> tuple[float, float]:
    """Operations and bytes of one dense acceleration."""
    return m * n + m * m * n + m**3 / 3 + SWEEPS * 2 * m * m + 4 * m * n, 8.0 * (m * n + m * m)


def chain_bytes(rods: int) -> float:
    """Bytes of one acceleration of a chain: q, v, v̇, M (3 each), A (8 entries), factor (3 blocks
    of 2 × 2), b, λ (2 each) per rod.
    """
    return 8.0 * rods * (4 * 3 + 8 + 3 * 4 + 2 * 2)


def dgemm(n: int) -> dict:
    """Operations per second of a product of matrices."""
    a = np.random.default_rng(0).normal(size=(n, n))
    a @ a
    return _rate(lambda: a @ a, 2.0 * n**3)


def cholesky(n: int) -> dict:
    """Operations per second of LAPACK's factor at the sizes that mechanisms have, where calls cost
    as much as arithmetic.
    """
    from scipy.linalg.lapack import dpotrf

    a = np.random.default_rng(0).normal(size=(n, n))
    a = a @ a.T + n * np.eye(n)

    def many():
        for _ in range(200):
            dpotrf(a)

    return _rate(many, 200 * n**3 / 3)


def triad() -> dict:
    """Bytes per second of a ← b + s c: two read, one written."""
    b, c, a = np.ones(STREAM), np.ones(STREAM), np.empty(STREAM)

    def go():
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    return _rate(go, 8.0 * STREAM * 5)


def _rate(call, amount: float, repeats: int = 7) -> dict:
    seen = []
    call()
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        seen.append(amount / (time.perf_counter() - begun))
    return {"median": float(np.median(seen)), "min": min(seen), "max": max(seen)}
