"""Gauss's problem on the host: the mass metric `W Wᵀ = M⁻¹`, and rows in this metric, with a rank
decision or, if A has few entries, with damping.
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
"""μ of the sparse factor in a placement, for rows of unit length: one sweep resolves singular
values above 1e-6, and the 50 of a placement resolve those above 1e-7.
"""


@dataclasses.dataclass(frozen=True)
class Metric:
    """Mass matrix factored on the host.

    Attributes:
        W: `W Wᵀ = M⁻¹`, shape (nv, nv), dense or sparse; NaN if M is not positive definite.
        M: the factored matrix.
        roots: the diagonal of W if M was given as a diagonal, otherwise None.
    """

    W: Any
    M: Any
    roots: np.ndarray | None = None
    _rows: Recent[Rows] = dataclasses.field(
        default_factory=lambda: Recent(most=4), init=False, repr=False, compare=False
    )

    @property
    def is_positive(self) -> bool:
        """True if M is positive definite."""
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
        """Return the rows of A divided by `length`, by default by their lengths; rows that are
        round-off are zero (`zwang.algebra.judgement.row_scale`). The last factored rows are cached.
        """
        is_own, length = length is None, self.lengths(A) if length is None else length
        unit = row_scale(np, length, typical)
        # a length that is not finite would count as that of an absent row
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
        """Return `M⁻¹ F`, NaN if F has an entry that is not finite."""
        # NumPy would warn of infinity times zero before the error names the force
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
    """Rows of unit length in a metric, treated by singular values, or by a sparse factor if A has
    few entries.

    Attributes:
        metric: the mass metric.
        unit: factor of each row, shape (m,), 0 for an absent row.
        C: the rows, shape (m, nv), dense or sparse.
        threshold: threshold of the rank (`zwang.algebra.rank`).
        own: for many rows, the same rows divided by their present lengths.
    """

    metric: Metric
    unit: np.ndarray
    C: Any
    threshold: float = DEPENDENT_ROWS
    own: Rows | None = None

    @functools.cached_property
    def is_finite(self) -> bool:
        """True if all entries are finite."""
        return bool(np.all(np.isfinite(_values(self.C))))

    @property
    def is_few(self) -> bool:
        """True if the rows are so few, or sparse, that singular values are not replaced by a factor
        of `C Cᵀ`.
        """
        return hasattr(self.C, "tocsr") or not SMALL < len(self.C) <= self.C.shape[1]

    @property
    def independent(self) -> bool:
        """True if every singular value certainly exceeds `NEARLY_PARALLEL`, relative to the longest
        row if that is longer than 1.
        """
        return self._independent is not None

    @functools.cached_property
    def _independent(self) -> np.ndarray | None:
        """L of `C Cᵀ = L Lᵀ` if the rows are independent, None if they may be dependent or are few.
        The existence of the factor of `C Cᵀ` minus the square of the limit proves independence, in
        a hundredth of the time of singular values.
        """
        if self.is_few or not self.is_finite:
            return None
        factor, G = lapack_routines().dpotrf, self.C @ self.C.T
        border = NEARLY_PARALLEL**2 * np.max(np.diag(G), initial=1.0)
        _, failed = factor(G - border * np.eye(len(G)), lower=1)
        return None if failed else factor(G, lower=1)[0]

    def _shared(self, damping: float) -> Rows:
        """Rows with the same A⊕, which does not depend on the lengths of independent rows: the rows
        at their present lengths, which are factored once, unless lengths differ so much that rank
        or damping depend on them.
        """
        if self.own is None:
            return self
        ratio = self.unit / np.where(self.own.unit > 0, self.own.unit, np.nan)
        # bounds of the smallest and the largest singular value at these lengths
        least = NEARLY_PARALLEL * np.min(ratio)
        largest = np.max(ratio) * np.sqrt(len(ratio))
        same = least > max(damping, PLACED * largest) and self.own.independent
        return self.own if same else self

    @functools.cached_property
    def split(self) -> Decomposition:
        """Singular value decomposition of the rows at unit length.

        Raises:
            numpy.linalg.LinAlgError: if the mass matrix is not positive definite, or an entry is
            not finite.
        """
        if not self.metric.is_positive:
            raise np.linalg.LinAlgError("the mass matrix is not positive definite")
        C = self.C.toarray() if hasattr(self.C, "toarray") else self.C
        return Decomposition(C, self.threshold)

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return len(self.unit) if self.independent else self.split.rank

    @functools.cached_property
    def kernel(self) -> np.ndarray:
        """Basis of the null space of A, orthonormal in the metric, shape (nv, nv − rank)."""
        return self.metric.W @ self.split.kernel

    @property
    def dependencies(self) -> np.ndarray:
        """Columns c with `cᵀ A = 0`, shape (m, m − rank)."""
        return self.unit[:, None] * self.split.left_kernel

    @property
    def unique(self) -> np.ndarray:
        """Mask of the unique multipliers, shape (m,): those that take part in no dependency."""
        return ~np.any(np.abs(self.split.left_kernel) > ALL_BUT_ZERO, axis=1)

    def correct(self, r: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """Return `A⊕ r` for one right-hand side or for several in columns; NaN if r contains NaN.

        Args:
            r: right-hand side.
            damping: singular values σ below it are not trusted: σ / damping² replaces 1 / σ.
        """
        r = np.asarray(r)
        if not len(r):
            return np.zeros((self.C.shape[1], *r.shape[1:]))
        # LAPACK would raise; as in a compiled program, NaN must be propagated
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
        """Return `Cᵀ (C Cᵀ)⁻¹ r` of independent rows, corrected once by its residual, because the
        condition number of `C Cᵀ` is the square of that of C.
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
        """Return `C⁺ r` by proximal sweeps, as in `zwang.algebra.pseudoinverse.Proximal`, while the
        residual decreases; by one sweep if damping is intended, because sweeps undo it.
        """
        factor = self._undamped if damping <= DAMPING else self._factor(damping)
        # sweeps end if they gain less than a tenth: the residual is round-off or a contradiction
        y, left = np.zeros(self.C.shape[1]), r
        for _ in range(50 if damping <= DAMPING else 1):
            tried = y + self.C.T @ factor.solve(left)
            miss = r - self.C @ tried
            if not np.linalg.norm(miss) < 0.9 * np.linalg.norm(left):
                break
            y, left = tried, miss
        return y

    def multipliers(self, effort: np.ndarray) -> np.ndarray:
        """Return λ of least norm, rows at unit length, that minimizes `|Aᵀ λ − effort|`, of one
        effort or of each column.
        """
        return (self.unit * self.split.solve_transposed(self.metric.W.T @ effort).T).T


