"""Gauss's problem on the host: the mass metric `W Wᵀ = M⁻¹`, and rows in it, split by a decision on
their rank or, where A has few entries, corrected by damping.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.algebra.cholesky import SMALL
from zwang.algebra.decomposition import Decomposition, conditioning
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_scale
from zwang.algebra.mass_matrix import Matrix, augmented_mass, dense_mass
from zwang.algebra.rank import DEPENDENT_ROWS, NEARLY_PARALLEL, PLACED
from zwang.algebra.spectrum import principal
from zwang.native.library import lapack_routines
from zwang.objects.recent import Recent
from zwang.thresholds import ALL_BUT_ZERO, ROUND_OFF

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

DAMPING = ALL_BUT_ZERO**2
"""μ of the sparse factor in a placement, rows at unit length: singular values above 1e-6 are
resolved at once, those above 1e-7 by `PLACEMENT_SWEEPS`.
"""
PLACEMENT_SWEEPS = 50
"""Maximum number of proximal sweeps of a placement; they end once the residual no longer falls."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """M factored on the host.

    Attributes:
        W: `W Wᵀ = M⁻¹`, shape (nv, nv), dense or sparse; NaN if M is not positive definite.
        M: the matrix that was factored.
        roots: the diagonal of W where M is a diagonal that was given as such, otherwise None.
    """

    W: Any
    M: Any
    roots: np.ndarray | None = None
    _rows: Recent[Rows] = dataclasses.field(
        default_factory=lambda: Recent(most=4), init=False, repr=False, compare=False
    )

    @property
    def is_positive(self) -> bool:
        """Whether M is positive definite."""
        return bool(np.all(np.isfinite(_values(self.W))))

    def weigh(self, A) -> Any:
        """`A W`, the rows of A in the metric."""
        return A @ self.W if self.roots is None else A * self.roots

    def lengths(self, A) -> np.ndarray:
        """Length of each row of A in the metric of M⁻¹."""
        C = self.weigh(A)
        if hasattr(C, "multiply"):
            return np.sqrt(np.asarray(C.multiply(C).sum(axis=1)).ravel())
        return np.linalg.norm(C, axis=1)

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
        is_own, length = length is None, self.lengths(A) if length is None else length
        unit = row_scale(np, length, typical)
        # a length that is no number would be that of a row that is absent
        unit = unit if np.all(np.isfinite(length)) else np.full_like(unit, np.nan)
        key = threshold, _content(A), _content(unit)
        if (known := self._rows.get(key)) is None:
            C = self.weigh(A)
            C = C.multiply(unit[:, None]).tocsr() if hasattr(C, "multiply") else unit[:, None] * C
            known = Rows(self, unit, C, threshold)
            if not is_own and not known.is_few:
                known = dataclasses.replace(known, own=self.rows(A))
            self._rows.put(key, known)
        return known

    def solve(self, F: np.ndarray) -> np.ndarray:
        """`M⁻¹ F`; NaN where F has an entry that is no number."""
        # NumPy would warn of infinity times zero before a start names the force
        if not np.all(np.isfinite(F)):
            return np.full(self.W.shape[0], np.nan)
        return self.W @ (self.W.T @ F)

    def size(self, F: np.ndarray) -> float:
        """Length of a force in the metric of M⁻¹."""
        return float(np.linalg.norm(self.W.T @ F))

    @property
    def typical(self) -> float:
        """Size of one unit of a typical velocity in the mass metric, √(mean of M's diagonal)."""
        return float(np.sqrt(np.mean(np.abs(self.M.diagonal()))))

    def speed(self, v: np.ndarray) -> float:
        """Length of a velocity in the mass metric."""
        return float(np.sqrt(abs(v @ (self.M @ v))))

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
        own: the same at their own lengths, of many rows.
    """

    metric: Metric
    unit: np.ndarray
    C: Any
    threshold: float = DEPENDENT_ROWS
    own: Rows | None = None

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

    def _shared(self, damping: float) -> Rows:
        """Rows of the same A⊕, which does not depend on the lengths of independent rows: those at
        their own, which are factored once, unless rank or damping depend on lengths so different.
        """
        if self.own is None:
            return self
        ratio = self.unit / np.where(self.own.unit > 0, self.own.unit, np.nan)
        # bounds of the least and of the largest singular value at these lengths
        least = NEARLY_PARALLEL * np.min(ratio)
        largest = np.max(ratio) * np.sqrt(len(ratio))
        same = least > max(damping, PLACED * largest) and self.own.independent
        return self.own if same else self

    @functools.cached_property
    def split(self) -> Decomposition:
        """The rows at unit length, by singular values.

        Raises:
            numpy.linalg.LinAlgError: for a mass that is not positive, or what is not finite.
        """
        if not self.metric.is_positive:
            raise np.linalg.LinAlgError("the mass matrix is not positive definite")
        C = self.C.toarray() if hasattr(self.C, "toarray") else self.C
        return Decomposition(C, self.threshold)

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return len(self.unit) if self.independent else self.split.rank

    @functools.cached_property
    def kernel(self) -> np.ndarray:
        """A basis of the kernel of A, orthonormal in the metric, shape (nv, nv − rank)."""
        return self.metric.W @ self.split.kernel

    @property
    def dependencies(self) -> np.ndarray:
        """Columns c with `cᵀ A = 0`, shape (m, m − rank)."""
        return self.unit[:, None] * self.split.left_kernel

    @property
    def unique(self) -> np.ndarray:
        """Which multipliers are unique, shape (m,): those without a part in a dependency."""
        return ~np.any(np.abs(self.split.left_kernel) > ALL_BUT_ZERO, axis=1)

    def correct(self, r: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """`A⊕ r`, of one right-hand side or of columns of them; NaN where there is one.

        Args:
            r: right-hand side.
            damping: singular values σ below it are not trusted, σ / damping² in place of 1 / σ.
        """
        r = np.asarray(r)
        if not len(r):
            return np.zeros((self.C.shape[1], *r.shape[1:]))
        # LAPACK would raise; as in a compiled program, NaN must come out where NaN went in
        if not (self.is_finite and np.all(np.isfinite(r)) and np.all(np.isfinite(self.unit))):
            return np.full((self.C.shape[1], *r.shape[1:]), np.nan)
        if hasattr(self.C, "tocsr"):
            return self.metric.W @ self._swept(self.unit * r, damping**2)
        shared = self._shared(damping)
        r = (shared.unit * r.T).T
        if damping < NEARLY_PARALLEL and shared.independent:
            return self.metric.W @ shared._solved(r)
        return self.metric.W @ shared.split.solve(r, damping)

    def _solved(self, r: np.ndarray) -> np.ndarray:
        """`Cᵀ (C Cᵀ)⁻¹ r` of independent rows, and the same of what that leaves: the condition of
        `C Cᵀ` is the square of that of C.
        """
        y, solve = np.zeros((self.C.shape[1], *r.shape[1:])), lapack_routines().dpotrs
        for _ in range(2):
            y = y + self.C.T @ solve(self._independent, r - self.C @ y, lower=1)[0]
        return y

    def _factor(self, damping: float) -> SuperLU:
        """`C Cᵀ + μ I`, factored."""
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        Q = (self.C @ self.C.T + damping * eye_array(self.C.shape[0])).tocsc()
        return splu(
            Q, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    @functools.cached_property
    def _undamped(self) -> SuperLU:
        return self._factor(DAMPING)

    def _swept(self, r: np.ndarray, damping: float) -> np.ndarray:
        """`C⁺ r` by proximal sweeps, as in `zwang.algebra.pseudoinverse.Proximal`, while they
        gain; by one where a damping is meant, which sweeps undo.
        """
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
        return self.unit * self.split.solve_transposed(self.metric.W.T @ effort)


def rows_of(A: Matrix | np.ndarray) -> Any:
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


def metric_of(M, A, singular_mass: bool = False) -> Metric:
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


_METRICS: Recent[Metric] = Recent(most=4)


def _sparse_metric(blocks: np.ndarray) -> Metric:
    from scipy.sparse import block_diag, coo_array, diags_array

    try:
        roots = np.linalg.inv(np.linalg.cholesky(blocks)).transpose(0, 2, 1)
    except np.linalg.LinAlgError:
        # not refused here: the start names the direction that has no mass
        roots = np.full_like(blocks, np.nan)
    if blocks.shape[1] == 1:
        return Metric(diags_array(roots.ravel()).tocsr(), diags_array(blocks.ravel()).tocsr())
    # of arrays it makes a sparse matrix or a sparse array, by its version
    whole = lambda parts: block_diag([coo_array(x) for x in parts], format="csr")
    return Metric(whole(roots), whole(blocks))


def dense_metric(M, A=None) -> Metric:
    """The metric of a mass matrix; of `M + AᵀDA` with rows A."""
    M = np.asarray(M)
    if A is None and M.ndim == 1 and np.all(np.isfinite(M)) and np.all(M > 0):
        roots = 1 / np.sqrt(M)
        return Metric(np.diag(roots), np.diag(M), roots)
    M = dense_mass(M)
    M = M if A is None else augmented_mass(np, M, np.asarray(A))
    try:
        return Metric(np.linalg.inv(np.linalg.cholesky(M)).T, M)
    except np.linalg.LinAlgError:
        return Metric(np.full_like(M, np.nan), M)


def at_unit_diagonal(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mass matrix, or each of a stack, at unit diagonal, which no choice of units changes; and
    what its rows and columns were divided by, one where the diagonal is not positive.
    """
    diagonal = np.einsum("...ii->...i", M)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return M / (scale[..., :, None] * scale[..., None, :]), scale


def is_singular(M: np.ndarray) -> bool:
    """Whether a full mass matrix, or one of a stack, has no more than round-off along some
    direction.
    """
    value = principal(at_unit_diagonal(M)[0])[0]
    return bool(np.any(value[..., 0] <= ROUND_OFF * value[..., -1]))


def mass_blocks(M: np.ndarray) -> np.ndarray:
    """M as blocks, shape (nb, k, k): single numbers of a diagonal, one block if it is dense."""
    return {1: lambda: M[:, None, None], 2: lambda: M[None], 3: lambda: M}[M.ndim]()


def condition_of_mass(M) -> float:
    """Condition of a mass matrix at unit diagonal, which no choice of units changes: the largest of
    its blocks.
    """
    blocks = mass_blocks(np.asarray(M))
    if not np.all(np.isfinite(blocks)) or not np.all(np.einsum("bii->bi", blocks) > 0):
        return np.inf
    return float(1 / max(np.min(conditioning(at_unit_diagonal(blocks)[0])), 1e-300))


def _content(x) -> tuple | None:
    """What an array is known by, dense or sparse; None of none."""
    if x is None:
        return None
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "tocsr") else (x,)
    return x.shape, *(part.tobytes() for part in parts)


def _values(x) -> np.ndarray:
    """The numbers of an array, dense or sparse."""
    return x.data if hasattr(x, "tocsr") else np.asarray(x)
