"""The Cholesky factor of a symmetric positive definite matrix, `M = L Lᵀ`, factored once and applied to many vectors.

For one matrix by LAPACK. LAPACK works on a batch matrix by matrix, and at a few rows a call costs more than its arithmetic:
there, column by column on arrays (row, batch), every operation runs over the batch in vector registers. Only `jax.vmap` sees
the difference.
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
"""Up to this many rows a batch is written out (measured per matrix in batches of 1000, L and L⁻¹: 5 rows, 0.13 µs against 0.61;
9 rows, 1.2 µs against 1.8; 12 rows, 2.5 µs both): the program grows with rows², and LAPACK's calls matter less and less."""


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


_cholesky = custom_vmap(_lapack)


@_cholesky.def_vmap
def _cholesky_batch(size, batched, M):
    if M.shape[-1] > WRITTEN_OUT:
        return _lapack(M), True
    M = jnp.moveaxis(M, 0, -1)  # (row, column, batch)
    n, columns = len(M), []
    for j in range(n):
        rest = M[j:, j]
        for k, done in enumerate(columns):
            rest = rest - done[j - k :] * done[j - k]
        columns.append(jax.lax.optimization_barrier(rest / jnp.sqrt(rest[0])))  # once, or users of it round differently
    full = [jnp.pad(column, ((j, 0), (0, 0))) for j, column in enumerate(columns)]
    return jnp.moveaxis(jnp.stack(full, 1), -1, 0), True


@custom_vmap
def _lower_inverse(L):
    return jax.lax.linalg.triangular_solve(L, jnp.eye(len(L)), left_side=True, lower=True)


@_lower_inverse.def_vmap
def _lower_inverse_batch(size, batched, L):
    n = L.shape[-1]
    if n > WRITTEN_OUT:
        eye = jnp.broadcast_to(jnp.eye(n), L.shape)
        return jax.lax.linalg.triangular_solve(L, eye, left_side=True, lower=True), True
    L = jnp.moveaxis(L, 0, -1)
    rows = []
    for i in range(n):
        row = jnp.zeros((i, size))
        for k, done in enumerate(rows):
            row = row - L[i, k] * jnp.pad(done, ((0, i - len(done)), (0, 0)))
        row = jnp.concatenate([row, jnp.ones((1, size))]) / L[i, i]
        rows.append(jax.lax.optimization_barrier(row))
    full = [jnp.pad(row, ((0, n - len(row)), (0, 0))) for row in rows]
    return jnp.moveaxis(jnp.stack(full), -1, 0), True
