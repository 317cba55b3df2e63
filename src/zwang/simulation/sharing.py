"""Forces of dependent rows, shared within the limits of each row.

    minimal ½ ‖λ‖²  with  Aᵀλ = f,   λ_g ≥ 0 of gaps,   |λ_t| ≤ R of sticking frictions

The motion does not depend on how a force is shared, but the next mode change does. Where the least
norm asks more of a row than its limit, the row supplies its limit (a gap supplies zero) and the
others the rest. A mode changes only if the others cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from zwang.algebra.complementarity import complementary
from zwang.algebra.cone_complementarity import Disk
from zwang.dynamics.contact_problem import ContactProblem
from zwang.thresholds import AGREEMENT, ROUND_OFF, SOLUTION_ERROR


class Shares(NamedTuple):
    """Forces that are within all limits.

    Attributes:
        forces: λ of all rows, zero for inactive rows.
        idle: rows of the active gaps whose force is zero.
        spent: direction of the force of each friction at its limit, by the index of the friction.
        shared: indices of the frictions whose force other rows can take over.
    """

    forces: np.ndarray
    idle: np.ndarray
    spent: dict[int, np.ndarray]
    shared: set[int]


def shares(
    problem: ContactProblem,
    rows: np.ndarray,
    need: np.ndarray,
    gaps: Sequence[int] | np.ndarray,
    sticking: Mapping[int, Disk],
) -> Shares | None:
    """Return the forces of least norm, rows at unit length, that are within all limits; None if
    there are none.

    Args:
        rows: all active rows.
        need: generalized force that they supply together, shape (nv,).
        gaps: those of them that are gaps.
        sticking: disks of admissible forces, by the indices of frictions.
    """
    factored, forces = problem.some(rows), np.zeros(len(problem.A))
    forces[rows] = factored.multipliers(need)
    if factored.rank == len(rows):
        return Shares(forces, np.zeros(0, int), {}, set())
    free = np.zeros((len(problem.A), len(rows) - factored.rank))
    free[rows] = factored.dependencies
    movable = np.linalg.norm(problem.length[:, None] * free, axis=1) > AGREEMENT
    open_to = {k: x for k, x in sticking.items() if np.any(movable[[*x.rows, x.owner]])}
    pushing = [i for i in gaps if movable[i]]
    cuts: list[tuple[int, np.ndarray]] = []
    least, solved, worst = forces, None, np.inf
    # maximum number of iterations, each of which cuts off a disk along the force that leaves it
    for _ in range(50):
        C, d = np.zeros((len(pushing) + len(cuts), len(forces))), []
        for row, i in zip(C, pushing, strict=False):
            row[i] = problem.length[i]
            d.append(0.0)
        for row, (k, along) in zip(C[len(pushing) :], cuts, strict=True):
            x = sticking[k]
            length = problem.length[x.rows[0]]
            row[x.rows] = -length * along
            if x.owner >= 0:
                row[x.owner] = length * x.share
            d.append(length * x.fixed)
        G, q = C @ free, C @ least + d
        size = np.max(np.abs(q), initial=0.0)
        found = complementary(G @ G.T, q / size) if size > 0 else np.zeros(len(q))
        if found is None:
            break
        weights = size * found
        forces = least + free @ (G.T @ weights)
        acts = weights > SOLUTION_ERROR * np.max(weights, initial=0.0)
        of_cuts = acts[len(pushing) :]
        spent = {k: along for (k, along), yes in zip(cuts, of_cuts, strict=True) if yes}
        idle = np.array([i for i, yes in zip(pushing, acts, strict=False) if yes], int)
        solved = Shares(forces, idle, spent, {*open_to})
        # as lengths in the metric, because the round-off of all forces adds to each residual
        terms = np.max(problem.length * np.abs(forces)) or 1.0
        beyond, worst = [], 0.0
        for k, x in open_to.items():
            own = forces[x.rows]
            size = np.linalg.norm(own)
            excess = problem.length[x.rows[0]] * (size - max(x.radius(forces), 0.0)) / terms
            worst = max(worst, excess)
            if excess > ROUND_OFF:
                beyond.append((k, own / size))
        if not beyond:
            break
        # The solution of least norm is unique, so that an inactive cut can be dropped; many almost
        # equal cuts would make the problem hard to solve.
        cuts = [
            cut for cut, weight in zip(cuts, weights[len(pushing) :], strict=True) if weight > 0
        ]
        cuts += beyond
    return solved if worst <= SOLUTION_ERROR else None
