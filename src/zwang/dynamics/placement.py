"""A state on the constraints, found from one that is not; and what "small" means for a model.

This runs once before a run, on the host in NumPy, around one small compiled program that evaluates
the model's functions: its loops would cost more to compile than they take.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from zwang.arrays import on_device
from zwang.dynamics.drift.metric import metric_of, rows_of
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, moved
from zwang.equations.state import State, host_state

CONVERGED = 1e-11
"""Dimensionless violation (an angle) that counts as on the constraints once Newton's iteration no
longer improves it: the round-off of φ in coordinates up to 1e4 times the size of the mechanism;
where there are many rows, `COORDINATE_ROUND_OFF` of their own coordinates.
"""
COORDINATE_ROUND_OFF = 1e-15
"""Relative round-off of one coordinate in φ, several times that of float64."""
VELOCITY_CONVERGED = 1e-9
"""Velocity residual, relative to the speed, that counts as zero."""
STALLED = 0.5
"""A position step that leaves more than this part of a violation that is `CONVERGED` is the last
one: Newton's iteration leaves a quarter even at a singular configuration, whereas round-off falls
by chance.
"""
HALVINGS = 14
"""Maximum number of times that a step of Newton's iteration is halved."""
NEWTON, POLISH = 100, 20
"""Maximum numbers of position steps and of the velocity steps that follow; more than two of the
latter matter only where constraints are nonlinear in v.
"""


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where a state ended up on its constraints.

    Attributes:
        state: the consistent state.
        moved_q, moved_v: how far q and v were moved, largest entry.
        violation_before, violation_after: dimensionless position violation.
        velocity_violation_before, velocity_violation_after: velocity residual relative to the
            speed.
        converged: whether position and velocity residuals are round-off now.
    """

    state: State
    moved_q: float
    moved_v: float
    violation_before: float
    violation_after: float
    velocity_violation_before: float
    velocity_violation_after: float
    converged: bool


def measure(dynamics: Dynamics, s: State, span: float = 0.0) -> Scales:
    """Typical row lengths and curvature near a state, from A and from the quadratic form of each
    row's Hessian.

    For eight fixed random directions w of unit variance in the mass metric, `½ (b(w) + b(−w)) −
    b(0) = −wᵀHᵢ w`, whose root mean square estimates ‖Hᵢ‖. The typical curvature is the median of
    ‖Hᵢ‖/‖Aᵢ‖; a row that is short at this state but curved is given the length that it has nearby.

    Linear constraints have no curvature: their violation is measured against the extent of the
    motion within `span` seconds (`extent_of`).
    """
    here = evaluate(dynamics, s)
    metric = metric_of(dynamics, here.M, here.A)
    length = metric.lengths(rows_of(here.A))
    directions = (metric.W @ directions_of(dynamics.system.nv).T).T

    def b(w):
        return np.asarray(evaluate(dynamics, State(s.q, w, s.t)).b)

    # what is even in w is quadratic: constant and linear parts of b drop out; where there is no
    # linear part along one random direction, there is none along the others
    still, along = b(np.zeros(dynamics.system.nv)), b(directions[0])
    even = np.array_equal(along, b(-directions[0]))
    curved = np.stack([(b(w) if even else 0.5 * (b(w) + b(-w))) - still for w in directions])
    q, unit = np.asarray(s.q), metric.typical
    place = metric.speed(q) if len(q) == len(s.v) else size_of(np, q, unit)
    free = metric.solve(np.asarray(here.F))
    extent = extent_of(np, place, metric.speed(np.asarray(s.v)), metric.speed(free), unit, span)
    return scales_of(np, length, curved, extent)


def directions_of(nv: int) -> np.ndarray:
    """The eight directions of unit variance of `measure`, shape (8, nv)."""
    return np.random.default_rng(1992).standard_normal((8, nv))


def extent_of(xp, place, speed, acceleration, unit, span):
    """Size of a motion in the mass metric [m √kg …]: where it is, how far its speed carries it
    within `span` seconds, and how far its free acceleration does; one unit of a typical coordinate
    if nothing moves at the start.
    """
    extent = place + speed * span + 0.5 * acceleration * span**2
    return xp.where(extent > 1e-12 * unit, extent, unit)


def size_of(xp, q, unit):
    """Size of coordinates that are not those of the velocities (a quaternion's), in the metric."""
    return xp.max(xp.abs(q), initial=0.0) * unit


def scales_of(xp, length, curved, extent) -> Scales:
    """Scales from row lengths (m,), `wᵀHᵢw` of the directions (8, m) and the extent of the motion,
    with the functions of `xp`: NumPy's or JAX's.
    """
    if not len(length):
        return Scales(length, xp.zeros(()), xp.zeros(()))
    hessian = xp.sqrt(xp.mean(curved**2, axis=0) / 2)
    # a row that vanishes here has no curvature of its own and is left out of the median
    ratio = xp.where(length > 0, hessian / xp.where(length > 0, length, 1.0), 0.0)
    known = ratio > 1e-12 * xp.max(ratio, initial=0.0)
    unknown = xp.where(xp.any(known), xp.nan, 0.0)
    curvature = xp.nanmedian(xp.where(known, ratio, unknown))
    inverse = xp.where(curvature > 0, curvature, 1 / extent)
    nearby = hessian / inverse
    return Scales(xp.sqrt(length**2 + nearby**2), xp.asarray(curvature), xp.asarray(inverse))


def place(dynamics: Dynamics, state: State, scales: Scales | None = None) -> Placement:
    """Move a state onto its constraints, least in the mass metric; violations are measured by
    `scales`, or those of the dynamics.

    Position: Newton steps `q ← q ⊖ A⊕φ`, halved while the violation does not fall, until round-off
    stops them. Velocity: `v ← v − A⊕ψ` until v no longer changes.
    """
    scales = dynamics.scales if scales is None else scales
    assert scales is not None
    length, inverse_length = np.asarray(scales.row_length), float(scales.inverse_length)
    holonomic, moving = dynamics.constraints.position_rows, dynamics.constraints.velocity_rows
    unit = np.where(length > 0, length, 1.0)

    def distance(at: ModelEvaluation) -> float:
        return float(np.linalg.norm(np.asarray(at.phi) / unit[holonomic]))

    def violation(at: ModelEvaluation) -> float:
        return inverse_length * distance(at)

    def slip(at: ModelEvaluation, v) -> float:
        residual = float(np.linalg.norm(np.asarray(at.psi) / unit[moving]))
        if not residual > 0:
            return 0.0
        still = evaluate(dynamics, host_state(q, np.zeros(len(state.v)), state.t))
        imposed = float(np.linalg.norm(np.asarray(still.psi) / unit[moving]))
        speed = metric_of(dynamics, at.M, at.A).speed(np.asarray(v))
        return residual / max(speed + imposed, 1e-300)

    q: Any = state.q
    v: Any = state.v
    at = evaluate(dynamics, state)
    before, slip_before = violation(at), slip(at, v)
    q = moved(dynamics, q, np.zeros(len(v)), state.t)
    at = evaluate(dynamics, State(q, v, state.t))
    size = distance(at)  # without the curvature, which is 0 where all constraints are linear
    for _ in range(NEWTON if len(holonomic) else 0):
        near, last = violation(at) <= CONVERGED, size
        metric = metric_of(dynamics, at.M, at.A)
        step = metric.correct(rows_of(at.A)[holonomic], length[holonomic], np.asarray(at.phi))
        for halving in range(
            1 if near else HALVINGS
        ):  # near the constraints a full step fails by round-off only
            trial = moved(dynamics, q, -(0.5**halving) * step, state.t)
            there = evaluate(dynamics, State(trial, v, state.t))
            if better := distance(there) < size:
                q, at, size = trial, there, distance(there)
                break
        if not better or size == 0 or (near and size > STALLED * last):
            break
    # the first step solves ψ linear in v; more are for what is not
    for _ in range(POLISH if len(moving) else 0):
        metric = metric_of(dynamics, at.M, at.A)
        dv = metric.correct(rows_of(at.A)[moving], length[moving], np.asarray(at.psi))
        v = np.asarray(v) - dv
        at = evaluate(dynamics, State(q, v, state.t))
        if not np.max(np.abs(dv), initial=0.0) > 1e-14 * float(np.max(np.abs(v), initial=0.0)):
            break
    after, slip_after = violation(at), slip(at, v)
    rows = rows_of(at.A)
    coordinates = (
        np.abs(np.asarray(q))
        if len(q) == len(v)
        else np.full(len(v), np.max(np.abs(q), initial=0.0))
    )
    round_off = (
        COORDINATE_ROUND_OFF
        * inverse_length
        * float(np.linalg.norm((abs(rows) @ coordinates / unit)[holonomic]))
    )
    return Placement(
        State(on_device(q), on_device(v), state.t),
        _distance(q, state.q),
        _distance(v, state.v),
        before,
        after,
        slip_before,
        slip_after,
        after <= max(CONVERGED, round_off) and slip_after <= VELOCITY_CONVERGED,
    )


def _distance(x, y) -> float:
    """The largest difference of two arrays, on the host: JAX would compile three programs for
    it.
    """
    return float(np.max(np.abs(np.asarray(x) - np.asarray(y)), initial=0.0))
