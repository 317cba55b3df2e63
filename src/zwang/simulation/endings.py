"""Reasons why a motion ends, determined from its last state: of a run, and of a compiled
trajectory.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.judgement import typical_units
from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.metric import rows_of
from zwang.algebra.spectrum import principal
from zwang.dynamics.consistency import vanishing_rows
from zwang.dynamics.drift import Projection
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, moved
from zwang.dynamics.initial_conditions import is_light, mass_is_positive, massless
from zwang.dynamics.model import Model
from zwang.dynamics.motion import augmented, contradiction, friction_certainty, row_name
from zwang.dynamics.number_range import beyond_range
from zwang.dynamics.placement import place
from zwang.dynamics.scales import measure
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State, host_state
from zwang.errors import Result
from zwang.inputs.arrays import on_device
from zwang.simulation.branch_start import meeting
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.simulation.pace import Pace, why_short
from zwang.simulation.vanishing import ENDLESS, shrunk
from zwang.simulation.watch import verdict_at
from zwang.stepping.step_control import SMALLEST
from zwang.thresholds import (
    ACCEPTED_VIOLATION,
    ALL_BUT_ZERO,
    CONVERGED,
    MARGIN,
    SHORT_WAY,
    SMALL_PART,
)

JUMPED = MARGIN * ACCEPTED_VIOLATION
"""Violation [rad] at the place to which a velocity leads within a `SHORT_WAY`, from which on a
constraint counts as discontinuous: along a smooth motion the violation is of the order of that
distance squared.
"""
NAMED = (Result.INCONSISTENT, Result.NOT_CONVERGED, Result.VANISHING)
"""Ends of a motion whose message names constraints."""
CANNOT_STEP = (Result.NON_FINITE, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED)
"""Ends of a motion that may be caused by a vanishing mass or by Painlevé's paradox."""


class SingularMass(AbstractMonitor):
    """Continues with the augmented mass matrix where M becomes singular and constraints hold the
    directions without mass.
    """

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        if result not in CANNOT_STEP:
            return result
        lost, flow = loses_mass(run.model, run.flow, run.t, run.y)
        if flow is None:
            return Result.SINGULAR_MASS if lost else result
        run.flow = flow
        run.changes.append(f"the mass matrix becomes singular at t = {run.t:.6g} s")
        run.restart(run.first_step)
        return Result.SUCCESS


class Ending(AbstractMonitor):
    """Finds the reason why a run cannot continue.

    Args:
        pace: the monitor that may have ended it.
    """

    def __init__(self, pace: Pace):
        self.pace = pace

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        if result in (Result.SUCCESS, Result.STOPPED):
            return result
        t, y, steps = run.t, run.y, chunk.steps
        if result in CANNOT_STEP and (said := too_long(run)):
            run.detail = said
            return Result.STEP_TOO_SMALL
        if result in CANNOT_STEP and locked(run.flow.dynamics, t, y):
            return Result.PARADOX
        flow = run.flow.with_input(on_device(steps.applied[-1])) if len(steps.t) else run.flow
        if result is Result.NOT_CONVERGED or (result in ENDLESS and at_a_dead_point(flow, t, y)):
            result, run.detail = blocked(run.model, flow, t, y, float(run.here.h))
        if result in (Result.NOT_CONVERGED, Result.TOO_MANY_STEPS):
            where = meeting(run.flow.dynamics, y[: run.model.system.nq], t)
            run.detail = where or run.detail
        if run.detail is None and result in (*ENDLESS, Result.NON_FINITE):
            step = float(max(np.max(run.recent_lengths(), initial=0.0), float(run.here.h)))
            asked = flow.dynamics, *run.last_two(), step
            said = why_short(*asked, run.model.servo, result is Result.NON_FINITE)
            run.detail = "; ".join(filter(None, (self.pace.hopeless, said))) or None
        return result


def too_long(run: RunState) -> str:
    """Return a sentence if float64 cannot resolve, in so long a run, time steps as short as those
    in which causes are searched; empty if it can, or if the length of a step is given.
    """
    numbers = run.tolerances
    shortest = SMALLEST * (abs(run.t) + float(numbers.duration))
    if float(numbers.growth[1]) == 1 or shortest <= SHORT_WAY * max(abs(run.t), 1.0):
        return ""
    return (
        f"time in float64 resolves no step below {shortest:.1g} s in a run of "
        f"{float(numbers.duration):.3g} s: give a shorter duration"
    )


