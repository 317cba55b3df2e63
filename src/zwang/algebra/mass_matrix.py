"""The mass matrix, factored once: M = L Lᵀ, W = L⁻ᵀ, so that W Wᵀ = M⁻¹.

M may be given as its diagonal (nv,), dense (nv, nv), or block diagonal (nb, k, k) with nb·k = nv;
`M^±1/2` is never formed. Only the product `A W` and the vector `W y` are needed: `A⊕ = W (A W)⁺`
for any W with W Wᵀ = M⁻¹, because two such W differ by an orthogonal matrix, which the
Moore-Penrose inverse lets through.
"""

from __future__ import annotations

import abc

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.cholesky import Cholesky
from zwang.record import Record


class AbstractMass(Record):
    """A factored mass matrix `M = L Lᵀ`, with `W = L⁻ᵀ`."""

    @abc.abstractmethod
    def apply(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M x`."""

    @abc.abstractmethod
    def magnitude(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`|M| |x|`: the size of what is summed in `M x`."""

    @abc.abstractmethod
    def solve(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M⁻¹ f`."""

    @abc.abstractmethod
    def weigh(self, A: Float[Array, "m nv"]) -> Float[Array, "m nv"]:
        """`A W`: rows in the metric of M⁻¹, in which their ordinary length is what a unit
        multiplier accelerates.
        """

    @abc.abstractmethod
    def spread(self, pattern: Bool[np.ndarray, "m nv"]) -> Bool[np.ndarray, "m nv"]:
        """Where `A W` can have entries, from where A can."""

    @abc.abstractmethod
    def unweigh(self, y: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`W y`."""

    @abc.abstractmethod
    def diag(self) -> Float[Array, " nv"]:
        """Diagonal of M."""

    @abc.abstractmethod
    def dense(self) -> Float[Array, "nv nv"]:
        """`M` as a full matrix, for formulations that need it."""

    @property
    @abc.abstractmethod
    def given(self) -> Array:
        """M in the form in which it was given."""

    @abc.abstractmethod
    def is_positive(self) -> Bool[Array, ""]:
        """Whether the factorization succeeded, i.e. M is positive definite to working precision."""


class DiagonalMass(AbstractMass):
    diagonal: Float[Array, " nv"]

    @property
    def given(self):
        return self.diagonal

    def apply(self, x):
        return self.diagonal * x

    def magnitude(self, x):
        return jnp.abs(self.diagonal * x)

    def solve(self, f):
        return f / self.diagonal

    def weigh(self, A):
        return A / jnp.sqrt(self.diagonal)

    def spread(self, pattern):
        return pattern

    def unweigh(self, y):
        return y / jnp.sqrt(self.diagonal)

    def diag(self):
        return self.diagonal

    def dense(self):
        return jnp.diag(self.diagonal)

    def is_positive(self):
        return jnp.all(self.diagonal > 0)


class DenseMass(AbstractMass):
    matrix: Float[Array, "nv nv"]
    factor: Cholesky

    def __init__(self, matrix: Float[Array, "nv nv"]):
        self.matrix, self.factor = matrix, Cholesky(matrix)

    @property
    def given(self):
        return self.matrix

    def apply(self, x):
        return self.matrix @ x

    def magnitude(self, x):
        return jnp.abs(self.matrix) @ jnp.abs(x)

    def solve(self, f):
        return self.factor.solve(f)

    def weigh(self, A):
        return self.factor.forward(A.T).T

    def spread(self, pattern):
        return np.ones_like(pattern)

    def unweigh(self, y):
        return self.factor.backward(y)

    def diag(self):
        return jnp.diag(self.matrix)

    def dense(self):
        return self.matrix

    def is_positive(self):
        return self.factor.is_positive(self.diag())


class BlockDiagonalMass(AbstractMass):
    blocks: Float[Array, "nb k k"]
    factors: Cholesky

    def __init__(self, blocks: Float[Array, "nb k k"]):
        self.blocks, self.factors = blocks, jax.vmap(Cholesky)(blocks)

    @property
    def given(self):
        return self.blocks

    def _each(self, what, x):
        """`what` of each block's factor applied to its part of x, shape (nv, *k)."""
        return jax.vmap(what)(
            self.factors, x.reshape(*self.blocks.shape[:2], *x.shape[1:])
        ).reshape(x.shape)

    def apply(self, x):
        return jnp.einsum("bij,bj->bi", self.blocks, x.reshape(self.blocks.shape[:2])).ravel()

    def magnitude(self, x):
        parts = jnp.abs(x.reshape(self.blocks.shape[:2]))
        return jnp.einsum("bij,bj->bi", jnp.abs(self.blocks), parts).ravel()

    def solve(self, f):
        return self._each(Cholesky.solve, f)

    def weigh(self, A):
        return self._each(Cholesky.forward, A.T).T

    def spread(self, pattern):
        count, k, _ = self.blocks.shape
        return np.repeat(np.any(pattern.reshape(-1, count, k), axis=2), k, axis=1)

    def unweigh(self, y):
        return self._each(Cholesky.backward, y)

    def diag(self):
        return jnp.einsum("bii->bi", self.blocks).ravel()

    def dense(self):
        return jax.scipy.linalg.block_diag(*self.blocks)

    def is_positive(self):
        diagonals = jnp.einsum("bii->bi", self.blocks)
        return jnp.all(jax.vmap(Cholesky.is_positive)(self.factors, diagonals))


def factor_mass(M: Array) -> AbstractMass:
    """Factor a mass matrix given as diagonal (nv,), dense (nv, nv) or block diagonal (nb, k, k)."""
    return {1: DiagonalMass, 2: DenseMass, 3: BlockDiagonalMass}[M.ndim](M)
