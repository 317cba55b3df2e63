"""Gauss's problem on the host: the mass metric `W Wᵀ = M⁻¹`, and rows in it, split by a decision on
their rank or, where A has few entries, corrected by damping.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Any

import numpy as np

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_scale
from zwang.algebra.mass_matrix import augmented_mass, dense_mass
from zwang.algebra.rank import DEPENDENT_ROWS, PLACED, rank_of

DAMPING = 1e-12
"""μ of the sparse factor in a placement, rows at unit length: singular values above 1e-6 are
resolved at once, those above 1e-7 by `PLACEMENT_SWEEPS`.
"""
PLACEMENT_SWEEPS = 50
"""Maximum number of proximal sweeps of a placement; they end once the residual no longer falls."""


@dataclasses.dataclass(frozen=True)
class AbstractMetric(abc.ABC):
    """M factored on the host.

    Attributes:
        W: `W Wᵀ = M⁻¹`, shape (nv, nv), dense or sparse; NaN if M is not positive definite.
        M: the matrix that was factored.
    """

    W: Any
    M: Any

    @abc.abstractmethod
    def lengths(self, A) -> np.ndarray:
        """Length of each row of A in the metric of M⁻¹."""

    @abc.abstractmethod
    def _least(self, C, r: np.ndarray, damping: float) -> np.ndarray:
        """`C⁺ r`, damped."""

    def unit_rows(self, A, length: np.ndarray, typical: np.ndarray | None = None):
        """Rows of A in the metric of M⁻¹ divided by `length`, zero where they are round-off
        (`zwang.algebra.judgement.row_scale`).
        """
        C, scale = A @ self.W, row_scale(np, length, typical)
        return C.multiply(scale[:, None]).tocsr() if hasattr(C, "multiply") else scale[:, None] * C

    def correct(
        self,
        A,
        length: np.ndarray,
        residual,
        typical: np.ndarray | None = None,
        damping: float = 0.0,
    ) -> np.ndarray:
        """`A⊕ residual` with rows divided by `length`; zero for rows that are round-off.

        Args:
            damping: singular values σ below it are not trusted, σ / damping² in place of 1 / σ.
        """
        n = self.W.shape[0]
        residual = np.asarray(residual)
        if not A.shape[0]:
            return np.zeros(n)
        # LAPACK would raise; as in a compiled program, NaN must come out where NaN went in
        if not all(np.all(np.isfinite(_values(x))) for x in (A, self.W, residual, length)):
            return np.full(n, np.nan)
        scale = row_scale(np, length, typical)
        return self.W @ self._least(self.unit_rows(A, length, typical), scale * residual, damping)

    def solve(self, F: np.ndarray) -> np.ndarray:
        """`M⁻¹ F`."""
        return self.W @ (self.W.T @ F)

    @property
    def typical(self) -> float:
        """Size of one unit of a typical velocity in the mass metric, √(mean of M's diagonal)."""
        return float(np.sqrt(np.mean(np.abs(self.M.diagonal()))))

    def speed(self, v: np.ndarray) -> float:
        """Length of a velocity in the mass metric."""
        return float(np.sqrt(abs(v @ (self.M @ v))))


class DenseMetric(AbstractMetric):
    def lengths(self, A):
        return np.linalg.norm(A @ self.W, axis=1)

    def _least(self, C, r, damping):
        U, sigma, Vt = np.linalg.svd(C, full_matrices=False)
        k = rank_of(sigma, PLACED)
        return Vt[:k].T @ (sigma[:k] / np.maximum(sigma[:k], damping) ** 2 * (U[:, :k].T @ r))

    def energy_loss(self, before: np.ndarray, after: np.ndarray) -> float:
        """Kinetic energy of a velocity minus that of another one."""
        return float(0.5 * (before @ self.M @ before - after @ self.M @ after))

    def rows(self, A: np.ndarray, typical: np.ndarray | None = None) -> Rows:
        """Rows of A at unit length in the metric, of `typical` lengths if these are known."""
        length = self.lengths(A)
        return Rows(self, row_scale(np, length, typical), self.unit_rows(A, length, typical))


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows at unit length in a metric, by singular values.

    Attributes:
        metric: of the mass.
        unit: what each row was multiplied by, shape (m,), 0 of one that is absent.
        C: the rows, shape (m, nv).
        threshold: of the rank (`zwang.algebra.rank`).
    """

    metric: DenseMetric
    unit: np.ndarray
    C: np.ndarray
    threshold: float = DEPENDENT_ROWS

    @functools.cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, σ and Vᵀ, square.

        Raises:
            numpy.linalg.LinAlgError: for a mass that is not positive, or what is not finite.
        """
        if not np.all(np.isfinite(self.metric.W)):
            raise np.linalg.LinAlgError("the mass matrix is not positive definite")
        return np.linalg.svd(self.C, full_matrices=True)

    @property
    def singular_values(self) -> np.ndarray:
        """Of the rows, the largest first."""
        return self.factors[1]

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return rank_of(self.singular_values, self.threshold)

    @property
    def free(self) -> np.ndarray:
        """An orthonormal basis of what the rows leave free in coordinates y of v = W y, shape (nv,
        nv − rank).
        """
        return self.factors[2][self.rank :].T

    @property
    def kernel(self) -> np.ndarray:
        """A basis of the kernel of A, orthonormal in the metric, shape (nv, nv − rank)."""
        return self.metric.W @ self.free

    @property
    def null(self) -> np.ndarray:
        """An orthonormal basis of the left null space of the rows at unit length, shape (m, m −
        rank).
        """
        return self.factors[0][:, self.rank :]

    @property
    def dependencies(self) -> np.ndarray:
        """Columns c with `cᵀ A = 0`, shape (m, m − rank)."""
        return self.unit[:, None] * self.null

    def correct(self, r: np.ndarray) -> np.ndarray:
        """`A⊕ r`, of one right-hand side or of columns of them."""
        (U, sigma, Vt), k = self.factors, self.rank
        kept = U[:, :k].T @ (self.unit * r.T).T
        return self.metric.W @ (Vt[:k].T @ (kept.T / sigma[:k]).T)

    def multipliers(self, effort: np.ndarray) -> np.ndarray:
        """λ of least norm, rows at unit length, with `Aᵀ λ = effort` as far as it is possible."""
        (U, sigma, Vt), k = self.factors, self.rank
        return self.unit * (U[:, :k] @ ((Vt[:k] @ (self.metric.W.T @ effort)) / sigma[:k]))


class SparseMetric(AbstractMetric):
    def lengths(self, A):
        C = A @ self.W
        return np.sqrt(np.asarray(C.multiply(C).sum(axis=1)).ravel())

    def _least(self, C, r, damping):
        """Proximal sweeps, as in `zwang.algebra.pseudoinverse.Proximal`, while they gain."""
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        Q = (C @ C.T + max(DAMPING, damping**2) * eye_array(C.shape[0])).tocsc()
        factor = splu(
            Q, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        # sweeps end where they gain less than a tenth: round-off is left, or a contradiction; they
        # would undo a damping that is meant
        y, left = np.zeros(C.shape[1]), r
        for _ in range(PLACEMENT_SWEEPS if damping**2 <= DAMPING else 1):
            tried = y + C.T @ factor.solve(left)
            miss = r - C @ tried
            if not np.linalg.norm(miss) < 0.9 * np.linalg.norm(left):
                break
            y, left = tried, miss
        return y


def rows_of(A) -> Any:
    """A on the host, dense or sparse as it is."""
    if not isinstance(A, SparseMatrix):
        return np.asarray(A)
    from scipy.sparse import csr_array

    k = A.layout.size
    data, block = np.asarray(A.data), np.asarray(A.layout.block)
    color, place, row = np.nonzero(data)  # NaN counts
    return csr_array(
        (data[color, place, row], (row, block[color, row] * k + place)), shape=A.layout.shape
    )


def dense_rows(A) -> np.ndarray:
    """A as an array, also where it is known by its entries."""
    return np.asarray(A.todense() if isinstance(A, SparseMatrix) else A)


def metric_of(M, A, singular_mass: bool = False) -> AbstractMetric:
    """The metric of a mass matrix as the model gives it; of `M + AᵀDA` if it may be singular."""
    if isinstance(A, SparseMatrix):
        from scipy.sparse import block_diag, coo_array, diags_array

        blocks = mass_blocks(np.asarray(M))
        try:
            roots = np.linalg.inv(np.linalg.cholesky(blocks)).transpose(0, 2, 1)
        except np.linalg.LinAlgError:
            # not refused here: the start names the direction that has no mass
            roots = np.full_like(blocks, np.nan)
        if blocks.shape[1] == 1:
            return SparseMetric(
                diags_array(roots.ravel()).tocsr(), diags_array(blocks.ravel()).tocsr()
            )
        # of arrays it makes a sparse matrix or a sparse array, by its version
        whole = lambda parts: block_diag([coo_array(x) for x in parts], format="csr")
        return SparseMetric(whole(roots), whole(blocks))
    return dense_metric(M, A if singular_mass else None)


def dense_metric(M, A=None) -> DenseMetric:
    """The metric of a mass matrix; of `M + AᵀDA` with rows A."""
    M = dense_mass(np.asarray(M))
    M = M if A is None else augmented_mass(np, M, np.asarray(A))
    try:
        return DenseMetric(np.linalg.inv(np.linalg.cholesky(M)).T, M)
    except np.linalg.LinAlgError:
        return DenseMetric(np.full_like(M, np.nan), M)


def mass_blocks(M: np.ndarray) -> np.ndarray:
    """M as blocks, shape (nb, k, k): single numbers of a diagonal, one block if it is dense."""
    return {1: lambda: M[:, None, None], 2: lambda: M[None], 3: lambda: M}[M.ndim]()


def condition_of_mass(M) -> float:
    """Condition of a mass matrix at unit diagonal, which no choice of units changes: the largest of
    its blocks.
    """
    blocks = mass_blocks(np.asarray(M))
    scale = np.sqrt(np.abs(np.einsum("bii->bi", blocks)))
    if not np.all(np.isfinite(blocks)) or not np.all(scale > 0):
        return np.inf
    sigma = np.linalg.svd(blocks / (scale[:, :, None] * scale[:, None, :]), compute_uv=False)
    return float(np.max(sigma[:, 0] / np.maximum(sigma[:, -1], 1e-300)))


def _values(x) -> np.ndarray:
    """The numbers of an array, dense or sparse."""
    return x.data if hasattr(x, "tocsr") else np.asarray(x)
