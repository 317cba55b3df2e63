"""Factored mass matrix: M = L Lᵀ, W = L⁻ᵀ, so that W Wᵀ = M⁻¹.

M may be given as its diagonal (nv,), dense (nv, nv), or block diagonal (nb, k, k) with nb·k = nv;
`M^±1/2` is never formed. Only the product `A W` and the vector `W y` are needed: `A⊕ = W (A W)⁺`
for any W with W Wᵀ = M⁻¹, because two such W differ by an orthogonal matrix, which cancels in this
product. A may be an array or, for a block-diagonal mass, a `SparseMatrix`.
"""

from __future__ import annotations

import abc
from types import ModuleType
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.cholesky import Cholesky, lower_inverse
from zwang.algebra.elimination.gather import total
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import Record
from zwang.thresholds import ROUND_OFF, SMALL_PART

Matrix = Array | SparseMatrix
"""Rows as an array, or as entries at known places."""
AnyMatrix = TypeVar("AnyMatrix", bound=Matrix)


class AbstractMass(Record):
    """A factored mass matrix `M = L Lᵀ`, with `W = L⁻ᵀ`."""

    @abc.abstractmethod
    def apply(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M x`."""

    @abc.abstractmethod
    def magnitude(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return `|M| |x|`, the size of the terms whose sum is `M x`."""

    @abc.abstractmethod
    def solve(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M⁻¹ f`."""

    @abc.abstractmethod
    def weigh(self, A: AnyMatrix) -> AnyMatrix:
        """Return `A W`, whose rows have as Euclidean length the length of the rows of A in the
        metric of M⁻¹; an array for an array, a `SparseMatrix` for a `SparseMatrix`.
        """

    @abc.abstractmethod
    def spread(self, pattern: Bool[np.ndarray, "m nv"]) -> Bool[np.ndarray, "m nv"]:
        """Return the structural nonzeros of `A W` from those of A."""

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
        """M in the form in which the model returns it."""

    @abc.abstractmethod
    def is_positive(self) -> Bool[Array, ""]:
        """Return whether M is positive definite to working precision."""

    def size(self, w: Float[Array, " nv"]) -> Float[Array, ""]:
        """Return `√(wᵀ M w)`, the length of a velocity or an acceleration in the mass metric."""
        return jnp.sqrt(jnp.abs(w @ self.apply(w)))

    def row_lengths(self, A: Matrix) -> Float[Array, " m"]:
        """Return the length of each row of A in the metric of M⁻¹."""
        return row_lengths(self.weigh(A))


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
        if isinstance(A, SparseMatrix):
            return A.times_lower(jax.lax.rsqrt(self.diagonal)[None, None])
        return A * (1 / jnp.sqrt(self.diagonal))  # one division for each column, not each entry

    def spread(self, pattern):
        return pattern

    def unweigh(self, y):
        return y / jnp.sqrt(self.diagonal)

    def diag(self):
        return self.diagonal

    def dense(self):
        return dense_mass(self.diagonal)

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
        assert not isinstance(A, SparseMatrix)
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
    """Block-diagonal M; `roots` are the blocks of L⁻¹, shape (k, k, nb)."""

    blocks: Float[Array, "nb k k"]
    roots: Float[Array, "k k nb"]

    def __init__(self, blocks: Float[Array, "nb k k"]):
        self.blocks = blocks
        self.roots = jax.vmap(lower_inverse)(blocks).transpose(1, 2, 0)

    @property
    def given(self):
        return self.blocks

    def _parts(self, x: Float[Array, " nv"]) -> Float[Array, "k nb"]:
        return x.reshape(self.blocks.shape[:2]).T

    def apply(self, x):
        return jnp.einsum("bij,bj->bi", self.blocks, x.reshape(self.blocks.shape[:2])).ravel()

    def magnitude(self, x):
        parts = jnp.abs(x.reshape(self.blocks.shape[:2]))
        return jnp.einsum("bij,bj->bi", jnp.abs(self.blocks), parts).ravel()

    def solve(self, f):
        return self.unweigh(self._weighed(f[None])[0])

    def weigh(self, A):
        return A.times_lower(self.roots) if isinstance(A, SparseMatrix) else self._weighed(A)

    def _weighed(self, A: Float[Array, "m nv"]) -> Float[Array, "m nv"]:
        count, k, _ = self.blocks.shape
        parts = jnp.moveaxis(A.reshape(len(A), count, k), 2, 0)
        rows = [total(self.roots[a, b] * parts[b] for b in range(a + 1)) for a in range(k)]
        return jnp.stack(rows, axis=2).reshape(A.shape)

    def spread(self, pattern):
        count, k, _ = self.blocks.shape
        return np.repeat(np.any(pattern.reshape(-1, count, k), axis=2), k, axis=1)

    def unweigh(self, y):
        parts = self._parts(y)
        # the roots are lower triangular, and zeros are not multiplied
        k = len(parts)
        rows = [total(self.roots[a, b] * parts[a] for a in range(b, k)) for b in range(k)]
        return jnp.stack(rows).T.ravel()

    def diag(self):
        return jnp.einsum("bii->bi", self.blocks).ravel()

    def dense(self):
        return dense_mass(self.blocks)

    def is_positive(self):
        # the sum of 1/eigenvalue of each block at unit diagonal, as M⁻¹ = L⁻ᵀ L⁻¹
        spread = jnp.sum(self.roots**2 * jnp.abs(self._parts(self.diag())), axis=(0, 1))
        return jnp.all(jnp.isfinite(self.roots)) & jnp.all(spread * ROUND_OFF < 1)


def row_lengths(C: Matrix) -> Float[Array, " m"]:
    """Length of each row of an array or a `SparseMatrix`."""
    return C.row_lengths() if isinstance(C, SparseMatrix) else jnp.sqrt(jnp.sum(C * C, axis=1))


def factor_mass(M: Array) -> AbstractMass:
    """Factor a mass matrix given as diagonal (nv,), dense (nv, nv) or block diagonal (nb, k, k)."""
    return {1: DiagonalMass, 2: DenseMass, 3: BlockDiagonalMass}[M.ndim](M)


def dense_mass(M: AnyArray) -> AnyArray:
    """Return M as a full matrix, a NumPy or a JAX array."""
    xp: ModuleType = M.__array_namespace__()
    if M.ndim < 3:
        return M if M.ndim == 2 else xp.diag(M)
    count, k, _ = M.shape
    own = np.eye(count, dtype=bool)[:, None, :, None]
    return xp.where(own, M[:, :, None, :], 0.0).reshape(count * k, count * k)


def augmented_mass(xp: ModuleType, M: AnyArray, A: AnyArray) -> AnyArray:
    """Return `M + AᵀDA`, which is positive definite if [M; A] has full column rank. With `AᵀDb`
    added to the force it gives the same motion with `A v̇ = b` as M.
    """
    return M + A.T @ (augmentation(xp, M, A)[:, None] * A)


def augmentation(xp: ModuleType, M: AnyArray, A: AnyArray) -> AnyArray:
    """Return D in `M + AᵀDA`. The weight of each row equals the masses that it moves, computed
    first over columns with mass, then over all columns. It is at least `SMALL_PART` of the largest
    mass on which the row acts, or of the largest of all masses if the row acts on massless
    coordinates alone, such as `|e|² = 1` of a quaternion at rest. It is at most this mass, which it
    would otherwise exceed by far if zeros of the row are round-off.
    """
    scale = xp.diag(M)
    D = xp.zeros(len(A))
    size = xp.sum(A**2, axis=1)
    # over the columns of the row only, because masses and moments of inertia have different units
    own = xp.max(xp.where(A != 0, scale, 0.0), axis=1, initial=0.0)
    # a coordinate below this fraction of the largest entry of M's diagonal has no mass
    largest = xp.where(own > ROUND_OFF * xp.max(scale), own, xp.max(scale))
    largest = xp.where(size > 0, largest / xp.where(size > 0, size, 1.0), 0.0)
    # the first iteration gives a scale to the massless columns on which rows act; the second
    # weights every row by it
    for _ in range(2):
        massive = scale > ROUND_OFF * xp.max(scale)
        mobility = xp.sum(xp.where(massive, A**2 / xp.where(massive, scale, 1.0), 0.0), axis=1)
        D = xp.where(mobility > 0, 1 / xp.where(mobility > 0, mobility, 1.0), 0.0)
        D = xp.clip(D, SMALL_PART * largest, largest)
        scale = xp.diag(M) + D @ A**2
    return D


def most_augmented(xp: ModuleType, M: AnyArray, A: AnyArray) -> AnyArray:
    """Return a bound of the eigenvalues of `AᵀDA` at unit diagonal of M: the largest row sum of
    absolute values (Gershgorin).
    """
    beside = xp.abs(A) / xp.sqrt(xp.diag(M))
    return xp.max(beside.T @ (augmentation(xp, M, A) * xp.sum(beside, axis=1)), initial=0.0)
