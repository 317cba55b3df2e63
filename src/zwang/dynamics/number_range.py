"""Check that the numbers of a model are in the range of float64: lengths of rows are square roots
of sums of squares, which overflow above 1e154 and vanish below 1e-162.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from zwang.algebra.judgement import ABSENT
from zwang.algebra.metric import mass_blocks, rows_of
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, moved
from zwang.equations.constraint import Constraints
from zwang.equations.state import State, host_state
from zwang.errors import ModelError
from zwang.thresholds import LARGEST_SIZE, LEAST_SIZE, MARGIN, ROUND_OFF


def row_sizes(xp: ModuleType, A, diagonal):
    """Return the size of each row in the metric of M⁻¹ without squares, shape (m,)."""
    root = xp.sqrt(xp.abs(diagonal))
    return abs(A) @ xp.where(root > 0, 1 / xp.where(root > 0, root, 1.0), 0.0)


def out_of_range(xp: ModuleType, size, diagonal):
    """Return whether a row is too large, all are too small, or a mass is too large or too small;
    values that are not finite are reported elsewhere.
    """
    longest = xp.max(size, initial=0.0)
    masses = xp.where(diagonal != 0, xp.abs(diagonal), 1.0)
    beyond = lambda x: xp.isfinite(x) & ((x > LARGEST_SIZE) | ((x > 0) & (x < LEAST_SIZE)))
    return beyond(longest) | xp.any(beyond(masses))


def too_large(xp: ModuleType, *values):
    """Return whether a coordinate, velocity or force is finite but too large."""
    whole = xp.concatenate([xp.abs(xp.asarray(x)) for x in values])
    return xp.any(xp.isfinite(whole) & (whole > LARGEST_SIZE))


def refuse_range(dynamics: Dynamics, at: ModelEvaluation, state: State) -> None:
    """Raise an error that names the number of a model or a state that is out of range.

    Raises:
        ModelError: for masses or rows that are too large or too small, coordinates, velocities or
            forces that are too large.
    """
    if beyond := beyond_range(dynamics, at, state):
        raise ModelError(f"{beyond}.")


def beyond_range(dynamics: Dynamics, at: ModelEvaluation, state: State) -> str:
    """Describe the number of a model or a state that is out of range; "" if there is none."""
    system, allowed = dynamics.system, f"expected sizes from {LEAST_SIZE:g} to {LARGEST_SIZE:g}"
    diagonal = np.einsum("bii->bi", mass_blocks(np.asarray(at.M))).ravel()
    for what, names, values in (
        ("the mass of velocity", system.velocities, diagonal),
        ("coordinate", system.coordinates, state.q),
        ("velocity", system.velocities, state.v),
        ("the force along velocity", system.velocities, at.F),
    ):
        size = np.abs(np.asarray(values))
        beyond = np.isfinite(size) & (size > LARGEST_SIZE)
        if values is diagonal:
            beyond |= (size > 0) & (size < LEAST_SIZE)
        if np.any(beyond):
            i = int(np.argmax(beyond))
            return f"{what} {names[i]!r} is {size[i]:.1e}, {allowed}: use other units"
    size = row_sizes(np, rows_of(at.A), diagonal)
    if out_of_range(np, size, diagonal):
        largest = float(np.max(size))
        worst, _ = dynamics.constraints.owner(int(np.argmax(size)))
        return (
            f"constraint {worst!r}: its gradient has the size {largest:.1e} in the metric of 1/M, "
            f"{allowed}: multiply its rows by a factor, or use other units"
        )
    return ""


def probes(nv: int) -> np.ndarray:
    """Return small steps along which a residual is compared with its gradient, shape (sizes, 3,
    nv).
    """
    # a row acts if its gradient agrees with the change of its residual, along steps of one of these
    # sizes: small relative to a mechanism in meters, in micrometers, or of micrometers in meters
    sizes, random = np.array([1e-4, 1e-7, 1e-10]), np.random.default_rng(1687)
    return sizes[:, None, None] * random.standard_normal((3, nv))


def round_off_of_kin(xp: ModuleType, constraints: Constraints, A):
    """Return which rows are the round-off of other rows of their constraint, which have the same
    unit, shape (m,). The entries of A decide, because a light body makes such a row long in the
    metric of M⁻¹.
    """
    size = abs(A) @ xp.ones(A.shape[1])
    if not len(size):
        return size > 0
    kin = [xp.full(x.stop - x.start, xp.max(size[x])) for x in constraints.row_slices.values()]
    # the round-off of another row's terms: the gap of two points across the plane in which they
    # move
    return ~(size > ROUND_OFF * xp.concatenate(kin))


def acting_rows(dynamics: Dynamics, state: State, A) -> np.ndarray:
    """Return which rows act, shape (m,), although they may be far shorter than others because of
    their units: if a row vanishes here, or is round-off, its gradient does not agree with the
    change of its residual.
    """
    c, nv = dynamics.constraints, dynamics.system.nv
    steps = probes(nv).reshape(-1, nv)

    def residuals(dv):
        there = host_state(moved(dynamics, state.q, dv, state.t), state.v, state.t)
        pushed = host_state(state.q, np.asarray(state.v) + dv, state.t)
        phi, psi = c.by_row(evaluate(dynamics, there).phi, evaluate(dynamics, pushed).psi)
        # ψ of a position row is linear in v even if its gradient is round-off
        psi[c.position_rows] = phi[c.position_rows]
        return psi

    change = np.stack([residuals(dv) for dv in steps]) - residuals(np.zeros(nv))
    return changes_as_expected(np, c, A, change, (A @ steps.T).T)


def changes_as_expected(xp: ModuleType, constraints: Constraints, A, change, expected):
    """Return which rows are not the round-off of others, and change along all `probes` of one size
    as their gradient predicts, shape (m,); rows of which A is given directly have no residual that
    changes.

    Args:
        change, expected: of each row along each step, shape (steps, m).
    """
    given = MARGIN * abs(change - expected) < abs(expected)
    # steps of one size after those of another
    alike = xp.any(xp.all(given.reshape(*probes(1).shape[:2], -1), axis=1), axis=0)
    alike = alike | np.isin(np.arange(constraints.m), constraints.outright_rows)
    return ~round_off_of_kin(xp, constraints, A) & alike


def of_typical_length(dynamics: Dynamics, state: State, A, length: np.ndarray) -> np.ndarray:
    """Return the lengths of rows (m,), with 0 for those that are round-off and not short because of
    their units.
    """
    longest = np.max(length, initial=0.0)
    short = np.flatnonzero((length > 0) & ~(length > ABSENT * longest))
    gone = short[~acting_rows(dynamics, state, A)[short]] if len(short) else short
    kin = round_off_of_kin(np, dynamics.constraints, A)
    return np.where(np.isin(np.arange(len(length)), gone) | kin, 0.0, length)
