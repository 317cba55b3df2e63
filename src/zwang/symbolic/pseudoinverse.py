"""A⊕ in closed form."""

from __future__ import annotations

import sympy as sp

from zwang.errors import ModelError
from zwang.inputs.arguments import shown

MOST_ROWS = 6
"""Largest number of rows and columns for a closed form."""


def weighted_pseudoinverse(A, M=None) -> sp.Matrix:
    """`A⊕ = M^-1/2 (A M^-1/2)⁺` in symbols, of any rank, without a square root.

        full rank:        A⊕ = M⁻¹Aᵀ (A M⁻¹Aᵀ)⁻¹
        rank-deficient:   A = G A_r,  A⊕ = M⁻¹A_rᵀ (A_r M⁻¹A_rᵀ)⁻¹ (GᵀG)⁻¹ Gᵀ

    A_r are the nonzero rows of the reduced row echelon form of A, and G the columns of A with their
    pivots. The result is valid where no denominator vanishes: SymPy decides ranks for symbols in
    general position.

    Args:
        A: matrix, shape (m, n).
        M: mass matrix, shape (n, n); the unit matrix by default, for the Moore-Penrose inverse.

    Returns:
        A⊕, shape (n, m), simplified.

    Raises:
        ModelError: for a matrix with more than six rows or columns, or an M that does not fit.

    Reference: pseudoinverse paper, full-rank factorization; Ben-Israel and Greville (2003),
        Generalized Inverses, theorem 5.
    """
    A = sp.Matrix(A)
    if max(A.shape) > MOST_ROWS:
        raise ModelError(
            f"weighted_pseudoinverse: A has shape {A.shape}, expected at most {MOST_ROWS} rows and "
            "columns; a number for each symbol and zw.motion take any size."
        )
    M = sp.eye(A.cols) if M is None else sp.Matrix(M)
    if M.shape != (A.cols, A.cols):
        raise ModelError(
            f"weighted_pseudoinverse: M has shape {shown(M.shape)}, expected ({A.cols}, {A.cols})."
        )
    reduced, pivots = A.rref(simplify=True)
    if not pivots:
        return sp.zeros(A.cols, A.rows)
    rows, G = reduced[: len(pivots), :], A.extract(range(A.rows), list(pivots))
    if len(pivots) == A.rows:
        rows, G = A, sp.eye(A.rows)
    X = M.inv() * rows.T
    left = (G.T * G).inv() * G.T
    return (X * (rows * X).inv() * left).applyfunc(sp.simplify)
