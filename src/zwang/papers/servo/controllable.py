"""Theorem 1: the condition under which a control can enforce a constraint, and all such
controls.
"""

from __future__ import annotations

import numpy as np

from zwang.papers.claim import Claim, Part, Verdict, compared
from zwang.papers.misprint import AGREED, largest, short
from zwang.papers.servo.misprints import misprints

PROBLEMS = 200
SHAPES = ((1, 2, 1), (2, 5, 2), (3, 5, 6), (3, 6, 2))
"""(constraints m, coordinates n, controls p): exactly, under- and redundantly actuated problems."""


def reproduced() -> Part:
    """Theorem 1, eq. (32)-(35), and the misprints of the paper."""
    return Part([_sufficient(), _rank_alone(), _not_necessary(), *(x.claim for x in misprints())])


def _sufficient() -> Claim:
    """Random problems that satisfy Assumption 3, some with dependent constraints and controls."""
    random, worst = np.random.default_rng(35), 0.0
    for k in range(PROBLEMS):
        m, n, p = SHAPES[k % len(SHAPES)]
        C, B, a = (random.normal(size=shape) for shape in ((m, n), (n, p), n))
        if k % 3 == 0:
            C[-1] = C[0]
        b = C @ a + C @ B @ random.normal(size=p)  # some control reaches this b
        worst = max(worst, missed(C, B, a, b, random.normal(size=p)))
    return Claim(
        "Theorem 1, eq. (35)",
        "rank[C B̄] ≥ 1 and Assumption 3: u of eq. (35) keeps C ẍ = b, whatever s is",
        "C ẍ = b",
        f"missed by {short(worst)} at most",
        compared(worst < 100 * AGREED),
        f"{PROBLEMS} random systems with fewer and with more controls than relations.",
    )


def _rank_alone() -> Claim:
    """One control for two constraints: the rank is one, and no control reaches b."""
    C, B, a, b = np.eye(2), np.array([[1.0], [0.0]]), np.zeros(2), np.array([0.0, 1.0])
    left = missed(C, B, a, b, np.zeros(1))
    return Claim(
        "Theorem 1, Assumption 3",
        "Assumption 3 is needed: the rank alone is not enough",
        "assumed",
        f"rank {np.linalg.matrix_rank(C @ B)}, and C ẍ = b missed by {left:g}",
        compared(left > 0.5),
        "One control, two relations, of which it does not reach the second.",
    )


def _not_necessary() -> Claim:
    """No control acts on the constraint, and the free motion satisfies it."""
    C, B, a = np.array([[0.0, 1.0]]), np.array([[1.0], [0.0]]), np.array([3.0, 0.5])
    b = C @ a
    left = missed(C, B, a, b, np.ones(1))
    correction = "“if” alone: where C B̄ = 0 and b̄ = 0 (32) is consistent, and every u will do."
    rank = int(np.linalg.matrix_rank(C @ B))
    return Claim(
        "Theorem 1, eq. (34)",
        "controllable only if rank[C B̄] ≥ 1",
        "only if",
        f"rank {rank}, Assumptions 1-3 hold, and C ẍ = b is missed by {left:g}",
        compared(rank == 0 and left == 0, correction),
        correction,
        Verdict.CORRECTED,
    )


def missed(C, B, a, b, s) -> float:
    """The residual C ẍ − b under u of eq. (35)."""
    reach = C @ B
    plus = np.linalg.pinv(reach, rcond=1e-10)
    u = plus @ (b - C @ a) + (np.eye(len(s)) - plus @ reach) @ s
    return largest(C @ (a + B @ u) - b)
