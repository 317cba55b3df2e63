"""The tangent space of a constraint manifold by orthonormal bases in the mass metric.

At a state (q, v) that meets φ = 0 and ψ = 0, a neighbor is (q ⊕ ξ, v + δv) with

    Φ ξ = 0,    ψ_q ξ + A δv = 0:    ξ = Y y,    δv = W w − A⊕ ψ_q Y y,

Y a basis of the kernel of the position rows Φ and W one of the kernel of all velocity rows A, with
Yᵀ M Y = I and Wᵀ M W = I. The columns of W are the first ones of Y, so that y holds the positions
that belong to w; without nonholonomic rows both are the same.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.linalg

from zwang.algebra.decomposition import nearest_rotation, pivots
from zwang.algebra.metric import Metric, Rows, dense_metric
from zwang.thresholds import FACTOR_ROUND_OFF


def metric_at(M: np.ndarray, A: np.ndarray) -> Metric:
    """The metric of M, or where M is singular of M + AᵀDA, which is the same on the kernel of A."""
    scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    # least eigenvalue of a mass matrix, with unit diagonal, that counts as positive
    positive = np.linalg.eigvalsh(M / np.outer(scale, scale))[0] > FACTOR_ROUND_OFF
    return dense_metric(M, None if positive else A)


def kernel(rows: Rows) -> np.ndarray:
    """Columns that span the kernel of A, orthonormal in the metric, shape (nv, nv − rank), the same
    ones for the same space.
    """
    return rows.metric.W @ aligned(rows.split.kernel)


def aligned(V: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the same space, turned so that its columns are as near as possible to
    the entries that describe the space best: the same space gets the same basis.
    """
    chosen = V[pivots(V.T)]
    if not V.shape[1]:
        return V
    return V @ nearest_rotation(chosen).T


@dataclasses.dataclass(frozen=True)
class TangentSpace:
    """Bases at one state.

    Attributes:
        metric: M, shape (nv, nv), or what takes its place where M is singular.
        Y, W: see above, shapes (nv, ny) and (nv, nw).
        lean: −A⊕ ψ_q Y, shape (nv, ny), the change of v that y brings along.
    """

    metric: np.ndarray
    Y: np.ndarray
    W: np.ndarray
    lean: np.ndarray

    @property
    def n(self) -> int:
        """Number of states."""
        return self.Y.shape[1] + self.W.shape[1]

    @property
    def basis(self) -> np.ndarray:
        """T: (ξ, δv) = T (y, w), shape (2 nv, n)."""
        nv = len(self.metric)
        return np.block([[self.Y, np.zeros((nv, self.W.shape[1]))], [self.lean, self.W]])

    @property
    def project(self) -> np.ndarray:
        """T⁺: the (y, w) of a tangent vector, shape (n, 2 nv)."""
        return np.asarray(scipy.linalg.block_diag(self.Y.T @ self.metric, self.W.T @ self.metric))


def tangent_space(metric: Metric, phi_q, psi_q, psi_v) -> TangentSpace:
    """The bases from derivatives of φ with respect to ξ and of ψ with respect to ξ and v."""
    velocities, positions, M = metric.rows(psi_v), metric.rows(phi_q), metric.M
    W = kernel(velocities)
    # what the position rows leave free beyond W: the kernel of these rows and of Wᵀ M
    rest = kernel(metric.rows(np.vstack([phi_q, W.T @ M])))
    if W.shape[1] + rest.shape[1] != len(M) - positions.rank:
        rest = rest[:, : len(M) - positions.rank - W.shape[1]]
    Y = np.hstack([W, rest])
    return TangentSpace(M, Y, W, -velocities.correct(psi_q @ Y))


def turned_like(tangent: TangentSpace, before: TangentSpace) -> TangentSpace:
    """A tangent space with its bases turned to be nearest to those of another state."""
    turn = lambda V, old: nearest_rotation(V.T @ (tangent.metric @ old))
    nw = tangent.W.shape[1]
    by = turn(tangent.W, before.W)
    rest = tangent.Y[:, nw:]
    along = scipy.linalg.block_diag(by, turn(rest, before.Y[:, nw:]))
    return TangentSpace(tangent.metric, tangent.Y @ along, tangent.W @ by, tangent.lean @ along)