def rows_of(A: Matrix | np.ndarray) -> Any:
    """Return A on the host, dense or sparse."""
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
    """Return A as a dense array."""
    return np.asarray(A.todense() if isinstance(A, SparseMatrix) else A)


def metric_of(M, A, singular_mass: bool = False) -> Metric:
    """Return the metric of the mass matrix of a model, or of `M + AᵀDA` if it may be singular. The
    last metrics are cached, because an initial state is measured, placed and checked at the same
    few states.
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
        # not an error here: the check of the initial state names the direction without mass
        roots = np.full_like(blocks, np.nan)
    if blocks.shape[1] == 1:
        return Metric(diags_array(roots.ravel()).tocsr(), diags_array(blocks.ravel()).tocsr())
    # SciPy returns a sparse matrix or a sparse array of arrays, depending on its version
    whole = lambda parts: block_diag([coo_array(x) for x in parts], format="csr")
    return Metric(whole(roots), whole(blocks))


def dense_metric(M, A=None) -> Metric:
    """Return the metric of a mass matrix, or of `M + AᵀDA` if rows A are given."""
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
    """Return a mass matrix, or each of a stack, scaled to unit diagonal, which does not depend on
    units, and the divisors of its rows and columns, one where the diagonal is not positive.
    """
    diagonal = np.einsum("...ii->...i", M)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return M / (scale[..., :, None] * scale[..., None, :]), scale


def is_singular(M: np.ndarray) -> bool:
    """Return whether a full mass matrix, or one of a stack, is singular up to round-off."""
    value = principal(at_unit_diagonal(M)[0])[0]
    return bool(np.any(value[..., 0] <= ROUND_OFF * value[..., -1]))


def mass_blocks(M: np.ndarray) -> np.ndarray:
    """Return M as blocks, shape (nb, k, k): of size one for a diagonal, one block if dense."""
    return {1: lambda: M[:, None, None], 2: lambda: M[None], 3: lambda: M}[M.ndim]()


def condition_of_mass(M) -> float:
    """Return the condition number of a mass matrix at unit diagonal, which does not depend on
    units: the largest of its blocks.
    """
    blocks = mass_blocks(np.asarray(M))
    if not np.all(np.isfinite(blocks)) or not np.all(np.einsum("bii->bi", blocks) > 0):
        return np.inf
    return float(1 / max(np.min(conditioning(at_unit_diagonal(blocks)[0])), 1e-300))


def _content(x) -> tuple | None:
    """Return the cache key of an array, dense or sparse; None for None."""
    if x is None:
        return None
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "tocsr") else (x,)
    return x.shape, *(part.tobytes() for part in parts)


def _values(x) -> np.ndarray:
    """Return the entries of an array, dense or sparse."""
    return x.data if hasattr(x, "tocsr") else np.asarray(x)
