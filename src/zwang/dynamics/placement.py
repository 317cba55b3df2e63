"""Projection of a state onto the constraints.

It runs once before a run, on the host in NumPy, around one small compiled program that evaluates
the functions of the model, because compiling its loops would take longer than running them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.algebra.judgement import typical_units
from zwang.algebra.metric import metric_of, rows_of
from zwang.algebra.rank import PLACED
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, moved
from zwang.equations.state import State, host_state
from zwang.objects.display import present
from zwang.thresholds import AGREEMENT, CONVERGED, LAST_DIGIT, MARGIN, ROUND_OFF, SOLUTION_ERROR

HALVINGS = 14
"""Maximum number of halvings of a Newton step."""

Apart = Callable[[Any, Any], tuple[float, np.ndarray]]
"""`(q, M) → dᵀ M d` of the displacement d from a guess, and half its gradient with respect to
velocities."""


@dataclasses.dataclass(frozen=True)
class Placement:
    """Result of the projection of a state onto its constraints.

    Attributes:
        state: the consistent state.
        moved_q, moved_v: largest change of an entry of q and of v.
        violation_before, violation_after: dimensionless position violation.
        velocity_violation_before, velocity_violation_after: velocity residual relative to the
            speed.
        converged: whether the position and velocity residuals are round-off.
    """

    state: State
    moved_q: float
    moved_v: float
    violation_before: float
    violation_after: float
    velocity_violation_before: float
    velocity_violation_after: float
    converged: bool

    def __repr__(self) -> str:
        return present("text_of", self, "placement")


def place(
    dynamics: Dynamics,
    state: State,
    scales: Scales | None = None,
    apart: Apart | None = None,
) -> Placement:
    """Project a state onto its constraints by corrections of least norm in the mass metric.
    Violations are measured by `scales`, or those of the dynamics.

    Position: Newton steps `q ← q ⊖ A⊕φ`, damped if that is as good, halved while the violation does
    not decrease, until round-off stops them. Velocity: `v ← v − A⊕ψ` until v no longer changes.

    Each correction has least norm, but not their sum. If `apart` gives the displacement from the
    guess, `(q, M) → dᵀ M d` and half its gradient with respect to velocities, q continues to the
    minimum of this displacement.
    """
    scales = dynamics.scales if scales is None else scales
    assert scales is not None
    length, inverse_length = np.asarray(scales.row_length), float(scales.inverse_length)
    holonomic, moving = dynamics.constraints.position_rows, dynamics.constraints.velocity_rows
    unit = 1 / typical_units(np, length)  # an absent row counts with the longest length

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
        speed = metric_of(at.M, at.A, dynamics.singular_mass).speed(np.asarray(v))
        return residual / max(speed + imposed, 1e-300)

    q, v = state.q, state.v
    at = evaluate(dynamics, state)
    before, slip_before = violation(at), slip(at, v)
    q = moved(dynamics, q, np.zeros(len(v)), state.t)
    at = evaluate(dynamics, host_state(q, v, state.t))
    onto = functools.partial(_onto_positions, dynamics, length, inverse_length, distance)
    begun = host_state(q, v, state.t), at
    q, at, damped = onto(*begun, MARGIN)
    # the valley along which damped steps descend may be too long
    if damped and violation(at) > CONVERGED:
        plain, there, _ = onto(*begun, 0.0)
        if distance(there) < distance(at):
            q, at = plain, there
    if apart is not None and before > CONVERGED >= violation(at):
        q, at = _nearest(dynamics, host_state(q, v, state.t), at, length, onto, violation, apart)
    v, at = _onto_velocities(dynamics, host_state(q, v, state.t), at, length)
    after, slip_after = violation(at), slip(at, v)
    rows = rows_of(at.A)
    coordinates = (
        np.abs(np.asarray(q))
        if len(q) == len(v)
        else np.full(len(v), np.max(np.abs(q), initial=0.0))
    )
    round_off = (
        LAST_DIGIT
        * inverse_length
        * float(np.linalg.norm((abs(rows) @ coordinates / unit)[holonomic]))
    )
    return Placement(
        host_state(q, v, state.t),
        _distance(q, state.q),
        _distance(v, state.v),
        before,
        after,
        slip_before,
        slip_after,
        after <= max(CONVERGED, round_off) and slip_after <= AGREEMENT,
    )


def _onto_positions(
    dynamics: Dynamics,
    length: np.ndarray,
    inverse_length: float,
    distance: Callable[[ModelEvaluation], float],
    state: State,
    at: ModelEvaluation,
    mistrust: float,
) -> tuple[Any, ModelEvaluation, bool]:
    """Take Newton steps onto φ = 0. Return q, the functions there, and whether any step was damped.

    Args:
        length, inverse_length: of the scales.
        distance: size of the position residual of an evaluation.
        state, at: initial state, and the functions there.
        mistrust: `MARGIN`, or 0 for undamped steps.
    """
    holonomic, q, v, t = dynamics.constraints.position_rows, state.q, state.v, state.t
    # without the curvature, which is 0 if all constraints are linear
    held, size, damped = length[holonomic], distance(at), False
    for _ in range(100 if len(holonomic) else 0):
        violation, last = inverse_length * size, size
        near = violation <= CONVERGED
        metric = metric_of(at.M, at.A, dynamics.singular_mass)
        rows = metric.rows(rows_of(at.A)[holonomic], held, held, PLACED)
        phi = np.asarray(at.phi)
        step = rows.correct(phi)
        # near the constraints a full step fails because of round-off only
        tried = [(0.5**halving * step, size) for halving in range(1 if near else HALVINGS)]
        # Rows that depend on each other along a direction on the constraints have there, off the
        # constraints, a singular value of about the violation, and the Newton step has the size of
        # the mechanism: a step that does not trust such singular values is tried first. At a
        # singular configuration, where they are real, it leaves more of the violation.
        careful = step if near else rows.correct(phi, min(mistrust * violation, 1 / MARGIN))
        if not np.array_equal(careful, step):
            tried = [(careful, 0.2 * size), *tried]
        for change, most in tried:
            trial = moved(dynamics, q, -change, t)
            there = evaluate(dynamics, host_state(trial, v, t))
            if better := distance(there) < most:
                q, at, size = trial, there, distance(there)
                damped = damped or change is careful is not step
                break
        # Newton's iteration leaves a quarter even at a singular configuration; round-off decreases
        # by chance
        if not better or size == 0 or (near and size > 0.5 * last):
            break
    return q, at, damped


def _nearest(
    dynamics: Dynamics,
    state: State,
    at: ModelEvaluation,
    length: np.ndarray,
    onto: Callable[[State, ModelEvaluation, float], tuple[Any, ModelEvaluation, bool]],
    violation: Callable[[ModelEvaluation], float],
    apart: Apart,
) -> tuple[Any, ModelEvaluation]:
    """Descend along φ = 0 the gradient of the displacement from the guess, until constraints
    balance it.

    Args:
        state, at: initial state, and the functions there.
        length: of the scales.
        onto: `_onto_positions` from a state.
        violation: of φ, dimensionless.
        apart: as in `place`.
    """
    holonomic, (q, v, t) = dynamics.constraints.position_rows, state
    held, gain, before = length[holonomic], 1.0, None
    for _ in range(40):
        metric, A = metric_of(at.M, at.A, dynamics.singular_mass), rows_of(at.A)[holonomic]
        square, slope = apart(q, at.M)
        along = metric.solve(slope)
        along = along - metric.rows(A, held, held, PLACED).correct(A @ along)
        short = ROUND_OFF * np.max(np.abs(q), initial=0.0)
        if np.max(np.abs(along), initial=0.0) <= short:
            break
        # the square of the displacement is minimal to AGREEMENT²
        if metric.speed(along) <= AGREEMENT * np.sqrt(square):
            break
        if before is not None:
            # the change in the last step gives the curvature along it, as in the secant method
            step, old = before
            curvature = step @ (metric.M @ (along - old))
            gain = step @ (metric.M @ step) / curvature if curvature > 0 else 1.0
        for halving in range(HALVINGS):
            step = -gain * 0.5**halving * along
            trial = host_state(moved(dynamics, q, step, t), v, t)
            found, there, _ = onto(trial, evaluate(dynamics, trial), 0.0)
            closed = violation(there) <= CONVERGED
            if better := closed and apart(found, at.M)[0] < (1 + SOLUTION_ERROR) * square:
                q, at, before = found, there, (step, along)
                break
        if not better:
            break
    return q, at


def _onto_velocities(
    dynamics: Dynamics, state: State, at: ModelEvaluation, length: np.ndarray
) -> tuple[Any, ModelEvaluation]:
    """Take Newton steps onto ψ = 0. Return v, and the functions there. The first step solves a ψ
    that is linear in v; more are for nonlinear ones. The arguments are those of `_onto_positions`.
    """
    v = state.v
    moving = dynamics.constraints.velocity_rows
    # more than two steps matter only if constraints are nonlinear in v
    for _ in range(20 if len(moving) else 0):
        metric = metric_of(at.M, at.A, dynamics.singular_mass)
        rows = metric.rows(rows_of(at.A)[moving], length[moving], length[moving], PLACED)
        dv = rows.correct(np.asarray(at.psi))
        v = np.asarray(v) - dv
        at = evaluate(dynamics, host_state(state.q, v, state.t))
        if not np.max(np.abs(dv), initial=0.0) > 1e-14 * float(np.max(np.abs(v), initial=0.0)):
            break
    return v, at


def _distance(x, y) -> float:
    """Return the largest difference of two arrays, on the host: JAX would compile three programs
    for it.
    """
    return float(np.max(np.abs(np.asarray(x) - np.asarray(y)), initial=0.0))
