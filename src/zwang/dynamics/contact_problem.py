"""Normal forces at gaps and friction forces along tangents, at one state.

    0 ≤ G x + l ⊥ λ ≥ 0,   |τ| ≤ μ λ,   τ against T x + l where that is not zero,
    x = M⁻¹(Gᵀλ + Tᵀτ)  along the motions that the always active rows allow

Either x is an acceleration and l contains the second derivatives of the gaps without λ and τ, or x
is a change of velocity and l contains the velocities before an impact.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np

from zwang.algebra.complementarity import complementary
from zwang.algebra.cone_complementarity import Disk, frictional
from zwang.algebra.judgement import held_length
from zwang.algebra.metric import Metric, Rows, dense_metric, dense_rows
from zwang.compile import model_program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.equations.state import State
from zwang.thresholds import RESOLVED


@dataclasses.dataclass(frozen=True, eq=False)
class ContactProblem:
    """All rows of a model at one state, including those of open gaps.

    Attributes:
        A, b: of `A v̇ = b`; `length` of the rows in the metric of M⁻¹, and `shared`, the lengths by
            which dependent rows share forces: those of the run, whose events depend on these
            forces.
        phi, psi: residuals of all rows, zero for rows without one; φ of a gap beyond its ends is
            inf.
        F: applied force including that of actuators, shape (nv,).
        metric: of M.
        held: rows that are always active.
        rows: those rows, factored.
        rest: acceleration that they require without any force, shape (nv,).
    """

    A: np.ndarray
    b: np.ndarray
    length: np.ndarray
    shared: np.ndarray
    phi: np.ndarray
    psi: np.ndarray
    F: np.ndarray
    metric: Metric
    held: np.ndarray
    rows: Rows
    rest: np.ndarray

    @classmethod
    def at_state(cls, dynamics: Dynamics, state: State, loose: np.ndarray) -> ContactProblem:
        """Return the contact problem of a model at a state.

        Args:
            dynamics: the model's, with every row switched on that may act.
            loose: rows of gaps and dry frictions.
        """
        at, c = evaluate(dynamics, state), dynamics.constraints
        A, b = dense_rows(at.A), np.asarray(at.b)
        phi, psi = c.by_row(at.phi, at.psi)
        if c.has_ends:
            beyond = np.asarray(_beyond(dynamics, state))
            phi[c.one_sided_rows[beyond > 0]] = np.inf
        metric = dense_metric(at.M, A if dynamics.singular_mass else None)
        length = metric.lengths(A)
        scales = dynamics.scales
        shared = (
            length if scales is None else held_length(np, np.asarray(scales.row_length), length)
        )
        # a row that is switched off is zero
        holds = length > 0
        holds[loose] = False
        held = np.flatnonzero(holds)
        fixed = metric.rows(A[held])
        rest = fixed.correct(b[held])
        F = np.asarray(at.F) + np.asarray(at.actuator_force)
        return cls(A, b, length, shared, phi, psi, F, metric, held, fixed, rest)

    @functools.cached_property
    def along(self) -> np.ndarray:
        """Return A in a basis of the motions that the always active rows allow, shape (m, nv −
        rank).
        """
        return self.A @ self.rows.kernel

    @functools.cached_property
    def _left(self) -> np.ndarray:
        return self.A @ self.rest - self.b

    def held_anyway(self, rows: np.ndarray) -> np.ndarray:
        """Return which of some rows depend on the always active rows, as the row of a stop at a
        dead point does: no motion along them is possible, and no force on them changes one.
        """
        left = np.linalg.norm(self.along[rows], axis=1)
        return left <= RESOLVED * self.length[rows]

    def response(self, force: np.ndarray) -> np.ndarray:
        """Return `M⁻¹ f` along the motions that the always active rows allow, for each column
        of f.
        """
        return self.rows.kernel @ (self.rows.kernel.T @ force)

    def rates(self, force: np.ndarray) -> np.ndarray:
        """Return `A v̇ − b` of all rows under a force with the always active rows only."""
        return self.along @ (self.rows.kernel.T @ force) + self._left

    def some(self, rows: np.ndarray) -> Rows:
        """Return some rows, factored."""
        return self.metric.rows(self.A[rows], self.shared[rows])

    def acceleration(self, force: np.ndarray) -> np.ndarray:
        """Return v̇ under a force with the always active rows only."""
        return self.response(force) + self.rest

    def multipliers(self, rows: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return λ of all rows with `Aᵀλ = f`, nonzero in some rows only, of least norm at unit
        length.
        """
        found = np.zeros(len(self.A))
        found[rows] = self.some(rows).multipliers(force)
        return found


