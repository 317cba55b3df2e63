"""A⊕ on the host, by NumPy and LAPACK: the same proximal sweeps as in a compiled program.

A run that has not been compiled yet projects its steps with it. The equations are those of
`zwang.algebra.kernel.WeightedPseudoinverse` with `Proximal`, and a test holds both together.
"""

from __future__ import annotations

import numpy as np

from zwang.algebra.judgement import OUTGROWN, held_length, row_scale, units_of
from zwang.algebra.pseudoinverse.proximal import LEAST_ROW, Proximal
from zwang.native.library import lapack_routines


class HostMass:
    """M = L Lᵀ with `W = L⁻ᵀ`, from its diagonal (nv,), dense (nv, nv) or in blocks (nb, k, k).

    Attributes:
        given: M as it was given.
        root: diagonal of L⁻¹, or L⁻¹ of each block, shape (nb, k, k); NaN where M is not positive
            definite.
    """

    def __init__(self, M: np.ndarray):
        self.given = M
        if M.ndim == 1:
            with np.errstate(invalid="ignore", divide="ignore"):
                self.root = 1 / np.sqrt(M)
            return
        # a dense matrix is one block, so that both cases share every formula below
        blocks = M[None] if M.ndim == 2 else M
        try:
            self.root = np.linalg.inv(np.linalg.cholesky(blocks))
        except np.linalg.LinAlgError:
            # NaN marks the step as failed, as the compiled factor does; the controller tries a
            # shorter one
            self.root = np.full_like(blocks, np.nan)

    def weigh(self, A: np.ndarray) -> np.ndarray:
        """`A W`, shape (m, nv)."""
        if self.root.ndim == 1:
            return A * self.root
        if len(self.root) == 1:
            return A @ self.root[0].T
        count, k, _ = self.root.shape
        rows = A.reshape(len(A), count, k).transpose(1, 0, 2)
        return (rows @ self.root.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(A.shape)

    def unweigh(self, y: np.ndarray) -> np.ndarray:
        """`W y` for a vector (nv,) or columns (nv, k)."""
        if self.root.ndim == 1:
            return (self.root * y.T).T
        count, k, _ = self.root.shape
        return (self.root.transpose(0, 2, 1) @ y.reshape(count, k, -1)).reshape(y.shape)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """`M x`."""
        if self.given.ndim == 1:
            return self.given * x
        if self.given.ndim == 2:
            return self.given @ x
        count, k, _ = self.given.shape
        return (self.given @ x.reshape(count, k, 1)).reshape(x.shape)

    def solve(self, f: np.ndarray) -> np.ndarray:
        """`M⁻¹ f`."""
        if self.root.ndim == 1:
            return self.root * self.root * f
        count, k, _ = self.root.shape
        return self.unweigh((self.root @ f.reshape(count, k, 1)).reshape(f.shape))


class RowScale:
    """What brings rows to unit length; the lengths of a motion's rows are those of its start, so
    that it is made once for many operators.

    Attributes:
        length: as it was given.
        scale: 1/length, and 0 of a row that is absent, shape (m,).
        units: what makes rows comparable, those that are absent included, shape (m,).

    Args:
        length: of the rows, shape (m,).
    """

    def __init__(self, length: np.ndarray):
        self.length = length
        self.scale = row_scale(np, length)
        self.units = units_of(np, self.scale)


class HostOperator:
    """`A⊕`, factored once and applied to many residuals.

    Args:
        mass: factored mass matrix.
        A: constraint matrix, shape (m, nv).
        method: damping and sweeps.
        rows: what each row is multiplied by; by default the rows are as long as they are here.
    """

    def __init__(
        self, mass: HostMass, A: np.ndarray, method: Proximal, rows: RowScale | None = None
    ):
        self.mass, self.A, self.sweeps = mass, A, method.sweeps
        C = mass.weigh(A)
        self._rows = RowScale(np.sqrt(np.einsum("ij,ij->i", C, C))) if rows is None else rows
        self.scale = self._rows.scale
        self.C = self.scale[:, None] * C
        self.gram = self.C @ self.C.T
        # relative to the largest row, so that the damping does not depend on units
        largest = self.gram.diagonal().max(initial=LEAST_ROW)
        # rows that are absent have length zero in C, but not where they have come back
        if largest > OUTGROWN**2 or not self.scale.all():
            length = held_length(np, self._rows.length, np.sqrt(np.einsum("ij,ij->i", C, C)))
            self._rows = RowScale(length)
            self.scale = self._rows.scale
            self.C = self.scale[:, None] * C
            self.gram = self.C @ self.C.T
            largest = self.gram.diagonal().max(initial=LEAST_ROW)
        self._damped = self.gram.copy()
        self._damped.ravel()[:: len(A) + 1] += float(method.damping) * largest
        # without the checks around them, which take longer than a dozen rows do
        routines = lapack_routines()
        self._potrs = routines.dpotrs
        self._factor, failed = (
            routines.dpotrf(self._damped, lower=1) if len(A) else (self._damped, 0)
        )
        # LAPACK leaves half a factor when it fails, which must not be used
        if failed or not np.isfinite(largest):
            self._factor = np.full_like(self.gram, np.nan)

    def correct(self, r: np.ndarray) -> np.ndarray:
        """`A⊕ r` for a vector (m,) or columns (m, k)."""
        if not len(self.A):
            return np.zeros((self.A.shape[1], *r.shape[1:]))
        r = (self.scale * r.T).T
        # each sweep leaves the part μ/(σ² + μ) of the error in a direction of singular value σ, so
        # that directions of redundant rows, σ = 0, keep the value zero
        solve = self._potrs
        multipliers = solve(self._factor, r, lower=1)[0]
        for _ in range(self.sweeps - 1):
            multipliers = multipliers + solve(self._factor, r - self.gram @ multipliers, lower=1)[0]
        return self.mass.unweigh(self.C.T @ multipliers)

    def columns(self, R: np.ndarray) -> np.ndarray:
        """`A⊕` of each column of R (m, k), as rows (k, nv)."""
        return self.correct(R).T

    def units(self) -> np.ndarray:
        """What makes rows comparable, those that are absent included."""
        return self._rows.units

    def log_det(self) -> float:
        """`log det (C Cᵀ + μ I)`."""
        return 2 * float(np.sum(np.log(self._factor.diagonal()))) if len(self.A) else 0.0
