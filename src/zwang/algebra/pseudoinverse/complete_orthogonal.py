"""Complete orthogonal decomposition: two QR factorizations, the first with pivoting."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.algebra.lapack import qr, solve_triangular
from zwang.algebra.pseudoinverse.base import AbstractFactor, AbstractThreshold
from zwang.algebra.pseudoinverse.pivoted_qr import pivoted_qr, qr_flops


class CompleteOrthogonalFactor(AbstractFactor):
    """`C = V T Uᵀ` of rank r, k = min(m, n), so that `C⁺ = U T⁻¹ Vᵀ` on the first r directions.

    Attributes:
        V: orthonormal columns, shape (m, k).
        T: upper triangular, shape (k, k); the identity from row and column r on, which keeps it
            invertible.
        U: orthonormal columns, shape (n, k).
        keep: the first r of k directions.
    """

    V: Float[Array, "m k"]
    T: Float[Array, "k k"]
    U: Float[Array, "n k"]
    keep: Bool[Array, " k"]

    def solve(self, r):
        return self.U @ solve_triangular(self.T, self.keep * (self.V.T @ r))

    def solve_transpose(self, x):
        return self.V @ (self.keep * solve_triangular(self.T, self.U.T @ x, trans=1))

    def rank(self):
        return jnp.sum(self.keep)

    def matrix(self):
        return self.U @ solve_triangular(self.T, self.keep[:, None] * self.V.T)


def decompose(C: Float[Array, "m n"], threshold) -> CompleteOrthogonalFactor:
    """`Cᵀ P = U R` with pivoting, rank r from |R_ii|, then `Rᵀ = V T` of the independent rows,
    `V ← P V`.
    """
    first = pivoted_qr(C.T, threshold)
    V, T = qr(first.R.T)  # rows of R from r on are zero, and so are the columns of T
    return CompleteOrthogonalFactor(
        first.unpivot(V), T + jnp.diag(1.0 - first.keep), first.Q, first.keep
    )


def decompose_flops(m: int, n: int) -> float:
    """Two factorizations and two thin orthogonal factors."""
    k = min(m, n)
    return qr_flops(m, n, k) + qr_flops(n, k, k) + 2 * qr_flops(m, k, k)


class CompleteOrthogonal(AbstractThreshold):
    """`C⁺ = U T⁻¹ Vᵀ`, applied by one triangular solve; C⁺ is never formed.

    The first QR is that of Cᵀ: its pivots are rows of C, and the rank is their number. A row that
    depends on those chosen before it is omitted from the factor, but still counts in the
    least-squares sense of C⁺.

    Attributes:
        threshold: a row is dependent if its distance from the span of the rows before it is at most
            this times the length of the longest row; 1e-10, six digits above the round-off of
            repeated rows (1e-16). C⁺ then has at least six digits.
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Golub and Van Loan (1996), Matrix Computations, 3rd ed., section 5.4.2.
    """

    def factor(self, C):
        return decompose(C, self.threshold)

    def flops(self, m, n):
        """With k = min(m, n): both factorizations as in `decompose_flops`, `m k²` triangular
        solves, `2 k m n` product.
        """
        k = min(m, n)
        return decompose_flops(n, m) + m * k * k + 2 * k * m * n
