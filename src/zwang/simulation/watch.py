"""Checks of every step of a run: constraints that begin to contradict each other end it, and rows
that are nearly parallel get a method with a rank decision.

For every step the loop records the residual of `A v̇ = b` at its first stage, which satisfies the
constraints. For ordinary rows it is round-off. Where it is larger, the host examines the state.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.pseudoinverse import CompleteOrthogonal, Proximal
from zwang.dynamics.consistency import Verdict, judge
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.motion import contradiction
from zwang.dynamics.scales import measure
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import host_state
from zwang.errors import Result
from zwang.inputs.arrays import on_device
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.simulation.results.observe import refuse_missed
from zwang.thresholds import AGREEMENT, RESOLVED, ROUND_OFF

LOOKS = 24
"""Maximum number of states of a chunk that are examined, the first and the worst among them."""


class ConstraintWatch(AbstractMonitor):
    """Examines the suspicious steps of a chunk. It ends a run whose constraints contradict each
    other, and repeats steps with a rank-deciding method if their rows are nearly parallel.

    Args:
        changeable: whether the method for A⊕ may be changed along the run.

    Attributes:
        persistent: fraction of suspicious steps of a chunk above which the method is changed.
            Crossing a singular configuration makes a few steps suspicious, and `Proximal` crosses
            it well.
    """

    persistent = 0.5

    def __init__(self, changeable: bool):
        self.changeable = changeable

    def inspect(self, run: RunState, chunk: Chunk) -> bool:
        sigma = _smallest_sigma(run, chunk, self.persistent)
        dynamics = run.flow.dynamics
        # a method that the user has chosen is never replaced
        changeable = self.changeable and type(dynamics.pseudoinverse) is Proximal
        if sigma is None or not changeable:
            return False
        when = f"from t = {float(chunk.before.t[-1]):.6g} s on"
        dynamics, sentence = decisive(dynamics, sigma, when)
        run.flow = dataclasses.replace(run.flow, dynamics=dynamics)
        run.changes.append(sentence)
        return True


class MethodWatch(AbstractMonitor):
    """Refuses states for which the methods of a run are not valid, but which its start did not
    show: the sparsity of its rows, the integrator.
    """

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        t, y, start = chunk.steps.t, chunk.steps.y, run.start
        assert start is not None
        refuse_missed(run.flow, t, y)
        run.integrator.watch(run.flow, np.append(start.t[0], t), np.vstack([start.y[:1], y]))
        return result


class ScaleWatch(AbstractMonitor):
    """Measures the scales of a run again where no step is accepted: they may be those of a singular
    configuration that the motion has left.

    Attributes:
        smaller: smallest factor by which the mechanism must have appeared smaller when the scales
            were measured.
    """

    smaller = 2.0

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        if result is not Result.NOT_CONVERGED:
            return result
        flow = remeasured(run.flow, run.t, run.y, self.smaller)
        if flow is run.flow:
            return result
        run.flow = flow
        run.restart(run.first_step)
        return Result.SUCCESS


def _smallest_sigma(run: RunState, chunk: Chunk, part: float) -> float | None:
    """Return the smallest singular value of rows that stayed nearly parallel along this part of a
    chunk, or None.

    Raises:
        MotionEndError: if constraints contradict each other within it.
    """
    steps, before = chunk.steps, chunk.before
    suspicious = np.flatnonzero(~(steps.residual <= RESOLVED))
    smallest = np.inf
    for i in _worth_a_look(suspicious, steps.residual):
        # the residual belongs to the state at which the step began: the end of the step before
        source = (steps, i - 1) if i else (before, len(before.t) - 1)
        t, y = source[0].t[source[1]], source[0].y[source[1]]
        if not np.all(np.isfinite(y)):
            continue
        held = run.flow.with_input(on_device(steps.applied[i]))
        verdict = verdict_at(held, t, y, source[0].violation[source[1]])
        if not np.isfinite(verdict.residual):
            continue  # the next step ends the run and names the function
        if not verdict.consistent:
            if np.any(np.asarray(run.here.fired)) and (lost := _lost_rank(verdict)):
                run.end_within(chunk, int(i), Result.SINGULAR_STOP, lost)
            named = contradiction(run.model, verdict.misses)
            detail = f"{named} (allowed {verdict.allowed:.0e})"
            run.end_within(chunk, int(i), Result.INCONSISTENT, detail)
        if (sigma := verdict.nearly_parallel) is not None:
            smallest = min(smallest, sigma)
    persistent = len(suspicious) > part * len(steps.t)
    return smallest if persistent and np.isfinite(smallest) else None


def _lost_rank(verdict: Verdict) -> str:
    """Return the singular value of rows that are dependent only here, in words; "" if all dependent
    rows are so up to round-off.
    """
    values = np.zeros(0) if verdict.rows is None else verdict.rows.split.singular_values
    lost = values[(values > ROUND_OFF) & (values < AGREEMENT)]
    return f"singular value {np.min(lost):.1e}" if len(lost) else ""


def _worth_a_look(suspicious: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Return at most `LOOKS` of them in order, the first and the worst among them."""
    if len(suspicious) <= LOOKS:
        return suspicious
    spread = suspicious[np.linspace(0, len(suspicious) - 1, LOOKS - 4).astype(int)]
    worst = suspicious[np.argsort(-residual[suspicious])[:4]]
    return np.unique(np.concatenate([spread, worst]))


