"""Truncated singular value decomposition."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from zwang.algebra.lapack import svd
from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor, real_matrix
from zwang.objects.record import field


class SVD(AbstractThreshold):
    """`C = U Σ Vᵀ`, `C⁺ = V Σ⁺ Uᵀ` (pseudoinverse paper, eq. 19).

    Attributes:
        threshold: singular values at most this times the largest are zero; 1e-10 (about √eps times
            a margin).
        relaxation: the threshold becomes at least this times the violation of the state; 1.
        beside: size that singular values are compared with instead of the largest one, for rows
            that are already scaled to a reference length; None.
    """

    beside: float | None = field(static=True, default=None)

    def factor(self, C):
        U, sigma, Vt = svd(jax.lax.stop_gradient(real_matrix(C)))
        size = jnp.max(sigma, initial=0.0) if self.beside is None else self.beside
        keep = sigma > self.threshold * size
        inverse = jnp.where(keep, 1 / jnp.where(keep, sigma, 1.0), 0.0)
        return MatrixFactor((Vt.T * inverse) @ U.T, jnp.sum(keep))

    def flops(self, m, n):
        """`4 m² n + 8 m n² + 9 n³`, Golub and Reinsch, as counted in the pseudoinverse paper."""
        return 4 * m * m * n + 8 * m * n * n + 9 * n**3
