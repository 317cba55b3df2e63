"""The mass matrix, factored once: M = L Lᵀ, W = L⁻ᵀ, so that W Wᵀ = M⁻¹.

M may be given as its diagonal (nv,), dense (nv, nv), or block diagonal (nb, k, k) with nb·k = nv; `M^±1/2` is never formed.
Only the product `A W` and the vector `W y` are needed: `A⊕ = W (A W)⁺` for any W with W Wᵀ = M⁻¹, because two such W
differ by an orthogonal matrix, which the Moore-Penrose inverse lets through.
"""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float


class AbstractMass(eqx.Module):
    """A factored mass matrix `M = L Lᵀ`, with `W = L⁻ᵀ`."""

    @abc.abstractmethod
    def apply(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M x`."""

    @abc.abstractmethod
    def solve(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M⁻¹ f`."""

    @abc.abstractmethod
    def weigh(self, A: Float[Array, "m nv"]) -> Float[Array, "m nv"]:
        """`A W`: rows in the metric of M⁻¹, in which their ordinary length is what a unit multiplier accelerates."""

    @abc.abstractmethod
    def unweigh(self, y: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`W y`."""

    @abc.abstractmethod
    def dense(self) -> Float[Array, "nv nv"]:
        """`M` as a full matrix, for formulations that need it."""

    @abc.abstractmethod
    def is_positive(self) -> Bool[Array, ""]:
        """Whether the factorization succeeded, i.e. M is positive definite to working precision."""


class DiagonalMass(AbstractMass):
    diagonal: Float[Array, " nv"]

    def apply(self, x):
        return self.diagonal * x

    def solve(self, f):
        return f / self.diagonal

    def weigh(self, A):
        return A / jnp.sqrt(self.diagonal)

    def unweigh(self, y):
        return y / jnp.sqrt(self.diagonal)

    def dense(self):
        return jnp.diag(self.diagonal)

    def is_positive(self):
        return jnp.all(self.diagonal > 0)


class DenseMass(AbstractMass):
    matrix: Float[Array, "nv nv"]
    lower: Float[Array, "nv nv"]

    def apply(self, x):
        return self.matrix @ x

    def solve(self, f):
        return jax.scipy.linalg.cho_solve((self.lower, True), f)

    def weigh(self, A):
        return solve_triangular(self.lower, A.T, lower=True).T

    def unweigh(self, y):
        return solve_triangular(self.lower, y, lower=True, trans=1)

    def dense(self):
        return self.matrix

    def is_positive(self):
        return jnp.all(jnp.isfinite(self.lower))


class BlockDiagonalMass(AbstractMass):
    blocks: Float[Array, "nb k k"]
    lower: Float[Array, "nb k k"]

    def _split(self, x):
        return x.reshape(self.blocks.shape[:2])

    def apply(self, x):
        return jnp.einsum("bij,bj->bi", self.blocks, self._split(x)).ravel()

    def solve(self, f):
        one = jax.vmap(lambda lower, rhs: jax.scipy.linalg.cho_solve((lower, True), rhs))
        return one(self.lower, self._split(f)).ravel()

    def weigh(self, A):
        columns = A.reshape(A.shape[0], *self.blocks.shape[:2]).transpose(1, 2, 0)  # (nb, k, m)
        one = jax.vmap(lambda lower, rhs: solve_triangular(lower, rhs, lower=True))
        return one(self.lower, columns).transpose(2, 0, 1).reshape(A.shape)

    def unweigh(self, y):
        one = jax.vmap(lambda lower, rhs: solve_triangular(lower, rhs, lower=True, trans=1))
        return one(self.lower, self._split(y)).ravel()

    def dense(self):
        return jax.scipy.linalg.block_diag(*self.blocks)

    def is_positive(self):
        return jnp.all(jnp.isfinite(self.lower))


def factor_mass(M: Array) -> AbstractMass:
    """Factor a mass matrix given as diagonal (nv,), dense (nv, nv) or block diagonal (nb, k, k)."""
    if M.ndim == 1:
        return DiagonalMass(M)
    lower = jnp.linalg.cholesky(M, symmetrize_input=False)
    return DenseMass(M, lower) if M.ndim == 2 else BlockDiagonalMass(M, lower)
