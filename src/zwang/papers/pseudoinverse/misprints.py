"""Misprinted equations for a pseudoinverse, each for a matrix of dependent rows."""

from __future__ import annotations

import numpy as np

from zwang.papers.claim import Claim
from zwang.papers.misprint import Misprint, apart, largest

A = np.array([[1.0, 2.0], [3.0, 4.0], [4.0, 6.0]])
"""A matrix whose third row is the sum of the others."""


def claims() -> list[Claim]:
    """The misprints as claims."""
    return [x.claim for x in misprints()]


def misprints() -> list[Misprint]:
    """All misprints that a number can show, in the paper's order."""
    # a matrix with two rows, because a 2 × 2 V can equal its own transpose
    wide = A.T
    U, sigma, Vt = np.linalg.svd(wide)
    whole = np.zeros(wide.shape)
    whole[[0, 1], [0, 1]] = sigma
    stray = whole.copy()
    stray[1, 1] = 1.0
    before = np.linalg.inv(A[:2])
    d = A[2:] @ before
    right = np.linalg.pinv(A)
    column = lambda b: np.hstack([before - b @ d, b])
    b = before @ d.T / (1 + d @ d.T)
    return [
        Misprint(
            "eq. (12)",
            "A by its complete orthogonal decomposition",
            "Q [L 0; 0 0] P",
            "Pᵀ, as its second line has it",
            largest(U @ whole @ Vt.T - wide),
            largest(U @ whole @ Vt - wide),
        ),
        Misprint(
            "eq. (19), its σ",
            "A by singular values",
            "σ = diag(σ₁, 1, …, σ_r)",
            "σ₂ for the 1",
            largest(U @ stray @ Vt - wide),
            largest(U @ whole @ Vt - wide),
        ),
        Misprint(
            "Greville, step 3",
            "A⁺ by one row more",
            "[P − bᵀd] bᵀ, a product",
            "[P − bᵀd | bᵀ], one column more",
            apart((before - b @ d) @ b, right),
            apart(column(b), right),
        ),
        Misprint(
            "Greville, ‖c‖ = 0",
            "A⁺ for a row that depends on others",
            "b = d P/(1 + d dᵀ)",
            "b = d Pᵀ/(1 + d dᵀ)",
            apart(column((d @ before / (1 + d @ d.T)).T), right),
            apart(column(b), right),
        ),
    ]