def blocked(
    model: Model, flow: ConstrainedVectorField, t: float, y: np.ndarray, step: float
) -> tuple[Result, str]:
    """Return why no step from a state can be projected onto its constraints: they contradict each
    other there, or one of them cannot be satisfied just after the state.
    """
    verdict = verdict_at(flow, t, y, 0.0)
    if not np.isfinite(verdict.residual):
        return Result.NON_FINITE, ""
    if not verdict.consistent:
        return Result.INCONSISTENT, contradiction(model, verdict.misses)
    dynamics, c = flow.dynamics, model.constraints
    q, v = y[: dynamics.system.nq], y[dynamics.system.nq :]
    ahead = max(abs(step), SHORT_WAY * max(abs(t), 1.0))
    there = moved(dynamics, q, ahead * v, t)
    found = place(dynamics, host_state(there, v, t + ahead))
    at = evaluate(dynamics, found.state)
    # the violated constraint is determined just after the state, which itself still satisfies all
    scales = dynamics.scales
    assert scales is not None
    unit = typical_units(np, np.asarray(scales.row_length))
    led = evaluate(dynamics, host_state(there, v, t + ahead)).phi
    if found.violation_after > CONVERGED:
        kind, does, rows, left = "phi", "cannot be reduced below", c.position_rows, at.phi
    elif float(dynamics.violation(led)) > JUMPED:
        # all can be satisfied just after the state, but not where its velocity leads
        kind, does, rows, left = "phi", "jumps by", c.position_rows, led
    else:
        kind, does, rows, left = "psi", "cannot be reduced below", c.velocity_rows, at.psi
    residual = np.zeros(c.m)
    residual[rows] = np.abs(np.asarray(left))
    worst = c.worst(unit * residual)
    return Result.NOT_CONVERGED, (
        f"{kind} of constraint {worst!r} {does} {residual[c.row_slices[worst]].max():.3g} just "
        "after this state"
    )


def at_a_dead_point(flow: ConstrainedVectorField, t: float, y: np.ndarray) -> bool:
    """Return whether rows have almost lost their rank at a state, and its velocity leads off the
    constraints at once: a drive has reached a dead point that the mechanism cannot pass. Steps
    before it become ever shorter, as in a stiff system.
    """
    if not np.all(np.isfinite(y)):
        return False
    rows = verdict_at(flow, t, y, 0.0).rows
    if rows is None:
        return False
    # redundant rows lose no rank
    sigma, rank = rows.split.singular_values, rows.split.rank
    if not rank or not sigma[rank - 1] < MARGIN * SMALL_PART * sigma[0]:
        return False
    dynamics = flow.dynamics
    q, v = y[: dynamics.system.nq], y[dynamics.system.nq :]
    # independent of the length of the run: a curved path leaves its tangent with the square of the
    # distance
    led = evaluate(dynamics, host_state(moved(dynamics, q, SHORT_WAY * v, t), v, t + SHORT_WAY)).phi
    return not float(dynamics.violation(led)) <= JUMPED


def locked(dynamics: Dynamics, t: float, y: np.ndarray) -> bool:
    """Return whether friction admits none or two constraint forces at a state, or just after it."""
    if not dynamics.rough or not np.all(np.isfinite(y)):
        return False
    nq = dynamics.system.nq
    certain = friction_certainty(dynamics, host_state(y[:nq], y[nq:], t))
    # determinant of the equations of friction, 1 without friction, below which a motion that can
    # take no step has reached Painlevé's paradox: forces grow without bound as it tends to 0
    return not float(certain) > 0.02


def where_singular(
    dynamics: Dynamics, t: float, y: np.ndarray, further: tuple[float, ...] = ()
) -> ModelEvaluation | None:
    """Return the evaluation of the model where M is singular: at a state, just ahead of it, or
    ahead by `further`, relative to the time; None if M is positive definite at all of them.
    """
    if not np.all(np.isfinite(y)):
        return None
    q, v = y[: dynamics.system.nq], y[dynamics.system.nq :]
    # the failed step was undone, so that the singular state lies just ahead
    for ahead in (0.0, 0.01 * SHORT_WAY, SHORT_WAY, 100 * SHORT_WAY, *further):
        later = ahead * max(abs(t), 1.0)
        there = moved(dynamics, q, later * v, t)
        at = evaluate(dynamics, host_state(there, v, t + later))
        if not mass_is_positive(np.asarray(at.M)):
            return at
    return None


