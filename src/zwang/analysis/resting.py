"""Equilibria with closed gaps: search for the gaps that carry load.

Gaps that are closed and loaded at the guess become equations of a search for balance. If the search
violates another gap, or descends without end, that gap is closed as well. Then the active gaps are
determined again, `0 ≤ g̈ ⊥ λ ≥ 0`, until nothing changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.analysis.constrained_state import placed
from zwang.dynamics.contact_problem import ContactProblem
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import host_state
from zwang.errors import ModelError
from zwang.simulation.mode import Mode, mode_of, with_equations
from zwang.thresholds import ACCEPTED_VIOLATION, ALL_BUT_ZERO

if TYPE_CHECKING:
    from zwang.analysis.equilibrium import Equilibrium


def resting(model: Model, q, t: float, params: PyTree, search: Callable[[Model, np.ndarray], Any]):
    """The balance of a model with gaps and dry friction near a guess.

    Args:
        search: `(model, q)` → the equilibrium of a model without inequalities.

    Raises:
        ModelError: if none is found, or if friction slides during the search.
    """
    q, gaps = np.asarray(q, float), model.constraints.one_sided_rows
    dynamics = model.dynamics(params, lets_go=True)
    # after a few searches for each gap the iteration would only cycle
    for _ in range(4 * (len(gaps) + 1)):
        mode = mode_of(model, q, None, t, params)
        if sliding := [name for name, how in mode.held.items() if how == "slides"]:
            raise ModelError(
                f"{model.name}: {sliding[0]!r} would slide from rest at q = {q.tolist()}, so that "
                "no balance is near; start where friction can hold, or leave it out."
            )
        try:
            found = search(mode.model, q)
        except ModelError:
            reached = _first_reached(dynamics, mode, q, t, gaps)
            if reached is None:
                raise
            q = _closed(model, mode, q, t, params, dynamics, [reached])
            continue
        q = found.q
        if len(beyond := _beyond(dynamics, q, t, gaps)):
            q = _closed(model, mode, q, t, params, dynamics, beyond)
        elif mode_of(model, q, None, t, found.params).held == mode.held:
            return dataclasses.replace(found, unique=_unique(model, dynamics, mode, found))
    raise ModelError(
        f"{model.name}: no set of closed gaps balances near this guess; start closer, with the "
        "loaded gaps closed."
    )


def _unique(model: Model, dynamics: Dynamics, mode: Mode, found: Equilibrium) -> dict[str, bool]:
    """By name, True if the force of a constraint is determined. Closed gaps without load are
    included, because they may carry load in another distribution of the same forces.
    """
    from scipy.optimize import linprog

    q, gaps, c = found.q, model.constraints.one_sided_rows, model.constraints
    problem = _problem(dynamics, q, found.t, gaps)
    shut = problem.phi[gaps] <= _depth(problem) * problem.length[gaps]
    spent = [x for x in c.frictions if np.any(mode.sliding[x.indices])]
    given = np.concatenate([np.zeros(0, int), *(x.indices for x in spent)])
    rows = np.setdiff1d(np.flatnonzero(mode.on), [*gaps, *given])
    rows, acting = np.concatenate([rows, gaps[shut], given]), mode.on.copy()
    acting[given] = True
    null = problem.metric.rows(problem.A[rows]).dependencies
    # the force of a gap without load can only increase
    idle = -null[np.isin(rows, gaps) & ~mode.on[rows]]
    multipliers = np.zeros(c.m)
    multipliers[acting] = found.multipliers
    for x in spent:  # and the force of friction at its limit can only decrease
        load = lambda y, x=x: x.law.limit(dynamics.p, x.load(dynamics.p, y))
        beyond = -np.asarray(jax.grad(load)(jnp.asarray(multipliers)))
        beyond[x.indices] -= mode.sliding[x.indices] / 2
        idle = np.vstack([idle, beyond[rows] @ null])
    unique = dict(found.unique)
    for i, row in enumerate(rows):
        if not acting[row] or np.all(np.abs(null[i]) <= ALL_BUT_ZERO):
            continue
        best = lambda sign, i=i: linprog(
            sign * null[i], idle if len(idle) else None, np.zeros(len(idle)), bounds=(-1, 1)
        )
        if any(best(sign).fun < -ALL_BUT_ZERO for sign in (1, -1)):
            unique[mode.names.get(int(row)) or c.owner(row)[0]] = False
    return unique


def _problem(dynamics: Dynamics, q, t: float, gaps: np.ndarray) -> ContactProblem:
    return ContactProblem.at_state(dynamics, host_state(q, np.zeros(dynamics.system.nv), t), gaps)


def _beyond(dynamics: Dynamics, q, t: float, gaps: np.ndarray) -> list[int]:
    """The gap with the largest violation, relative to its row length in the mass metric, if there
    is one.
    """
    problem = _problem(dynamics, q, t, gaps)
    depth = -problem.phi[gaps] / np.maximum(problem.length[gaps], 1e-300)
    return [int(gaps[np.argmax(depth)])] if len(gaps) and np.max(depth) > _depth(problem) else []


def _depth(problem: ContactProblem) -> float:
    """Depth in the mass metric up to which a gap counts as closed."""
    return ACCEPTED_VIOLATION * (1 + problem.metric.speed(np.ones(len(problem.F))))


def _first_reached(dynamics: Dynamics, mode: Mode, q, t: float, gaps: np.ndarray) -> int | None:
    """The open gap that closes first along the acceleration from rest, or None."""
    problem = _problem(dynamics, q, t, gaps)
    held = np.flatnonzero(mode.on)
    rows = problem.metric.rows(problem.A[held])
    a = rows.kernel @ (rows.kernel.T @ problem.F)
    rate = problem.A[gaps] @ a
    ahead = (rate < 0) & ~mode.on[gaps]
    if not np.any(ahead):
        return None
    time = np.where(ahead, problem.phi[gaps] / np.where(ahead, -rate, 1.0), np.inf)
    return int(gaps[np.argmin(time)])


def _closed(
    model: Model, mode: Mode, q, t: float, params: PyTree, dynamics: Dynamics, rows: list[int]
) -> np.ndarray:
    """The coordinates after closing further gaps, and the gaps that would become negative then."""
    gaps, on = model.constraints.one_sided_rows, mode.on.copy()
    for _ in gaps:
        on[rows] = True
        equations = with_equations(model, on, mode.sliding, mode.names)
        # friction constrains velocities, not positions
        q = np.asarray(placed(equations, equations.dynamics(params), q, None, t, "equilibrium").q)
        rows = [i for i in _beyond(dynamics, q, t, gaps) if not on[i]]
        if not rows:
            break
    return q
