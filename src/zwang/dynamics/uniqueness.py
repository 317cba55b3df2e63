"""Uniqueness of the solution of the equations of motion at a state: multipliers, forces, motion.

    Aᵀλ = Aᵀ(λ + n)  for Aᵀn = 0      multipliers with a part in such an n are not unique,
    Aᵢᵀnᵢ ≠ 0                         nor is the force of constraint i where this is true,
    (I − A⊕A) M⁻¹ ∂c/∂λ n ≠ 0         nor is the motion, as friction c depends on λ

Rows of inequalities and dry friction share forces within limits (`zwang.simulation.sharing`), which
may determine more.

Reference: Frączek and Wojtyra (2011), On the unique solvability of a direct dynamics problem for
mechanisms with redundant constraints and Coulomb friction in joints, Mech. Mach. Theory 46,
312-334.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from zwang.algebra.metric import dense_metric, dense_rows
from zwang.compile import model_program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.equations.state import State
from zwang.thresholds import ALL_BUT_ZERO


class Uniqueness(NamedTuple):
    """Uniqueness at a state.

    Attributes:
        multipliers: of each row, shape (m,); true for an inactive row.
        forces: of each constraint in their order, shape (constraints,).
        motion: whether the acceleration is unique.
    """

    multipliers: np.ndarray
    forces: np.ndarray
    motion: bool

    @property
    def whole(self) -> bool:
        """Whether everything is unique."""
        return self.motion and bool(np.all(self.multipliers))


def uniqueness_at(dynamics: Dynamics, s: State) -> Uniqueness:
    """Return the uniqueness of the solution at a state, from the rank of the active rows."""
    at, c = evaluate(dynamics, s), dynamics.constraints
    A, slices = dense_rows(at.A), list(c.row_slices.values())
    metric = dense_metric(at.M, A if dynamics.singular_mass else None)
    typical = metric.lengths(A)
    if dynamics.scales is not None:
        typical = np.asarray(dynamics.scales.row_length)
    acting = np.flatnonzero(metric.rows(A, typical=typical).unit > 0)
    rows, multipliers = metric.rows(A[acting], typical=typical[acting]), np.ones(c.m, bool)
    if rows.rank == len(acting):
        return Uniqueness(multipliers, np.ones(len(slices), bool), True)
    multipliers[acting] = rows.unique
    share, C = np.zeros((c.m, len(acting) - rows.rank)), np.zeros_like(A)
    share[acting], C[acting] = rows.split.left_kernel, rows.C
    forces = [bool(np.all(np.abs(C[own].T @ share[own]) <= ALL_BUT_ZERO)) for own in slices]
    unique = dict(zip(c.row_slices, forces, strict=True))
    if not dynamics.rough:
        return Uniqueness(multipliers, np.array(forces), True)
    ways = np.zeros((c.m, c.m))
    ways[: share.shape[1], acting] = rows.dependencies.T
    friction = {k: np.asarray(x) for k, x in _friction_along(dynamics, s, ways).items()}
    # a change below this is the round-off of other frictions, for the same change of multipliers
    sizes = {k: np.array([metric.size(x) for x in change]) for k, change in friction.items()}
    least = ALL_BUT_ZERO * np.max(list(sizes.values()), initial=0.0)
    unique |= {k: unique[k] and bool(np.all(size <= least)) for k, size in sizes.items()}
    moved = np.linalg.norm(sum(friction.values()) @ rows.kernel, axis=1)
    return Uniqueness(multipliers, np.array([*unique.values()]), bool(np.all(moved <= least)))


@model_program
def _friction_along(dynamics: Dynamics, s: State, ways) -> dict:
    """Return the change of each friction along `ways` of the multipliers, shape (ways, nv)."""
    eq = dynamics.equation_at(s)
    acting = dynamics.reaction(eq, eq.multipliers).multipliers
    friction = lambda x: dynamics.nonideal_forces(eq, x)
    return jax.vmap(lambda w: jax.jvp(friction, (acting,), (w,))[1])(ways)
