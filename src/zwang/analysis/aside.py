"""Forces near an equilibrium: the potential where its Hessian vanishes, the power of forces on
motions there, and the explicit dependence of the equations on time.
"""

from __future__ import annotations

import enum

import jax.numpy as jnp
import numpy as np

from zwang.analysis.constrained_state import ConstrainedState, on_constraints, solve
from zwang.analysis.local_equations import moved, time_derivatives
from zwang.equations.state import State, host_state
from zwang.thresholds import AGREEMENT, FACTOR_ROUND_OFF

DISTANCES_ASIDE = (0.1, 0.03, 0.01)
"""Distances from an equilibrium, relative to the size of its coordinates, at which the potential is
evaluated in directions in which its Hessian vanishes.
"""


def aside(here: ConstrainedState, along: np.ndarray, distance: float) -> ConstrainedState | None:
    """The state at rest at a given distance along a direction, projected onto the constraints."""
    return still(here, along * here.reach(along, distance))


def still(here: ConstrainedState, along: np.ndarray) -> ConstrainedState | None:
    """The state at rest at the end of a displacement, projected onto the constraints."""
    s = here.state
    q = moved(here.dynamics, s.q, along, s.t)
    there = on_constraints(here.dynamics, q, np.zeros(len(along)), float(s.t))
    return None if there is None else solve(here.dynamics, there)


def loses_rank(here: ConstrainedState) -> bool:
    """True if the rows have a higher rank next to a state than at it. The state is then a singular
    configuration; redundant rows, in contrast, have the lower rank everywhere.
    """
    Y, random = here.tangent.Y, np.random.default_rng(1783)
    if here.all_rows.rank == len(here.local.A) or not Y.shape[1]:
        return False
    there = aside(here, Y @ random.standard_normal(Y.shape[1]), DISTANCES_ASIDE[-1])
    return there is not None and there.all_rows.rank > here.all_rows.rank


def curvature_aside(here: ConstrainedState, u: np.ndarray) -> float:
    """The largest slope of the force along a direction, at a distance on both sides."""
    found, distance = 0.0, DISTANCES_ASIDE[0]
    for along in (here.tangent.Y @ u, -here.tangent.Y @ u):
        if (there := aside(here, along, distance)) is not None:
            push = abs(float(along @ (there.metric @ there.w)))
            found = max(found, push / here.reach(along, distance))
    return found


def beyond(here: ConstrainedState, free, held, curvature) -> str:
    """Behavior of the potential along directions without stiffness: it "rises" in all of them, is
    "level" in all, "falls" in one, or is "flat" in one.
    """
    k, random = free.shape[1], np.random.default_rng(1892)
    # unit vectors and 24 random directions per dimension, in which the potential is followed
    rays = [np.eye(k)] if k == 1 else [np.eye(k), random.standard_normal((24 * k, k))]
    kinds = set()
    for u in np.vstack(rays):
        for sign in (1.0, -1.0):
            kinds.add(_along_valley(here, sign * free @ (u / np.linalg.norm(u)), held, curvature))
    if kinds == {"flat"}:
        return "level"
    return next((x for x in ("falls", "flat") if x in kinds), "rises")


def resistance(here, there: ConstrainedState, along, speed: float) -> float:
    """Power of the forces on a motion along a direction, divided by the square of its velocity
    [1/s].
    """
    free = there.free
    v = speed * free @ (free.T @ (there.metric @ along))
    moving = solve(here.dynamics, host_state(there.state.q, v, there.state.t))
    M_rate = time_derivatives(here.dynamics, moving.state, moving.w)[0]
    fed = v @ (moving.local.F - there.local.F) + 0.5 * v @ np.asarray(M_rate) @ v
    return float(fed / (v @ there.metric @ v))


def _along_valley(here: ConstrainedState, u, held, curvature) -> str:
    """Behavior of the potential in one direction, with balance in all directions that have
    stiffness.
    """
    Y, signs = here.tangent.Y, []
    for part in DISTANCES_ASIDE:
        reach = here.reach(Y @ u, part)
        rest, there = np.zeros(held.shape[1]), None
        for _ in range(8):
            there = still(here, Y @ (reach * u + held @ rest))
            if there is None:
                break
            rest = rest + (held.T @ (Y.T @ (there.metric @ there.w))) / curvature
        if there is None:
            continue
        push = float(u @ (Y.T @ (there.metric @ there.w)))
        size = there.mass.size(there.local.F)
        signs.append(
            0 if abs(push) <= AGREEMENT * size or abs(push) < 1e-300 else int(np.sign(push))
        )
    if not signs or not any(signs):
        return "flat"
    nearest = next(x for x in reversed(signs) if x)
    return "falls" if nearest > 0 else "rises"


def power(here: ConstrainedState) -> tuple[float, float]:
    """Least and greatest power of the forces in small random motions nearby, relative to the power
    of single forces: dE/dt = vᵀ (F(q, v) − F(q, 0)) + ½ vᵀ Ṁ v.
    """
    random, found = np.random.default_rng(1788), [0.0]
    T, s = here.tangent, here.state
    for distance in (1e-3, 1e-2):
        for _ in range(6):
            there = aside(here, T.Y @ random.standard_normal(T.Y.shape[1]), distance)
            if there is None:
                continue
            v = there.free @ random.standard_normal(T.W.shape[1])
            v *= distance * (1 + np.max(np.abs(s.q))) / max(np.max(np.abs(v)), 1e-300)
            moving = solve(here.dynamics, host_state(there.state.q, v, s.t))
            M_rate = time_derivatives(here.dynamics, moving.state, moving.w)[0]
            by_mass = 0.5 * v @ np.asarray(M_rate) @ v
            fed = v @ (moving.local.F - there.local.F) + by_mass
            size = np.abs(v) @ (np.abs(moving.local.F) + np.abs(there.local.F)) + abs(by_mass)
            found.append(float(fed / size) if size else 0.0)
    return min(found), max(found)


class Time(enum.Enum):
    """The part of the equations that depends explicitly on time."""

    NOTHING = "nothing"
    LOADS = "loads"
    COEFFICIENTS = "coefficients"


def explicit_time(here: ConstrainedState) -> Time:
    """Compare a state's equations with those at later instants, at the same (q, v), v̇ and λ. If
    only loads depend on time, constraints and all derivatives stay the same.
    """
    own, found = here.variation, Time.NOTHING
    nv, s = here.dynamics.system.nv, here.state
    # delays [s] after which the equations are compared; they have no common period
    for wait in (0.11, 1.37, 17.3):
        there = solve(here.dynamics, State(s.q, s.v, s.t + jnp.asarray(wait)))
        then = ConstrainedState(
            here.dynamics, there.state, there.local, here.w, here.multipliers
        ).variation
        slopes = zip(own[:4], then[:4], strict=True)
        if any(_differ(a[:, : 2 * nv], b[:, : 2 * nv]) for a, b in slopes):
            return Time.COEFFICIENTS
        if any(
            _differ(getattr(here.local, x), getattr(there.local, x)) for x in ("phi", "psi", "b")
        ):
            return Time.COEFFICIENTS
        if _differ(here.local.F, there.local.F):
            found = Time.LOADS
    return found


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays differ by more than round-off, or if a value is NaN."""
    size = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0))
    # AGREEMENT: the largest change, relative to the size of an equation's terms, that counts as
    # zero; a residual of zero is known to the round-off of coordinates of size one
    return not bool(np.max(np.abs(a - b), initial=0.0) <= AGREEMENT * size + FACTOR_ROUND_OFF)
