"""Varga's method: two QR factorizations and one explicit triangular inverse."""

from __future__ import annotations

import jax.numpy as jnp

from zwang.algebra.lapack import solve_triangular
from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor
from zwang.algebra.pseudoinverse.complete_orthogonal import decompose, decompose_flops


class Varga(AbstractThreshold):
    """C⁺ formed from two QR factorizations (pseudoinverse paper, eq. 20-21):

        C P = U [G₁; 0],    G₁ᵀ = V [G₂ᵀ; 0],    C⁺ = P V [G₂⁻¹ 0; 0 0] Uᵀ

    with G₁ (r × n) of full row rank and G₂ (r × r) lower triangular. The paper prints no P, but a
    QR factorization without pivoting does not reveal the rank, and G₁ would not have full row rank.

    The method differs from `CompleteOrthogonal` in two ways: the first QR is that of C, so that
    pivots are columns, not rows; and C⁺ is formed with the inverse of the triangle, so that each
    application is one product.

    Attributes:
        threshold: a column is dependent if its distance from the span of the columns before it is
            at most this times the length of the longest column; 1e-10, six digits above the
            round-off of dependent columns (the paper takes the integrator's tolerance).
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Varga (2001), Int. J. Appl. Math. Comput. Sci. 11(5), 1055-1068.
    """

    def factor(self, C):
        turned = decompose(C.T, self.threshold)  # Cᵀ = V G₂ᵀ Uᵀ
        inverse = solve_triangular(turned.T, jnp.diag(1.0 * turned.keep)).T  # G₂⁻¹
        return MatrixFactor(turned.V @ inverse @ turned.U.T, turned.rank())

    def flops(self, m, n):
        """With k = min(m, n): both factorizations as in `decompose_flops`, `k³/3` inverse, `2nk² +
        2mnk` products.
        """
        k = min(m, n)
        return decompose_flops(m, n) + k**3 / 3 + 2 * n * k * k + 2 * m * n * k
