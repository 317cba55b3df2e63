"""Singular value decomposition on the host, split at the rank: range, null space, and the solution
of least norm. The rank is that of `zwang.algebra.rank`. Functions whose only argument is a matrix
also accept traced arrays, by `zwang.algebra.lapack`.
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from zwang.algebra import lapack
from zwang.algebra.rank import DEPENDENT_ROWS, rank_of
from zwang.algebra.spectrum import principal
from zwang.inputs.arrays import AnyArray


@dataclasses.dataclass(frozen=True, eq=False)
class Decomposition:
    """Decomposition `A = U Σ Vᵀ`, computed on first use.

    Attributes:
        matrix: A, shape (m, n).
        threshold: fraction of a size below which singular values count as zero.
        beside: this size, by default the largest singular value; `least` is its lower limit.
    """

    matrix: np.ndarray
    threshold: float = DEPENDENT_ROWS
    beside: float | None = None
    least: float = 0.0

    @functools.cached_property
    def _thin(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, σ and Vᴴ of the reduced decomposition."""
        return np.linalg.svd(self.matrix, full_matrices=False)

    @functools.cached_property
    def _full(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, σ and Vᴴ with square U and V."""
        return full_svd(self.matrix)

    @property
    def left(self) -> np.ndarray:
        """Square U: left singular vectors, ordered by singular values."""
        m, n = self.matrix.shape
        return (self._thin if m <= n else self._full)[0]

    @property
    def right(self) -> np.ndarray:
        """Square V: right singular vectors, ordered by singular values."""
        m, n = self.matrix.shape
        return (self._thin if n <= m else self._full)[2].conj().T

    @property
    def singular_values(self) -> np.ndarray:
        """Singular values, the largest first, shape (min(m, n),)."""
        return self._thin[1]

    @functools.cached_property
    def rank(self) -> int:
        """Number of singular values above the threshold."""
        return rank_of(self.singular_values, self.threshold, self.beside, self.least)

    @property
    def range(self) -> np.ndarray:
        """Orthonormal basis of the range of A, shape (m, rank)."""
        return self._thin[0][:, : self.rank]

    @property
    def row_space(self) -> np.ndarray:
        """Orthonormal basis of the row space of A, shape (n, rank)."""
        return self._thin[2][: self.rank].conj().T

    @property
    def kernel(self) -> np.ndarray:
        """Orthonormal basis of the null space of A, shape (n, n − rank)."""
        return self.right[:, self.rank :]

    @property
    def left_kernel(self) -> np.ndarray:
        """Orthonormal columns c with `cᵀ A = 0` (left null space), shape (m, m − rank)."""
        return self.left[:, self.rank :]

    def solve(self, r: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """Return `A⁺ r` for one right-hand side or for several in columns.

        Args:
            r: shape (m,) or (m, k).
            damping: singular values σ below it are not trusted: σ / damping² replaces 1 / σ.
        """
        kept, sigma = self.range.conj().T @ r, self.singular_values[: self.rank]
        # identical to the undamped result if all singular values are above the damping
        divisor = np.where(sigma < damping, damping**2 / sigma, sigma)
        return self.row_space @ (kept.T / divisor).T

    @property
    def inverse(self) -> np.ndarray:
        """Return `A⁺`, shape (n, m)."""
        return (self.row_space / self.singular_values[: self.rank]) @ self.range.conj().T

    def solve_transposed(self, x: np.ndarray) -> np.ndarray:
        """Return `(Aᵀ)⁺ x`, the λ of least norm that minimizes `|Aᵀ λ − x|`; also of columns."""
        return self.range @ ((self.row_space.T @ x).T / self.singular_values[: self.rank]).T


def pivots(A: np.ndarray, threshold: float = DEPENDENT_ROWS) -> np.ndarray:
    """Return well-conditioned columns that span the range of A, as many as its rank, in their
    order, by a QR factorization with column pivoting.
    """
    import scipy.linalg

    if not A.size:
        return np.zeros(0, int)
    found = scipy.linalg.qr(A, mode="r", pivoting=True)
    R, order = np.asarray(found[0]), np.asarray(found[-1])
    return np.sort(order[: rank_of(np.abs(np.diag(R)), threshold)])


def outside(rows: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Return the components of rows outside the span of orthonormal ones."""
    for _ in range(2):  # once leaves round-off of what is taken off
        rows = rows - (rows @ span.T) @ span
    return rows


def independent(A: np.ndarray) -> list[int]:
    """Return the rows that do not depend on the rows before them."""
    kept, span = [], np.zeros((0, A.shape[1]))
    for i, row in enumerate(A):
        left = outside(row, span)
        if np.linalg.norm(left) > DEPENDENT_ROWS * np.linalg.norm(row):
            kept.append(i)
            span = np.vstack([span, left / np.linalg.norm(left)])
    return kept


def nearest_rotation(X: np.ndarray) -> np.ndarray:
    """Return the orthogonal factor of the polar decomposition of a square matrix."""
    split = Decomposition(X)
    return split.left @ split.right.T


def full_svd(A: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return U, σ and Vᴴ with square U and V; without derivatives for a traced matrix."""
    if isinstance(A, np.ndarray):
        U, sigma, Vh = np.linalg.svd(A, full_matrices=True)
        return U, sigma, Vh
    return lapack.full_svd(A)


def singular_values(A: AnyArray) -> AnyArray:
    """Return the singular values of a matrix, the largest first; on the host also of each matrix of
    a stack.
    """
    if isinstance(A, np.ndarray):
        return np.linalg.svd(A, compute_uv=False)
    return lapack.singular_values(A)


def conditioning(A: AnyArray) -> AnyArray:
    """Return the smallest singular value relative to the largest, 0 for a zero matrix; for the same
    arguments as `singular_values`.
    """
    xp, sigma = np if isinstance(A, np.ndarray) else jnp, singular_values(A)
    return sigma[..., -1] / xp.where(sigma[..., 0] > 0, sigma[..., 0], np.inf)


def solve_square(A: AnyArray, r: AnyArray) -> AnyArray:
    """Return `A⁻¹ r` of a square matrix, with r a vector or columns; on the host also for a stack
    of matrices, with columns of r for each. NaN if A is singular.
    """
    if not isinstance(A, np.ndarray):
        return lapack.solve(A, jnp.asarray(r))
    try:
        return np.linalg.solve(A, r)
    except np.linalg.LinAlgError:
        # LAPACK fails for the whole stack if one matrix is singular, so this matrix is searched
        if A.ndim == 2:
            return np.full(r.shape, np.nan)
        return np.array([solve_square(a, x) for a, x in zip(A, r, strict=True)])


def symmetric_root(K: AnyArray) -> AnyArray:
    """Return X with `X Xᵀ = K` of a symmetric matrix, omitting negative eigenvalues. For a traced
    matrix X is the Cholesky factor, NaN if K is not positive definite.
    """
    if not isinstance(K, np.ndarray):
        return lapack.cholesky(K)
    values, axes = principal(K)
    return axes * np.sqrt(np.maximum(values, 0.0))


def compressed(L: Array, width: int) -> Array:
    """Return a root of `L Lᵀ` without the columns that are round-off."""
    U, sigma, _ = lapack.svd(L)
    return U[:, :width] * sigma[:width]


def orientation(A: np.ndarray) -> np.ndarray:
    """Return the sign of the determinant of a square matrix, or of each matrix of a stack."""
    return np.linalg.slogdet(A)[0]


def determinant(A: Array) -> Array:
    """Return `det A` of a few rows by expansion, which is smooth also where A is singular."""
    found, columns = A[0, 0], np.arange(len(A))
    if len(A) == 1:
        return found
    found = found * determinant(A[1:, 1:])
    for j in columns[1:]:
        found = found + (1 - 2 * (j % 2)) * A[0, j] * determinant(A[1:][:, columns != j])
    return found


def inverse_of_each(A: np.ndarray, threshold: float = DEPENDENT_ROWS) -> np.ndarray:
    """Return `A⁺` of each matrix of a stack; singular values up to a fraction of its largest count
    as zero.
    """
    return np.linalg.pinv(A, rcond=threshold)


def inverse_of_gram(A: np.ndarray) -> np.ndarray:
    """Return `(Aᵀ A)⁻¹` by a QR factorization, because `Aᵀ A` has the squared condition number."""
    import scipy.linalg

    n = A.shape[1]
    R = np.asarray(scipy.linalg.qr(A, mode="r")[0])[:n]
    # an exact zero is the round-off of two equal columns
    np.fill_diagonal(R, np.where(np.diag(R) == 0, np.finfo(float).tiny ** 0.5, np.diag(R)))
    inverse = scipy.linalg.solve_triangular(R, np.eye(n))
    return inverse @ inverse.T
