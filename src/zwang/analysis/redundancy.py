"""Redundant rows: the smallest combinations of other rows that imply them, unique multipliers, free
directions of a model, and joints with fewer rows that suffice.

Reference: Wojtyra and Frączek (2013), Comparison of selected methods of handling redundant
constraints in multibody systems simulations, J. Comput. Nonlinear Dyn. 8, 021007.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import linprog

from zwang.algebra.decomposition import Decomposition, independent, pivots
from zwang.algebra.rank import DEPENDENT_ROWS, PLACED
from zwang.mechanism.mechanism import Mechanism
from zwang.thresholds import DERIVED, SOLUTION_ERROR


@dataclasses.dataclass(frozen=True)
class Dependency:
    """A redundant row as a minimal combination of others.

    Attributes:
        row: constraint and index of the redundant row, counted from 0 within the constraint.
        others: constraint, index and coefficient (for rows of unit length in the metric of M⁻¹) of
            each other row.
    """

    row: tuple[str, int]
    others: tuple[tuple[str, int, float], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The constraints involved, the redundant one first."""
        return tuple(dict.fromkeys((self.row[0], *(name for name, _, _ in self.others))))

    def __str__(self) -> str:
        row = f"{self.row[0]} [{self.row[1]}]"
        if not self.others:
            return f"{row} has no effect here: its gradient is zero"
        rows = ", ".join(f"{name} [{i}]" for name, i, _ in self.others[:6])
        more = f" and {len(self.others) - 6} more" if len(self.others) > 6 else ""
        return f"{row} follows from {rows}{more}"

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class FreeMotion:
    """A direction that the constraints leave free.

    Attributes:
        name: the velocity that is 1 in it; the named velocities of the other free motions are 0.
        direction: all velocities, shape (nv,).
    """

    name: str
    direction: np.ndarray


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """A joint with fewer rows that leaves the same degrees of freedom, as verified.

    Attributes:
        joint, kind: name of the joint, and its proposed kind.
        redundant_before, redundant_after: number of redundant rows of the whole mechanism.
    """

    joint: str
    kind: str
    redundant_before: int
    redundant_after: int

    def __str__(self) -> str:
        return (
            f"make {self.joint!r} {self.kind}: {self.redundant_before} redundant rows to "
            f"{self.redundant_after}"
        )

    __repr__ = __str__


def dependencies(C: np.ndarray, row_slices: dict[str, slice], rank: int) -> tuple[Dependency, ...]:
    """One `Dependency` for each redundant row, in order.

    Args:
        C: rows of unit length, shape (m, nv); rows of round-off are zero.
        row_slices: rows of each constraint.
        rank: rank of C.
    """
    # no search for combinations with more than 400 rows
    if rank == len(C) or len(C) > 400:
        return ()
    places = [(name, i) for name, s in row_slices.items() for i in range(s.stop - s.start)]
    found, kept = [], independent(C)
    for i in np.setdiff1d(np.arange(len(C)), kept).tolist():
        others = [j for j in range(len(C)) if j != i and np.any(C[j])]
        chosen = _smallest(C, i, others) if np.any(C[i]) else {}
        rows = tuple((*places[j], float(x)) for j, x in sorted(chosen.items()))
        found.append(Dependency(places[i], rows))
    return tuple(found)


def _smallest(C: np.ndarray, i: int, others: list[int]) -> dict[int, float]:
    """A small set of rows whose combination is row i: the least sum of absolute coefficients,
    without superfluous rows.
    """
    basis = Decomposition(C).row_space.T
    # coordinates in the row space, so that round-off outside it does not make the program
    # infeasible
    columns, target = (C[others] @ basis.T).T, basis @ C[i]
    answer = linprog(
        np.ones(2 * len(others)), A_eq=np.hstack([columns, -columns]), b_eq=target, method="highs"
    )
    if answer.success:
        coefficient = answer.x[: len(others)] - answer.x[len(others) :]
        kept = [j for j, x in zip(others, coefficient, strict=True) if abs(x) > DERIVED]
    else:
        kept = list(others)
    solve = lambda rows: Decomposition(C[rows].T, PLACED).solve(C[i])
    missed = lambda rows: np.linalg.norm(C[i] - solve(rows) @ C[rows])
    if missed(kept) > DEPENDENT_ROWS:
        kept = list(others)
    for j in sorted(kept, key=lambda j: abs(solve(kept)[kept.index(j)])):
        fewer = [k for k in kept if k != j]
        if fewer and missed(fewer) < DEPENDENT_ROWS:
            kept = fewer
    return dict(zip(kept, solve(kept), strict=True))


def free_motions(basis: np.ndarray, velocities: tuple[str, ...]) -> tuple[FreeMotion, ...]:
    """A basis of the free directions; in each, one of the chosen velocities is 1 and the others are
    0.

    Args:
        basis: directions of velocities that span the null space of A, shape (dof, nv).
        velocities: names.
    """
    if not len(basis):
        return ()
    # the largest pivots, so that no entry of a direction is much larger than its chosen entry
    chosen = pivots(Decomposition(basis).row_space.T)
    directions = Decomposition(basis[:, chosen]).solve(basis)
    directions[np.abs(directions) < SOLUTION_ERROR * np.max(np.abs(directions))] = 0.0
    return tuple(FreeMotion(velocities[i], x) for i, x in zip(chosen, directions, strict=True))


LOOSER: dict[tuple[str, int], tuple[tuple[str, tuple[int, ...]], ...]] = {
    ("revolute", 3): (("spherical", (0, 1, 2)), ("cylindrical", (0, 1, 3, 4))),
    ("fixed", 3): (("revolute", (0, 1, 2, 3, 4)), ("spherical", (0, 1, 2))),
    ("prismatic", 3): (("cylindrical", (0, 1, 2, 3)),),
    ("cylindrical", 3): (("slot", (0, 1)),),
    ("universal", 3): (("spherical", (0, 1, 2)),),
    ("fixed", 2): (("revolute", (0, 1)),),
    ("prismatic", 2): (("slot", (0,)),),
    ("revolute", 2): (("slot", (1,)),),
}
"""Kinds of joints with a subset of the rows of another kind, in the plane (2) and in space (3),
with the indices of these rows.
"""


def suggestions(
    mechanism: Mechanism, C: np.ndarray, row_slices: dict[str, slice], rank: int
) -> tuple[Suggestion, ...]:
    """Joints that can be replaced by less restrictive ones with fewer redundant rows and the same
    degrees of freedom, the best first; each is verified by the rank of the remaining rows.
    """
    found, redundant = [], len(C) - rank
    for name, joint in mechanism.joints.items():
        if name not in row_slices or not redundant:
            continue
        own = row_slices[name]
        for kind, kept in LOOSER.get((joint.kind, mechanism.d), ()):
            if len(kept) >= own.stop - own.start:
                continue
            rows = [i for i in range(len(C)) if not own.start <= i < own.stop]
            remaining = C[[*rows, *(own.start + i for i in kept)]]
            if Decomposition(remaining).rank == rank:
                after = len(remaining) - rank
                found.append(Suggestion(name, kind, redundant, after))
    return tuple(sorted(found, key=lambda x: x.redundant_after))
