"""Gauss's problem on the host: the mass metric `W Wᵀ = M⁻¹`, and rows in it, split by a decision on
their rank or, where A has few entries, corrected by damping.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Any

import numpy as np

from zwang.algebra.cholesky import SMALL
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_scale
from zwang.algebra.mass_matrix import augmented_mass, dense_mass
from zwang.algebra.rank import DEPENDENT_ROWS, NEARLY_PARALLEL, PLACED, rank_of
from zwang.native.library import lapack_routines
from zwang.recent import Recent

DAMPING = 1e-12
"""μ of the sparse factor in a placement, rows at unit length: singular values above 1e-6 are
resolved at once, those above 1e-7 by `PLACEMENT_SWEEPS`.
"""
PLACEMENT_SWEEPS = 50
"""Maximum number of proximal sweeps of a placement; they end once the residual no longer falls."""
FACTORED = 4
"""Rows of one metric that stay factored."""


@dataclasses.dataclass(frozen=True)
class AbstractMetric(abc.ABC):
    """M factored on the host.

    Attributes:
        W: `W Wᵀ = M⁻¹`, shape (nv, nv), dense or sparse; NaN if M is not positive definite.
        M: the matrix that was factored.
    """

    W: Any
    M: Any
    _rows: Recent[Rows] = dataclasses.field(
        default_factory=lambda: Recent(FACTORED), init=False, repr=False, compare=False
    )

    @abc.abstractmethod
    def lengths(self, A) -> np.ndarray:
        """Length of each row of A in the metric of M⁻¹."""

    def weigh(self, A) -> Any:
        """`A W`, the rows of A in the metric."""
        return A @ self.W

    def unit_rows(self, A, length: np.ndarray, typical: np.ndarray | None = None):
        """Rows of A in the metric of M⁻¹ divided by `length`, zero where they are round-off
        (`zwang.algebra.judgement.row_scale`).
        """
        return self.rows(A, length, typical).C

    def rows(
        self,
        A,
        length: np.ndarray | None = None,
        typical: np.ndarray | None = None,
        threshold: float = DEPENDENT_ROWS,
    ) -> Rows:
        """Rows of A divided by `length`, by default their own, those that are round-off zero
        (`zwang.algebra.judgement.row_scale`); the last ones stay factored.
        """
        unit = row_scale(np, self.lengths(A) if length is None else length, typical)
        key = threshold, _content(A), _content(unit)
        if (known := self._rows.get(key)) is None:
            C = self.weigh(A)
            C = C.multiply(unit[:, None]).tocsr() if hasattr(C, "multiply") else unit[:, None] * C
            known = Rows(self, unit, C, threshold)
            self._rows.put(key, known)
        return known

    def correct(
        self,
        A,
        length: np.ndarray,
        residual,
        typical: np.ndarray | None = None,
        damping: float = 0.0,
    ) -> np.ndarray:
        """`A⊕ residual` with rows divided by `length`, damped as in `Rows.correct`; zero for rows
        that are round-off.
        """
        if not A.shape[0]:
            return np.zeros(self.W.shape[0])
        rows = self._sharing(A, self.rows(A, length, typical, PLACED), damping)
        residual = np.asarray(residual)
        # LAPACK would raise; as in a compiled program, NaN must come out where NaN went in
        if not (rows.is_finite and np.all(np.isfinite(residual)) and np.all(np.isfinite(length))):
            return np.full(self.W.shape[0], np.nan)
        return rows.correct(residual, damping)

    def _sharing(self, A, rows: Rows, damping: float) -> Rows:
        """Rows of the same A⊕, which does not depend on the length of independent rows: those at
        their own lengths, which are factored once, unless lengths so different are meant that rank
        or damping depend on them.
        """
        if rows.is_few:
            return rows
        own = self.rows(A)
        ratio = rows.unit / np.where(own.unit > 0, own.unit, np.nan)
        # bounds of the least and of the largest singular value at the lengths that are meant
        least = NEARLY_PARALLEL * np.min(ratio)
        largest = np.max(ratio) * np.sqrt(len(ratio))
        return own if least > max(damping, PLACED * largest) and own.independent else rows

    def solve(self, F: np.ndarray) -> np.ndarray:
        """`M⁻¹ F`; NaN where F has an entry that is no number."""
        # NumPy would warn of infinity times zero before a start names the force
        if not np.all(np.isfinite(F)):
            return np.full(self.W.shape[0], np.nan)
        return self.W @ (self.W.T @ F)

    @property
    def typical(self) -> float:
        """Size of one unit of a typical velocity in the mass metric, √(mean of M's diagonal)."""
        return float(np.sqrt(np.mean(np.abs(self.M.diagonal()))))

    def speed(self, v: np.ndarray) -> float:
        """Length of a velocity in the mass metric."""
        return float(np.sqrt(abs(v @ (self.M @ v))))


@dataclasses.dataclass(frozen=True)
class DenseMetric(AbstractMetric):
    """The metric of a mass matrix as an array.

    Attributes:
        roots: the diagonal of W where M is diagonal, otherwise None.
    """

    roots: np.ndarray | None = None

    def weigh(self, A):
        return A @ self.W if self.roots is None else A * self.roots

    def lengths(self, A):
        return np.linalg.norm(self.weigh(A), axis=1)

    def energy_loss(self, before: np.ndarray, after: np.ndarray) -> float:
        """Kinetic energy of a velocity minus that of another one."""
        return float(0.5 * (before @ self.M @ before - after @ self.M @ after))


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows at unit length in a metric, by singular values; where A has few entries, corrections are
    those of a sparse factor.

    Attributes:
        metric: of the mass.
        unit: what each row was multiplied by, shape (m,), 0 of one that is absent.
        C: the rows, shape (m, nv), dense or sparse.
        threshold: of the rank (`zwang.algebra.rank`).
    """

    metric: AbstractMetric
    unit: np.ndarray
    C: Any
    threshold: float = DEPENDENT_ROWS

    @functools.cached_property
    def is_finite(self) -> bool:
        """Whether no entry is NaN or infinite."""
        return bool(np.all(np.isfinite(_values(self.C))))

    @property
    def is_few(self) -> bool:
        """Whether these are so few rows, or sparse ones, that no factor of `C Cᵀ` takes the place
        of singular values.
        """
        return hasattr(self.C, "tocsr") or not SMALL < len(self.C) <= self.C.shape[1]

    @property
    def independent(self) -> bool:
        """Whether every singular value certainly exceeds `NEARLY_PARALLEL`, beside the longest row
        if that is longer than 1.
        """
        return self._independent is not None

    @functools.cached_property
    def _independent(self) -> np.ndarray | None:
        """L of `C Cᵀ = L Lᵀ` where rows are independent, which the factor of `C Cᵀ` less the square
        of the border shows in a hundredth of the time that singular values take; None where they
        may not be, and of few rows.
        """
        if self.is_few or not self.is_finite:
            return None
        factor, G = lapack_routines().dpotrf, self.C @ self.C.T
        border = NEARLY_PARALLEL**2 * np.max(np.diag(G), initial=1.0)
        _, failed = factor(G - border * np.eye(len(G)), lower=1)
        return None if failed else factor(G, lower=1)[0]

    @functools.cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, σ and Vᵀ, square.

        Raises:
            numpy.linalg.LinAlgError: for a mass that is not positive, or what is not finite.
        """
        return self._decomposed(full_matrices=True)

    @functools.cached_property
    def _thin(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`factors` without what belongs to no singular value."""
        return self._decomposed(full_matrices=False)

    def _decomposed(self, *, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not np.all(np.isfinite(_values(self.metric.W))):
            raise np.linalg.LinAlgError("the mass matrix is not positive definite")
        C = self.C.toarray() if hasattr(self.C, "toarray") else self.C
        return np.linalg.svd(C, full_matrices=full_matrices)

    @functools.cached_property
    def singular_values(self) -> np.ndarray:
        """Of the rows, the largest first."""
        if hasattr(self.C, "toarray"):
            return np.linalg.svd(self.C.toarray(), compute_uv=False)
        return self._thin[1]

    @functools.cached_property
    def rank(self) -> int:
        """How many rows are independent."""
        if self.independent:
            return len(self.unit)
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

    def correct(self, r: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """`A⊕ r`, of one right-hand side or of columns of them.

        Args:
            r: right-hand side.
            damping: singular values σ below it are not trusted, σ / damping² in place of 1 / σ.
        """
        if hasattr(self.C, "tocsr"):
            return self.metric.W @ self._swept(self.unit * r, damping**2)
        if damping < NEARLY_PARALLEL and self._independent is not None:
            return self.metric.W @ self._solved((self.unit * r.T).T)
        (U, sigma, Vt), k = self._thin, self.rank
        kept, sigma = U[:, :k].T @ (self.unit * r.T).T, sigma[:k]
        # to the last digit as without damping where it has nothing to do
        divisor = np.where(sigma < damping, damping**2 / sigma, sigma)
        return self.metric.W @ (Vt[:k].T @ (kept.T / divisor).T)

    def _solved(self, r: np.ndarray) -> np.ndarray:
        """`Cᵀ (C Cᵀ)⁻¹ r` of independent rows, and the same of what that leaves: the condition of
        `C Cᵀ` is the square of that of C.
        """
        y = np.zeros((self.C.shape[1], *r.shape[1:]))
        for _ in range(2):
            y = (
                y
                + self.C.T @ lapack_routines().dpotrs(self._independent, r - self.C @ y, lower=1)[0]
            )
        return y

    def _factor(self, damping: float) -> Any:
        """`C Cᵀ + μ I`, factored."""
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        Q = (self.C @ self.C.T + damping * eye_array(self.C.shape[0])).tocsc()
        return splu(
            Q, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    @functools.cached_property
    def _undamped(self) -> Any:
        return self._factor(DAMPING)

    def _swept(self, r: np.ndarray, damping: float) -> np.ndarray:
        """`C⁺ r` by proximal sweeps, as in `zwang.algebra.pseudoinverse.Proximal`, while they
        gain; by one where a damping is meant, which sweeps undo.
        """
        if not len(r):
            return np.zeros(self.C.shape[1])
        factor = self._undamped if damping <= DAMPING else self._factor(damping)
        # sweeps end where they gain less than a tenth: round-off is left, or a contradiction
        y, left = np.zeros(self.C.shape[1]), r
        for _ in range(PLACEMENT_SWEEPS if damping <= DAMPING else 1):
            tried = y + self.C.T @ factor.solve(left)
            miss = r - self.C @ tried
            if not np.linalg.norm(miss) < 0.9 * np.linalg.norm(left):
                break
            y, left = tried, miss
        return y

    def multipliers(self, effort: np.ndarray) -> np.ndarray:
        """λ of least norm, rows at unit length, with `Aᵀ λ = effort` as far as it is possible."""
        (U, sigma, Vt), k = self._thin, self.rank
        return self.unit * (U[:, :k] @ ((Vt[:k] @ (self.metric.W.T @ effort)) / sigma[:k]))


class SparseMetric(AbstractMetric):
    def lengths(self, A):
        C = A @ self.W
        return np.sqrt(np.asarray(C.multiply(C).sum(axis=1)).ravel())


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
    """The metric of a mass matrix as the model gives it; of `M + AᵀDA` if it may be singular. The
    last ones stay factored: a start is measured, placed and judged at the same few states.
    """
    sparse, M = isinstance(A, SparseMatrix), np.asarray(M)
    rows = None if sparse or not singular_mass else np.asarray(A)
    key = sparse, _content(M), _content(rows)
    if (known := _METRICS.get(key)) is None:
        known = _sparse_metric(mass_blocks(M)) if sparse else dense_metric(M, rows)
        _METRICS.put(key, known)
    return known


_METRICS: Recent[AbstractMetric] = Recent(most=4)


def _sparse_metric(blocks: np.ndarray) -> SparseMetric:
    from scipy.sparse import block_diag, coo_array, diags_array

    try:
        roots = np.linalg.inv(np.linalg.cholesky(blocks)).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        # not refused here: the start names the direction that has no mass
        roots = np.full_like(blocks, np.nan)
    if blocks.shape[1] == 1:
        return SparseMetric(diags_array(roots.ravel()).tocsr(), diags_array(blocks.ravel()).tocsr())
    # of arrays it makes a sparse matrix or a sparse array, by its version
    whole = lambda parts: block_diag([coo_array(x) for x in parts], format="csr")
    return SparseMetric(whole(roots), whole(blocks))


def dense_metric(M, A=None) -> DenseMetric:
    """The metric of a mass matrix; of `M + AᵀDA` with rows A."""
    M = np.asarray(M)
    if A is None and M.ndim == 1 and np.all(np.isfinite(M)) and np.all(M > 0):
        roots = 1 / np.sqrt(M)
        return DenseMetric(np.diag(roots), np.diag(M), roots)
    M = dense_mass(M)
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


def _content(x) -> Any:
    """What an array is known by, dense or sparse; None of none."""
    if x is None:
        return None
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "tocsr") else (x,)
    return x.shape, *(part.tobytes() for part in parts)


def _values(x) -> np.ndarray:
    """The numbers of an array, dense or sparse."""
    return x.data if hasattr(x, "tocsr") else np.asarray(x)
