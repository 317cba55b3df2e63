"""Forces some way off an equilibrium: how the potential goes on where its Hessian vanishes, and
what forces do on motions there.
"""

from __future__ import annotations

import numpy as np

from zwang.analysis.constrained_state import ConstrainedState, on_constraints, solve
from zwang.analysis.local_equations import moved, time_derivatives
from zwang.equations.state import host_state

DISTANCES_ASIDE = (0.1, 0.03, 0.01)
"""Distances from an equilibrium, relative to the size of its coordinates, at which the potential is
followed where its Hessian vanishes."""
SLOPE_ASIDE = 1e-9
"""Least slope of the potential aside, relative to the forces there, that counts."""
RAYS_PER_DIMENSION = 24
"""Random directions, per dimension, in which the potential is followed."""


def aside(here: ConstrainedState, along: np.ndarray, distance: float) -> ConstrainedState | None:
    """The state at rest some way off, back on the constraints."""
    s = here.state
    reach = distance * (1 + np.max(np.abs(s.q), initial=0.0))
    along = along * reach / max(np.max(np.abs(here.local.N @ along), initial=0.0), 1e-300)
    return still(here, along)


def still(here: ConstrainedState, along: np.ndarray) -> ConstrainedState | None:
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
    Y, found = here.tangent.Y, 0.0
    for sign in (1.0, -1.0):
        for part in DISTANCES_ASIDE[:1]:
            along = sign * Y @ u
            there = aside(here, along, part)
            if there is None:
                continue
            reach = part * (1 + np.max(np.abs(here.state.q), initial=0.0))
            reach /= max(np.max(np.abs(here.local.N @ along), initial=0.0), 1e-300)
            found = max(found, abs(float(along @ (there.metric @ there.w))) / reach)
    return found


def beyond(here: ConstrainedState, free, held, curvature) -> str:
    """How the potential goes on along directions without stiffness: it "rises" in all of them, is
    "level" in all, "falls" in one, or is "flat" in one.
    """
    k, random = free.shape[1], np.random.default_rng(1892)
    rays = (
        [np.eye(k)] if k == 1 else [np.eye(k), random.standard_normal((RAYS_PER_DIMENSION * k, k))]
    )
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
        reach = part * (1 + np.max(np.abs(here.state.q), initial=0.0))
        reach /= max(np.max(np.abs(here.local.N @ (Y @ u))), 1e-300)
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
            0 if abs(push) <= SLOPE_ASIDE * size or abs(push) < 1e-300 else int(np.sign(push))
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
