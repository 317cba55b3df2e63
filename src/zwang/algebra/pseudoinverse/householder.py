"""Least squares by Householder QR: a basic solution, then the one of least norm."""

from __future__ import annotations

import jax.numpy as jnp

from zwang.algebra.lapack import qr, solve_triangular
from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor, real_matrix
from zwang.algebra.pseudoinverse.pivoted_qr import pivoted_qr, qr_flops


class Householder(AbstractThreshold):
    """C⁺ as the least-squares solutions of least norm for the m unit right-hand sides
    (pseudoinverse paper, eq. 15-18).

    With `C P = Q [R₁₁ R₁₂; 0 0]`, R₁₁ (r × r) upper triangular, n − r coordinates of a basic
    solution are zero, and the columns of N span the null space of C:

        X = P [R₁₁⁻¹ Q₁ᵀ; 0],    N = P [−R₁₁⁻¹R₁₂; I]

    A second Householder QR, N = Z S, removes the component of X in the null space:

        C⁺ = X − Z Zᵀ X

    The normal equations (16), (18) that the paper prints are not formed: they square the condition
    number.

    Attributes:
        threshold: a column is dependent if its distance from the span of the columns before it is
            at most this times the length of the longest column; 1e-10, six digits above the
            round-off of dependent columns.
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Golub and Van Loan (1996), Matrix Computations, 3rd ed., sections 5.5.1 and 5.7;
        Lawson and Hanson (1974).
    """

    def factor(self, C):
        m, n = real_matrix(C).shape
        k = min(m, n)
        first = pivoted_qr(C, self.threshold)
        # coordinates of the basic solution, in pivoted order
        basic = jnp.zeros(n).at[:k].set(1.0 * first.keep)
        R11 = first.R[:, :k] * first.keep + jnp.diag(1.0 - first.keep)
        both = jnp.concatenate([first.keep[:, None] * first.Q.T, first.R * (1 - basic)], axis=1)
        both = jnp.zeros((n, m + n)).at[:k].set(solve_triangular(R11, both))
        X, W = first.unpivot(both[:, :m]), both[:, m:]
        # The columns of N are reversed: those of the basic coordinates are zero, and zero columns
        # must come last in the QR factorization.
        N = first.unpivot(jnp.diag(1 - basic) - W)[:, ::-1]
        Z = qr(N)[0] * (1 - basic)[::-1]
        return MatrixFactor(X - Z @ (Z.T @ X), jnp.sum(first.keep))

    def flops(self, m, n):
        """With k = min(m, n): QR of C and its thin Q, `k²(m + n)` triangular solves, `8n³/3` for Z,
        `4 m n²` to apply it.
        """
        k = min(m, n)
        return (
            qr_flops(m, n, k)
            + qr_flops(m, k, k)
            + k * k * (m + n)
            + 2 * qr_flops(n, n, n)
            + 4 * m * n * n
        )
