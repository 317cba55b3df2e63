"""`zw.analysis.optimal_control`: the motion of least cost between two states on the constraints,
and its control.

    minimize ∫ L(q, v, u, t) dt + E(q, v, t) at the end
    subject to M v̇ = F + Q_c + B u, φ = 0, ψ = 0,
    and limits of q, v, u, constraint forces, duration

Intervals are divided until the error of a step over each is below `rtol`; each program starts from
the solution of the previous one.

Source: Bock and Plitt (1984), A multiple shooting algorithm for direct solution of optimal control
    problems, IFAC Proceedings 17, 1603-1608; constraints between nodes: Bordalba, Schoels, Ros,
    Porta and Diehl (2023), Direct collocation methods for trajectory optimization in constrained
    robotic systems, IEEE Transactions on Robotics 39, 183-202, arXiv:2304.12908.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import PyTree

from zwang.analysis.constrained_state import placed
from zwang.analysis.inputs import chosen_inputs
from zwang.analysis.nonlinear_program import UNFINISHED, Optimum, solved
from zwang.analysis.optimal_interval import Problem
from zwang.analysis.optimal_junction import Chain, followed
from zwang.analysis.optimal_motion import OptimalMotion, optimal_motion
from zwang.analysis.optimal_phase import Schedule, schedule_of
from zwang.analysis.optimal_problem import (
    Guess,
    bounds_of,
    checked_cost,
    end_of_motion,
    free_directions,
    law_of,
    refuse_infeasible,
    refuse_off_constraints,
    span_of,
    state_pair,
    waypoints,
)
from zwang.analysis.transcription import Goal, Transcription
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.inputs.arguments import (
    count,
    flag,
    host_only,
    instance,
    number,
    optional_function,
)
from zwang.simulation.switching import Switch
from zwang.thresholds import AGREEMENT, DEFAULT_RTOL


@host_only("call it outside of them, with the numbers of one problem")
def optimal_control(
    model: Model,
    start,
    end,
    duration,
    *,
    inputs: object = None,
    cost: Callable | str = "effort",
    end_cost: Callable | None = None,
    bounds: Mapping | None = None,
    intervals: int = 20,
    degree: int = 1,
    jumps: bool = False,
    guess: object = None,
    t0: float = 0.0,
    rtol: float = DEFAULT_RTOL,
    tolerance: float = AGREEMENT,
    max_iterations: int = 1000,
    switches: Sequence[Switch] | None = None,
    params: PyTree = None,
) -> OptimalMotion:
    """The motion of least cost from one state to another on the constraints.

        minimize ∫ cost dt + end_cost,  M v̇ = F + Q_c + B u,  φ = 0, ψ = 0,  within bounds

    Args:
        model: the model.
        start: (q, v), on the constraints.
        end: (q, v); an entry that is NaN is free.
        duration: of the motion [s], or (least, most) if it is optimized as well; or a list of
            `zw.analysis.Phase` if gaps and switched constraints change along the motion.
        inputs: the controls: a control law for its actuators (the model's by default), names of
            velocities, or a matrix B of shape (nv, nu).
        cost: (q, v, u, t, p) → the integrand of the cost; or "effort" (uᵀu) or "time".
        end_cost: (q, v, t, p) → a cost of the last state.
        bounds: {name: (least, most)} of coordinates, velocities, actuators, and multipliers of
            constraints. A velocity with the name of a coordinate is written "x rate", and an
            ambiguous name "x state", "x control" or "x force". A function (q, v, u, t, p) → numbers
            may replace a name. Bounds of controls hold at every instant, the others at the nodes.
        intervals: initial number of intervals.
        degree: of the control as a polynomial over an interval.
        jumps: True if the control may jump between intervals, as bang-bang controls do.
        guess: coordinates from start to end, both included, shape (any, nq), evenly spaced in time;
            or an `OptimalMotion` with the same number of phases.
        t0: initial time [s].
        rtol: error of the step over an interval, relative to the state, above which the interval is
            divided.
        tolerance: of the scaled optimality conditions.
        max_iterations: largest number of iterations of the solver on each grid.
        switches: switched constraints with their conditions or times, as in `zw.simulate`, for
            phases; by default those of the model.
        params: parameters that differ from the model's.

    Returns:
        An `OptimalMotion`: `.t`, `.q`, `.v`, `.u`, `.cost`, `.model`, `.feedback()`. After Ctrl-C,
        or after `max_iterations`, it is the motion reached so far, and `.sentence` states this.

    Raises:
        ModelError: for a wrong argument, if CasADi is not installed, and if no motion is found,
            with the constraint that is violated most.

    Example:
        >>> limits = {"u0": (-5, 5)}
        >>> found = zw.analysis.optimal_control(model, (q0, v0), (q1, v1), 2.0, bounds=limits)
        >>> run = zw.simulate(found.model, found.q[0], found.v[0], duration=2.0)
    """
    instance(bounds or {}, Mapping, "optimal_control: bounds", '{"x": (0.0, 1.0)}')
    t0, rtol = number(t0, "optimal_control: t0"), number(rtol, "optimal_control: rtol", above=0.0)
    given = model.servo if inputs is None else inputs
    acting = chosen_inputs(model, params, given)
    law, nu = law_of(acting, given)
    passive = acting.model.with_params(params)
    known = guess if isinstance(guess, OptimalMotion) else None
    schedule = schedule_of(model, passive, duration, switches, guess if known is None else None)
    spans = np.array([span_of(x.duration) for x in schedule.phases])
    middle = 0.5 * float(np.sum(spans))
    dense = [schedule.dense(k) for k in range(len(spans))]
    q, v = state_pair(start, passive, "start")
    s = placed(passive, dense[0], q, v, t0, "optimal_control: start")
    refuse_off_constraints(passive, np.concatenate([q, v]), s, "start")
    goal = end_of_motion(passive, dense[-1], state_pair(end, passive, "end", True), s, t0 + middle)
    last = optional_function(end_cost, "optimal_control: end_cost", "(q, v, t, p) → a number")
    base = schedule.motion(s, middle)
    all_bounds = [{**(bounds or {}), **(x.bounds or {})} for x in schedule.phases]
    boxes = [bounds_of(passive, acting, law, x) for x in all_bounds]
    problems = [
        Problem(
            schedule.flow(base, schedule.holds[k]),
            law,
            checked_cost(cost, passive, nu),
            _nothing if last is None else last,
            (*box.functions, *schedule.room),
            schedule.watched,
            jnp.asarray(float(k == len(boxes) - 1)),
            (*box.rows, *schedule.gaps.tolist()),
            count(degree, "optimal_control: degree", most=9),
        )
        for k, box in enumerate(boxes)
    ]
    joined = not flag(jumps, "optimal_control: jumps") and degree > 0
    tau = np.linspace(0.0, 1.0, count(intervals, "optimal_control: intervals", least=1) + 1)
    ends = np.concatenate([np.asarray(s.q), np.asarray(s.v)]), goal.x
    if known is None:
        points = [x.guess for x in schedule.phases]
        begun = waypoints(problems, tau, points, ends, np.mean(spans, axis=1), t0, nu)
    else:
        begun = known.as_guess(degree, spans)
    limits = [
        {**schedule.limits(box, k), "T": spans[k], "begin": (t0, np.inf if k else t0)}
        for k, box in enumerate(boxes)
    ]
    chain, w = _chained(schedule, problems, limits, (ends[0], goal), begun, base, joined)
    options = {"tolerance": number(tolerance, "optimal_control: tolerance", above=0.0)}
    options["most_iterations"] = count(max_iterations, "optimal_control: max_iterations", least=1)
    chain, found, history = _refined(chain, w, known is not None, rtol, options)
    system = passive.system
    states = [*system.coordinates, *(f"{y} rate" for y in system.velocities)]
    refuse_infeasible(chain, found, [schedule.named(box) for box in boxes], states)
    return optimal_motion(schedule, chain, found, history)


def _refined(
    chain: Chain, w: np.ndarray, near: bool, rtol: float, options: Mapping
) -> tuple[Chain, Optimum, np.ndarray]:
    """The grid on which steps are within rtol, its solution, and the history of all iterations.

    Args:
        chain, w: the initial grid and point.
        near: True if this is near a solution.
        rtol: error of a step above which its interval is divided.
        options: options of `solved`.
    """
    chain, history = chain.crossing(w) or chain, []
    while True:
        found = solved(chain.program(), w, near=near, **options)
        history.append(found.history)
        if found.found:
            if (divided := chain.divided(found.w, rtol)) is None:
                break
            (chain, w), near = divided, True
            chain = chain.crossing(w) or chain
        elif found.status in UNFINISHED or (crossing := chain.crossing(found.w)) is None:
            break
        else:
            chain = crossing
    return chain, found, np.concatenate(history)


def _chained(
    schedule: Schedule,
    problems: Sequence[Problem],
    limits: Sequence[dict],
    ends: tuple[np.ndarray, Goal],
    begun: Sequence[Guess],
    base: ConstrainedVectorField,
    joined: bool,
) -> tuple[Chain, np.ndarray]:
    """The phases as one nonlinear program, and its initial point."""
    grids, junctions, asked, (start, goal) = [], [], [], ends
    final = len(problems) - 1
    for k, (of, own, at) in enumerate(zip(problems, limits, begun, strict=True)):
        wanted = goal if k == final else Goal.nothing(at.x[-1])
        grids.append(Transcription(of, at.tau, None if k else start, wanted, own, joined))
        if k == final and schedule.phases[k].end is None:
            continue
        junctions.append(schedule.junction(k, of, base))
        s = of.flow.state(jnp.asarray(at.begin + at.T), jnp.asarray(at.x[-1]))
        y = np.concatenate([at.x[-1], at.c[-1, -1], [at.T, at.begin]])
        # directions that the constraints of the phase leave free, all controls, and times
        rest = np.eye(len(y) - len(at.x[-1]))
        along = scipy.linalg.block_diag(free_directions(schedule.dense(k), s), rest)
        asked.append(followed(junctions[-1], y, np.asarray(along)))
    w = [g.packed(at.x, at.c, at.T, at.begin) for g, at in zip(grids, begun, strict=True)]
    return Chain(grids, junctions, asked), np.concatenate(w)


def _nothing(q, v, t, p):
    return jnp.zeros(())
