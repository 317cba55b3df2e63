"""Householder QR with column pivoting and a rank decision: the first step of three methods."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra import lapack
from zwang.algebra.pseudoinverse.base import real_matrix
from zwang.objects.record import Record


class PivotedQR(Record):
    """`C P = Q R` of a matrix C (m × n) of rank r, k = min(m, n).

    Attributes:
        Q: orthonormal columns, shape (m, k); the first r of them span the range of C.
        R: upper trapezoidal, shape (k, n); rows from r on are zero.
        order: column j of `C P` is column `order[j]` of C, shape (n,).
        keep: mask of the rows of R that are not zero, the first r, shape (k,).
    """

    Q: Float[Array, "m k"]
    R: Float[Array, "k n"]
    order: Int[Array, " n"]
    keep: Bool[Array, " k"]

    def unpivot(self, X: Float[Array, "n c"]) -> Float[Array, "n c"]:
        """`P X`: the rows of X in the order of the columns of C."""
        return jnp.zeros_like(X).at[self.order].set(X)


def pivoted_qr(C: Float[Array, "m n"], threshold) -> PivotedQR:
    """Factor C; the rank is the number of diagonal entries of R above `threshold` times the
    largest.

    Every step takes the column that is farthest from the span of those before it. |R_ii| is this
    distance, and decreases.

    Reference: Golub and Van Loan (1996), Matrix Computations, 3rd ed., section 5.4.1.
    """
    Q, R, order = lapack.pivoted_qr(real_matrix(C))
    diagonal = jnp.abs(jnp.diag(R))
    keep = jnp.cumprod(diagonal > threshold * jnp.max(diagonal, initial=0.0)).astype(bool)
    # a product, not a selection, so that NaN in C propagates to the result
    return PivotedQR(Q, R * keep[:, None], order, keep)


def qr_flops(m: int, n: int, k: int) -> float:
    """k Householder reflections on an (m, n) matrix: `4mnk − 2k²(m + n) + 4k³/3`.

    The same count is that of forming the first n columns of Q (Golub and Van Loan, sections 5.1.6
    and 5.4.1).
    """
    return 4 * m * n * k - 2 * k * k * (m + n) + 4 * k**3 / 3
