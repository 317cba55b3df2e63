"""The Cholesky factor of a symmetric positive definite matrix, `M = L Lᵀ`, factored once and applied to many vectors.

By LAPACK, whose call costs more than its arithmetic at a few rows, and which works on a batch matrix by matrix: there the columns
are written out on arrays (row, batch), and every operation runs over the batch in vector registers.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

SMALL = 32
"""Up to this many rows L⁻¹ is formed: two triangular solves by LAPACK cost more in calls than two products (measured: 12 rows,
23 µs against 8 µs for six of them; 60 rows, 84 µs against 129 µs)."""

SUMMED = 12
"""Up to this many rows `C Cᵀ` is a fused sum (measured beside a matrix product: 6 rows, 0.4 µs against 1.0; 12 rows, 2.2 both;
24 rows, 12.8 against 2.6)."""

WRITTEN_OUT = 6
"""Up to this many rows the columns are written out (measured, L and L⁻¹ of one matrix: 1 row, 0.02 µs against LAPACK's 0.76; 3 rows,
0.06 against 1.1; 6 rows, 0.5 against 1.5; per matrix in batches of 1000: 5 rows, 0.13 µs against 0.61; 9 rows, 1.2 against 1.8): the
program grows with rows², and LAPACK's calls matter less and less."""


class Cholesky(eqx.Module):
    """`M = L Lᵀ`. Reads the lower triangle of M only.

    Attributes:
        lower: L⁻¹ for up to `SMALL` rows, else L; NaN where M is not positive definite.
    """

    lower: Float[Array, "n n"]

    def __init__(self, M: Float[Array, "n n"]):
        L = cholesky(M)
        self.lower = lower_inverse(L) if len(L) <= SMALL else L

    def forward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """`L⁻¹ x`."""
        return self.lower @ x if len(self.lower) <= SMALL else solve_triangular(self.lower, x, lower=True)

    def backward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """`L⁻ᵀ x`."""
        return self.lower.T @ x if len(self.lower) <= SMALL else solve_triangular(self.lower, x, lower=True, trans=1)

    def solve(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """`M⁻¹ x`."""
        return self.backward(self.forward(x))

    def is_positive(self) -> Bool[Array, ""]:
        """Whether M is positive definite to working precision."""
        return jnp.all(jnp.isfinite(self.lower))

    def log_det(self) -> Float[Array, ""]:
        """`log det M`."""
        log_det = 2 * jnp.sum(jnp.log(jnp.diag(self.lower)))
        return -log_det if len(self.lower) <= SMALL else log_det


@jax.custom_jvp
def gram(C: Float[Array, "m n"]) -> Float[Array, "m m"]:
    """`C Cᵀ`."""
    return _gram(C)


@gram.defjvp
def _gram_jvp(primals, tangents):
    half = tangents[0] @ primals[0].T
    return gram(*primals), half + half.T


@custom_vmap
def _gram(C):
    # for few rows a fused sum beats the call of a matrix product, but not in a batch
    return jnp.sum(C[:, None, :] * C[None, :, :], axis=2) if len(C) <= SUMMED else C @ C.T


@_gram.def_vmap
def _gram_batch(size, batched, C):
    return C @ jnp.swapaxes(C, 1, 2), True


@jax.custom_jvp
def cholesky(M: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L, lower triangular, with `M = L Lᵀ`; NaN where M is not positive definite. Reads the lower triangle of M."""
    return _cholesky(M)


@cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    return jax.jvp(_lapack, primals, tangents)


@jax.custom_jvp
def lower_inverse(L: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """`L⁻¹` of a lower triangular matrix."""
    return _lower_inverse(L)


@lower_inverse.defjvp
def _lower_inverse_jvp(primals, tangents):
    X = lower_inverse(*primals)
    return X, -X @ jnp.tril(tangents[0]) @ X


def _lapack(M):
    return jnp.linalg.cholesky(M, symmetrize_input=False)


@custom_vmap
def _cholesky(M):
    return _lapack(M) if len(M) > WRITTEN_OUT else _cholesky_written_out(M[:, :, None])[:, :, 0]


@_cholesky.def_vmap
def _cholesky_batch(size, batched, M):
    if M.shape[-1] > WRITTEN_OUT:
        return _lapack(M), True
    return jnp.moveaxis(_cholesky_written_out(jnp.moveaxis(M, 0, -1)), -1, 0), True


def _cholesky_written_out(M):
    """L of matrices of shape (row, column, batch)."""
    columns = []
    for j in range(len(M)):
        rest = M[j:, j]
        for k, done in enumerate(columns):
            rest = rest - done[j - k :] * done[j - k]
        columns.append(jax.lax.optimization_barrier(rest / jnp.sqrt(rest[0])))  # once, or users of it round differently
    return jnp.stack([jnp.pad(column, ((j, 0), (0, 0))) for j, column in enumerate(columns)], 1)


@custom_vmap
def _lower_inverse(L):
    if len(L) <= WRITTEN_OUT:
        return _lower_inverse_written_out(L[:, :, None])[:, :, 0]
    return jax.lax.linalg.triangular_solve(L, jnp.eye(len(L), dtype=L.dtype), left_side=True, lower=True)


@_lower_inverse.def_vmap
def _lower_inverse_batch(size, batched, L):
    n = L.shape[-1]
    if n > WRITTEN_OUT:
        eye = jnp.broadcast_to(jnp.eye(n, dtype=L.dtype), L.shape)
        return jax.lax.linalg.triangular_solve(L, eye, left_side=True, lower=True), True
    return jnp.moveaxis(_lower_inverse_written_out(jnp.moveaxis(L, 0, -1)), -1, 0), True


def _lower_inverse_written_out(L):
    """`L⁻¹` of matrices of shape (row, column, batch)."""
    n, size, rows = len(L), L.shape[-1], []
    for i in range(n):
        row = jnp.zeros((i, size), L.dtype)
        for k, done in enumerate(rows):
            row = row - L[i, k] * jnp.pad(done, ((0, i - len(done)), (0, 0)))
        row = jnp.concatenate([row, jnp.ones((1, size), L.dtype)]) / L[i, i]
        rows.append(jax.lax.optimization_barrier(row))
    return jnp.stack([jnp.pad(row, ((0, n - len(row)), (0, 0))) for row in rows])
