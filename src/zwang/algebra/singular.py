"""Smallest singular values of rows at several instants, and the rank, for dense and sparse rows."""

from __future__ import annotations

import abc

import numpy as np

from zwang.algebra.decomposition import Decomposition, orientation, singular_values
from zwang.algebra.elimination.matrix import Layout
from zwang.native.library import lapack_routines
from zwang.thresholds import FACTOR_ROUND_OFF, SINGULAR_ROWS


class AbstractRows(abc.ABC):
    """Rows of unit length in the metric of M⁻¹ at several instants."""

    @abc.abstractmethod
    def rank(self) -> np.ndarray:
        """Rank at each instant, shape (k,)."""

    @abc.abstractmethod
    def lowest(self, generic: np.ndarray, count: int) -> np.ndarray:
        """Return the smallest `count` singular values at each instant, apart from those that vanish
        because the rank is `generic`, ascending, shape (k, count); 1 if there are fewer.
        """

    @abc.abstractmethod
    def null_share(self, i: int, below: float = SINGULAR_ROWS) -> np.ndarray:
        """Return the component of the unit vector of each row in the left null space, spanned by
        singular vectors with values up to `below`: 0 for an independent row, up to 1.
        """

    @abc.abstractmethod
    def turned(self) -> np.ndarray:
        """Return the sign of `det(C₀ C₁ᵀ)` of independent rows between consecutive instants, shape
        (k − 1,): −1 if the rows have passed a singular configuration in between.
        """


class DenseRows(AbstractRows):
    """Rows as an array (k, m, nv)."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows

    def rank(self):
        return np.sum(singular_values(self.rows) > SINGULAR_ROWS, axis=-1)

    def lowest(self, generic, count):
        sigma = singular_values(self.rows)
        place = generic[:, None] - 1 - np.arange(count)
        return np.where(place >= 0, np.take_along_axis(sigma, np.maximum(place, 0), axis=1), 1.0)

    def null_share(self, i, below=SINGULAR_ROWS):
        null = Decomposition(self.rows[i], below, beside=1.0).left_kernel
        return np.sum(null**2, axis=1)

    def turned(self):
        rank = int(np.max(self.rank(), initial=0))
        _, order, *_ = lapack_routines().dgeqp3(self.rows[0].T)  # independent rows first, from 1
        C = self.rows[:, np.sort(order[:rank] - 1)]
        return orientation(C[:-1] @ np.swapaxes(C[1:], 1, 2))


class SparseRows(AbstractRows):
    """Entries (k, color, place in block, row) of rows with a layout."""

    def __init__(self, data: np.ndarray, layout: Layout):
        from scipy.sparse import csr_array

        self.m = layout.shape[0]
        block = np.asarray(layout.block)[:, None, :] * layout.size + np.arange(layout.size)[:, None]
        row = np.broadcast_to(np.arange(self.m), block.shape)
        where = row.ravel(), block.ravel()
        self.rows = [csr_array((x.ravel(), where), shape=layout.shape) for x in data]

    def rank(self):
        return np.array([self.m - len(self._null(C)[0]) for C in self.rows])

    def lowest(self, generic, count):
        found = np.ones((len(self.rows), count))
        for i, (C, g) in enumerate(zip(self.rows, generic, strict=True)):
            sigma = smallest(C, self.m - g + count)[0][self.m - g :]
            found[i, : len(sigma)] = sigma
        return found

    def null_share(self, i, below=SINGULAR_ROWS):
        return np.sum(self._null(self.rows[i], below)[1] ** 2, axis=1)

    def turned(self):
        # the determinant of dependent rows has no sign
        if np.any(self.rank() < self.m):
            return np.ones(len(self.rows) - 1)
        from scipy.sparse.linalg import splu

        signs = []
        for C, D in zip(self.rows, self.rows[1:], strict=False):
            factor = splu((C @ D.T).tocsc())
            swaps = sum(len(p) - _cycles(p) for p in (factor.perm_r, factor.perm_c))
            signs.append((-1.0) ** swaps * np.prod(np.sign(factor.U.diagonal())))
        return np.array(signs)

    def _null(self, C, below: float = SINGULAR_ROWS) -> tuple[np.ndarray, np.ndarray]:
        """Return the singular values up to `below` and their vectors; `count` grows until one is
        above.
        """
        count = 8
        while True:
            sigma, U = smallest(C, count)
            if sigma[-1] > below or len(sigma) == self.m:
                lost = sigma <= below
                return sigma[lost], U[:, lost]
            count *= 2


def smallest(C, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest singular values of a sparse C (m × n), ascending, of m in all, and their
    left singular vectors, shape (m, count).
    """
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    m = C.shape[0]
    count = min(count, m)
    # shift of `C Cᵀ` in the inverse iteration, rows at unit length: singular values well below its
    # root, 3e-7, are found as zero
    factor = splu(
        (C @ C.T + FACTOR_ROUND_OFF * eye_array(m)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
    )
    # four vectors are carried in addition to the wanted ones
    V = np.random.default_rng(1873).standard_normal((m, min(count + 4, m)))
    # each iteration reduces components above the wanted singular values by the squared ratio or
    # more
    for _ in range(6):
        V = np.linalg.qr(factor.solve(np.linalg.qr(V)[0]))[0]
    rows = (C.T @ V).T
    split = Decomposition(rows)
    U, sigma = split.left, split.singular_values
    sigma = np.concatenate([sigma, np.zeros(U.shape[1] - len(sigma))])[::-1]
    return sigma[:count], (V @ U)[:, ::-1][:, :count]


def _cycles(permutation: np.ndarray) -> int:
    """Return the number of cycles of a permutation."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(permutation)
    graph = coo_array((np.ones(n), (np.arange(n), permutation)), shape=(n, n))
    return int(connected_components(graph, directed=False)[0])
