"""Forces some way off an equilibrium: how the potential goes on where its Hessian vanishes, what
forces do on motions there, and what of the equations changes with time.
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
followed where its Hessian vanishes."""


def aside(here: ConstrainedState, along: np.ndarray, distance: float) -> ConstrainedState | None:
    """The state at rest some way off, back on the constraints."""
    return still(here, along * here.reach(along, distance))


def still(here: ConstrainedState, along: np.ndarray) -> ConstrainedState | None:
    """The state at rest at the end of a way, back on the constraints."""
    s = here.state
    q = moved(here.dynamics, s.q, along, s.t)
    there = on_constraints(here.dynamics, q, np.zeros(len(along)), float(s.t))
    return None if there is None else solve(here.dynamics, there)


def loses_rank(here: ConstrainedState) -> bool:
    """Whether rows have a higher rank beside a state: it is a singular configuration, unlike one
    with redundant rows, which are so everywhere.
    """
    Y, random = here.tangent.Y, np.random.default_rng(1783)
    if here.all_rows.rank == len(here.local.A) or not Y.shape[1]:
        return False
    there = aside(here, Y @ random.standard_normal(Y.shape[1]), DISTANCES_ASIDE[-1])
    return there is not None and there.all_rows.rank > here.all_rows.rank


def curvature_aside(here: ConstrainedState, u: np.ndarray) -> float:
    """The largest slope of the force along a direction, some way off on either side."""
    found, distance = 0.0, DISTANCES_ASIDE[0]
    for along in (here.tangent.Y @ u, -here.tangent.Y @ u):
        if (there := aside(here, along, distance)) is not None:
            push = abs(float(along @ (there.metric @ there.w)))
            found = max(found, push / here.reach(along, distance))
    return found


def beyond(here: ConstrainedState, free, held, curvature) -> str:
    """How the potential goes on along directions without stiffness: it "rises" in all of them, is
    "level" in all, "falls" in one, or is "flat" in one.
    """
    k, random = free.shape[1], np.random.default_rng(1892)
    # random directions, per dimension, in which the potential is followed
    rays = [np.eye(k)] if k == 1 else [np.eye(k), random.standard_normal((24 * k, k))]
    kinds = set()
    for u in np.vstack(rays):
        for sign in (1.0, -1.0):
            kinds.add(_along_valley(here, sign * free @ (u / np.linalg.norm(u)), held, curvature))
    if kinds == {"flat"}:
        return "level"
    return next((x for x in ("falls", "flat") if x in kinds), "rises")


def resistance(here, there: ConstrainedState, along, speed: float) -> float:
    """Power of the forces on a motion along a direction, by the square of its velocity [1/s]."""
    free = there.free
    v = speed * free @ (free.T @ (there.metric @ along))
    moving = solve(here.dynamics, host_state(there.state.q, v, there.state.t))
    M_rate = time_derivatives(here.dynamics, moving.state, moving.w)[0]
    fed = v @ (moving.local.F - there.local.F) + 0.5 * v @ np.asarray(M_rate) @ v
    return float(fed / (v @ there.metric @ v))


def _along_valley(here: ConstrainedState, u, held, curvature) -> str:
    """How the potential goes on in one direction, all others with stiffness being at balance."""
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
    """Least and greatest power of forces in small random motions nearby, relative to the power of
    single forces: dE/dt = vᵀ (F(q, v) − F(q, 0)) + ½ vᵀ Ṁ v.
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
    """What of the equations changes with time."""

    NOTHING = "nothing"
    LOADS = "loads"
    COEFFICIENTS = "coefficients"


def explicit_time(here: ConstrainedState) -> Time:
    """Compare a state's equations with those of later instants, at the same (q, v), v̇ and λ: loads
    alone leave constraints and all derivatives as they are.
    """
    own, found = here.variation, Time.NOTHING
    nv, s = here.dynamics.system.nv, here.state
    # later times [s] at which the equations are compared with those of the instant: without a
    # common period
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
    """Whether two arrays differ by more than round-off; a value that is no number differs."""
    size = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0))
    # a residual of zero is known to the round-off of coordinates of size one
    # largest change, relative to the size of an equation's terms, that counts as none
    return not bool(np.max(np.abs(a - b), initial=0.0) <= AGREEMENT * size + FACTOR_ROUND_OFF)