def verdict_at(flow: ConstrainedVectorField, t: float, y: np.ndarray, violation: float) -> Verdict:
    """Return the verdict on the constraints at a state of a run, with the term that the drift
    treatment adds to b.
    """
    dynamics = flow.dynamics
    assert dynamics.scales is not None
    q, v = y[: dynamics.system.nq], y[dynamics.system.nq :]
    state = host_state(q, v, t)
    at, added = evaluate(dynamics, state, flow.drift), flow.drift.stabilization
    term = 0.0
    if added is not None:
        term = np.asarray(added.term_of(dynamics.constraints, at.phi, at.psi))
    return judge(dynamics, at, state, dynamics.scales, violation, term)


def suited(dynamics: Dynamics, verdict: Verdict) -> tuple[Dynamics, str]:
    """Return the dynamics with a method for A⊕ that suits its rows, and a sentence about the
    change; unchanged for ordinary rows.
    """
    sigma = verdict.nearly_parallel
    by_sweeps = type(dynamics.pseudoinverse) is Proximal and not dynamics.structure.sparse
    if sigma is None or not by_sweeps:
        return dynamics, ""
    return decisive(dynamics, sigma, "at the start")


def decisive(dynamics: Dynamics, sigma: float, when: str) -> tuple[Dynamics, str]:
    """Return the dynamics with a method that decides on a rank instead of damping small singular
    values, and a sentence about the change.
    """
    sentence = (
        f"rows of the constraints are nearly parallel {when} (singular value {sigma:.1e}): "
        "zw.methods.CompleteOrthogonal() takes the place of zw.methods.Proximal()"
    )
    return by_rank(dynamics), sentence


def by_rank(dynamics: Dynamics) -> Dynamics:
    """Return the dynamics with a method for A⊕ that decides on a rank."""
    return dataclasses.replace(dynamics, pseudoinverse=CompleteOrthogonal())


def remeasured(
    flow: ConstrainedVectorField, t: float, y: np.ndarray, smaller: float
) -> ConstrainedVectorField:
    """Return the flow with the scales of the present state if the mechanism appeared smaller by
    that factor before. Next to a singular configuration, a row that almost vanishes makes a
    mechanism appear tiny, and the round-off of φ an error of its own size. Nothing is compiled.
    """
    dynamics = flow.dynamics
    before = dynamics.scales
    assert before is not None
    nq = dynamics.system.nq
    scales = measure(dynamics, host_state(y[:nq], y[nq:], t))
    if not float(before.inverse_length) > smaller * float(scales.inverse_length) > 0:
        return flow
    return dataclasses.replace(flow, dynamics=dataclasses.replace(dynamics, scales=scales))
