"""Least squares by modified Gram-Schmidt with column pivoting."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.lapack import solve_triangular
from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor, at_unit_size
from zwang.objects.record import Record


class Orthogonalized(Record):
    """`C = Q R`, k = min(m, n).

    Attributes:
        Q: orthonormal columns, zero where the rank is exhausted, shape (m, k).
        R: shape (k, n), in the column order of C; `R[:, order]` is upper triangular.
        order: columns of C in the order in which they were chosen, shape (k,).
        keep: mask of the independent ones, shape (k,).
    """

    Q: Float[Array, "m k"]
    R: Float[Array, "k n"]
    order: Int[Array, " k"]
    keep: Bool[Array, " k"]


def orthogonalize(C: Float[Array, "m n"], threshold) -> Orthogonalized:
    """Orthogonalize by modified Gram-Schmidt: choose the longest remaining column, normalize it,
    and subtract its component from all others at once.

    The chosen column is orthogonalized once more against those before it; Q is then orthonormal to
    round-off for any condition number. The rank is reached when the longest remaining column is at
    most `threshold` times the longest column of C.
    """
    m, n = C.shape
    k = min(m, n)
    floor = threshold * jnp.sqrt(jnp.max(jnp.sum(C * C, axis=0), initial=0.0))

    def choose(i, carry):
        rest, used, Q, R, order, keep = carry
        j = jnp.argmax(jnp.where(used, -1.0, jnp.sum(rest * rest, axis=0)))
        again = Q.T @ rest[:, j]
        column = rest[:, j] - Q @ again
        length = jnp.sqrt(jnp.sum(column * column))
        independent = length > floor
        q = column * (independent / jnp.where(independent, length, 1.0))
        row = q @ rest
        rest = (rest - q[:, None] * row).at[:, j].set(0.0)
        R = R.at[:, j].add(again).at[i].set(row)
        return (
            rest,
            used.at[j].set(True),
            Q.at[:, i].set(q),
            R,
            order.at[i].set(j),
            keep.at[i].set(independent),
        )

    start = (
        C,
        jnp.zeros(n, bool),
        jnp.zeros((m, k)),
        jnp.zeros((k, n)),
        jnp.zeros(k, int),
        jnp.zeros(k, bool),
    )
    return Orthogonalized(*jax.lax.fori_loop(0, k, choose, start)[2:])


class GramSchmidt(AbstractThreshold):
    """C⁺ from two orthogonalizations by modified Gram-Schmidt:

        C = Q R,    Rᵀ = V T,    C⁺ = R⁺ Qᵀ = V T⁻ᵀ Qᵀ

    The second gives the solution of least norm if C has fewer rows, or a lower rank, than columns.
    Both re-orthogonalize once; otherwise the loss of orthogonality, of order κ·1e-16, would enter
    C⁺.

    Attributes:
        threshold: a column is dependent if its distance from the span of the columns before it is
            at most this times the length of the longest column; 1e-10, six digits above the
            round-off of dependent columns.
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Björck (1967), BIT 7, 1-21; Wampler (1979), ACM Trans. Math. Softw. 5, 494-499; Rust,
        Burrus and Schneeberger (1966), Commun. ACM 9, 381-387.
    """

    def factor(self, C):
        C, unit = at_unit_size(C)
        first = orthogonalize(C, self.threshold)
        # the rank is already known: only zero rows of R are omitted
        second = orthogonalize(first.R.T, 0.0)
        T = second.R[:, second.order] + jnp.diag(1.0 - second.keep)
        pinv = second.Q @ solve_triangular(T, first.Q.T[second.order], trans=1)
        return MatrixFactor(pinv / unit, jnp.sum(first.keep))

    def flops(self, m, n):
        """With k = min(m, n): `k (6mn + 4mk)` and `10 n k²` for the two, `m k²` triangular solve,
        `2mnk` product.
        """
        k = min(m, n)
        return k * (6 * m * n + 4 * m * k) + 10 * n * k * k + m * k * k + 2 * m * n * k