@model_program
def _beyond(dynamics: Dynamics, s: State):
    return dynamics.constraints.beyond(s.q, s.t, dynamics.p)


def rubbing_rows(rubbing: Sequence[Disk]) -> np.ndarray:
    """Return the rows of all tangents, one after another."""
    return np.concatenate([np.zeros(0, int), *(x.rows for x in rubbing)])


def coulomb(
    problem: ContactProblem,
    normal: np.ndarray,
    rubbing: Sequence[Disk],
    left: np.ndarray,
    pulls: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Compute forces, or impulses, by Coulomb's law.

    In the plane this is a linear complementarity problem in λ, μλ + τ and the negative part of the
    sliding velocity. With tangents in space it is nonlinear, and solved by Newton's method
    (`zwang.algebra.cone_complementarity`).

    Args:
        normal: rows of the gaps.
        rubbing: tangents, with the index of the gap that loads them; a gap may load several.
        left: l of all rows.
        pulls: force of sliding frictions per unit of λ of each gap, shape (nv, gaps).

    Returns:
        λ of the gaps and τ of the rows of all tangents; None if none are found, or if the force of
        a gap closes the gap further.

    Reference: Pfeiffer and Glocker (1996), Multibody Dynamics with Unilateral Contacts, Wiley,
        chapter 5.
    """
    rows = np.concatenate([normal, rubbing_rows(rubbing)]).astype(int)
    n, k = len(normal), len(rows) - len(normal)
    if not n + k:
        return np.zeros(0), np.zeros(0)
    ends = n + np.cumsum([0, *(len(x.rows) for x in rubbing)])
    tangents = [np.arange(*pair) for pair in itertools.pairwise(ends)]
    # at unit length, so that units have no influence; one length for both tangents of a disk, which
    # would otherwise become an ellipse
    length = problem.length[rows]
    for own in tangents:
        if len(own) > 1:
            length[own] = np.max(length[own])
    unit = 1 / np.where(length > 0, length, 1.0)
    along = unit[:, None] * problem.along[rows]
    D, c = along @ along.T, unit * left[rows]
    if np.any(pulls):
        D[:, :n] += along @ (problem.rows.kernel.T @ (unit[:n] * pulls))
    if np.any(np.diag(D)[:n] <= 0):
        return None  # no force opens it, or two do: Painlevé's paradox
    disks = [
        Disk(own, x.owner, x.share * unit[x.owner] / unit[own[0]], float(x.fixed / unit[own[0]]))
        for own, x in zip(tangents, rubbing, strict=True)
    ]
    if n + len(disks) < len(rows):
        z = frictional(D, c, n, disks)
        return None if z is None else (unit[:n] * z[:n], unit[n:] * z[n:])
    share, fixed = np.zeros((k, n)), np.array([x.fixed for x in disks])
    for i, x in enumerate(disks):
        if x.owner >= 0:
            share[i, x.owner] = x.share
    NN, NT, TN, TT = D[:n, :n], D[:n, n:], D[n:, :n], D[n:, n:]
    eye, zero = np.eye(k), np.zeros((k, k))
    Q = np.block(
        [
            [NN - NT @ share, NT, np.zeros((n, k))],
            [TN - TT @ share, TT, eye],
            [2 * share, -eye, zero],
        ]
    )
    q = np.concatenate([c[:n] - NT @ fixed, c[n:] - TT @ fixed, 2 * fixed])
    size = np.max(np.abs(q), initial=0.0)
    z = complementary(Q, q / size) if size > 0 else np.zeros(len(q))
    if z is None:
        return None
    push, other = size * z[:n], size * z[n : n + k]
    return unit[:n] * push, unit[n:] * (other - share @ push - fixed)