def loses_mass(
    model: Model, flow: ConstrainedVectorField, t: float, y: np.ndarray
) -> tuple[bool, ConstrainedVectorField | None]:
    """Return whether M becomes singular at a state or just ahead of it, and the vector field with
    the augmented mass matrix, or None unless constraints hold the directions that lose their mass.
    """
    dynamics = flow.dynamics
    if dynamics.singular_mass or (at := where_singular(dynamics, t, y)) is None:
        return False, None
    M, A = dense_mass(np.asarray(at.M)), rows_of(at.A)
    A = A.toarray() if hasattr(A, "toarray") else np.asarray(A)
    scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), np.max(np.diag(M))))
    length = np.linalg.norm(A / scale, axis=1, keepdims=True)
    rows = A / scale / np.where(length > 0, length, 1.0)
    # no constraint, however large its rows, compensates for a negative mass
    least = principal(M / np.outer(scale, scale) + rows.T @ rows)[0][0]
    # constraints hold a massless direction if √(M + AᵀA), scaled, has a larger eigenvalue along it
    held = np.sqrt(max(least, 0.0)) > ALL_BUT_ZERO
    return True, dataclasses.replace(flow, dynamics=augmented(model, dynamics)) if held else None


def why_ended(model: Model, code: int, start: State, end: State, params=None) -> str:
    """Return a sentence that states how a motion of a compiled program ended, and which constraints
    ended it, if its last state shows them.

    Args:
        model: the model; `params` are its parameters that differed.
        code: a `Result`.
        start, end: the first state, and the last that was kept.
    """
    result = Result(code)
    when = f"stopped at t = {float(end.t):.6g} s: "
    if not result.is_failure:
        return result.sentence if result is Result.SUCCESS else when + result.sentence
    detail, y = "", np.concatenate([np.asarray(end.q), np.asarray(end.v)])
    passive = model.dynamics(params)
    if result is Result.OUT_OF_RANGE and (
        beyond := beyond_range(passive, evaluate(passive, end), end)
    ):
        return when + beyond
    gone = result in (Result.SINGULAR_MASS, *CANNOT_STEP, Result.TOO_MANY_STEPS)
    # a model that is declared to have a singular mass matrix does not end for it
    if gone and not (passive.singular_mass and result is not Result.SINGULAR_MASS):
        # a fixed step may have passed the state, which then lies further ahead, by fractions of the
        # time
        at = where_singular(passive, float(end.t), y, (0.03, 0.1, 0.3))
        if at is not None and (found := massless(model, np.asarray(at.M))):
            how = "a negative mass" if found[1] else "no mass"
            cure = "or, if constraints determine its motion, use zw.Model(..., singular_mass=True)"
            return f"{when}{found[0]} has {how} there: give it a positive one, {cure}"
    if result in CANNOT_STEP and locked(passive, float(end.t), y):
        return f"{when}{Result.PARADOX.sentence}"
    # steps that shrink without end before such a row may reach the maximum number of steps first
    if result in {*NAMED, Result.TOO_MANY_STEPS, Result.STEP_TOO_SMALL} and np.all(np.isfinite(y)):
        dynamics = model.dynamics(params)
        state = host_state(np.asarray(end.q), np.asarray(end.v), float(end.t))
        gone = vanishing_rows(dynamics, evaluate(dynamics, state), state)
        if gone:
            return when + "; ".join(
                f"constraint {row_name(model, row)}: {why}" for row, why in gone.items()
            )
        if gone := shrunk(dynamics, start, state, MARGIN * SMALL_PART):
            return f"{when}{Result.VANISHING.sentence}: {gone}"
        scaled = dataclasses.replace(dynamics, scales=measure(dynamics, state))
        flow = ConstrainedVectorField(scaled, Projection(), on_device(1e-14))
        if result not in (Result.TOO_MANY_STEPS, Result.STEP_TOO_SMALL):
            result, detail = blocked(model, flow, float(end.t), y, 0.0)
        sigma = verdict_at(flow, float(end.t), y, 0.0).nearly_parallel
        if result is not Result.INCONSISTENT and sigma is not None:
            light = not dynamics.singular_mass and is_light(dynamics, evaluate(dynamics, state))
            by_rank = "pseudoinverse=zw.methods.CompleteOrthogonal()"
            cure = "zw.Model(..., singular_mass=True)" if light else by_rank
            rows = f"its rows are nearly parallel (singular value {sigma:.1e}): give {cure}"
            detail = f"{detail}; {rows}" if detail else rows
    return f"{when}{result.sentence}{f': {detail}' if detail else ''}"
