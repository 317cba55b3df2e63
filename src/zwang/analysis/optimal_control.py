"""`zw.analysis.optimal_control`: the cheapest motion between two states that stays on the
constraints, and its control.

    minimize ∫ L(q, v, u, t) dt + E(q, v, t) at the end
    subject to M v̇ = F + Q_c + B u, φ = 0, ψ = 0,
    and limits of q, v, u, constraint forces, duration

Intervals are divided until the error of a step over each is below `rtol`; each program begins with
the solution of the one before.

Source: Bock and Plitt (1984), A multiple shooting algorithm for direct solution of optimal control
    problems, IFAC Proceedings 17, 1603-1608; constraints between nodes: Bordalba, Schoels, Ros,
    Porta and Diehl (2023), Direct collocation methods for trajectory optimization in constrained
    robotic systems, IEEE Transactions on Robotics 39, 183-202, arXiv:2304.12908.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.analysis.constrained_state import dynamics_of, placed
from zwang.analysis.inputs import chosen_inputs
from zwang.analysis.nonlinear_program import solved
from zwang.analysis.optimal_interval import Problem
from zwang.analysis.optimal_motion import OptimalMotion, optimal_motion
from zwang.analysis.optimal_problem import (
    bounds_of,
    checked_cost,
    end_of_motion,
    law_of,
    refuse_infeasible,
    span_of,
    state_pair,
    waypoints,
)
from zwang.analysis.transcription import Transcription
from zwang.dynamics.drift import Projection
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.dynamics.scales import measure
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.inputs.arguments import count, flag, host_only, number, optional_function
from zwang.objects.record import replace
from zwang.simulation.differentiable import Differentiable
from zwang.simulation.switching import refuse_switches
from zwang.thresholds import AGREEMENT, DEFAULT_RTOL, ROUND_OFF


@host_only("choose the motion before, with the numbers of one problem")
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
    params: PyTree = None,
) -> OptimalMotion:
    """The cheapest motion from one state to another that stays on the constraints.

        minimize ∫ cost dt + end_cost,  M v̇ = F + Q_c + B u,  φ = 0, ψ = 0,  within bounds

    Args:
        model: the model.
        start: (q, v), on the constraints.
        end: (q, v); an entry that is NaN is free.
        duration: of the motion [s], or (least, most) where it is chosen, too.
        inputs: what is controlled: a control law whose actuators are meant (the model's by
            default), names of velocities, or a matrix B of shape (nv, nu).
        cost: (q, v, u, t, p) → what is integrated over time, "effort" (uᵀu) or "time".
        end_cost: (q, v, t, p) → what is added for the last state.
        bounds: {name: (least, most)} of coordinates, velocities, actuators, and constraints, whose
            multipliers are meant; a velocity that has a coordinate's name is written "x rate", and
            a name of two things "x state", "x control" or "x force". In place of a name a function
            (q, v, u, t, p) → numbers. Those of controls hold at every instant, the others at the
            nodes.
        intervals: number to begin with.
        degree: of the control as a polynomial over an interval.
        jumps: whether the control may jump between intervals, as bang-bang controls do.
        guess: coordinates between start and end, both included, shape (any, nq), evenly spaced
            in time; or an `OptimalMotion`.
        t0: when the motion begins [s].
        rtol: error of the step over an interval beside the state, above which it is divided.
        tolerance: of the conditions of optimality, scaled.
        max_iterations: of the solver, on each grid.
        params: parameters that differ from the model's.

    Returns:
        An `OptimalMotion`: `.t`, `.q`, `.v`, `.u`, `.cost`, `.model`, `.feedback()`. After Ctrl-C,
        or more iterations than allowed, the motion reached so far, and `.sentence` says so.

    Raises:
        ModelError: for a wrong argument, where CasADi is not installed, and where no motion is
            found, with what is missed.

    Example:
        >>> limits = {"u0": (-5, 5)}
        >>> found = zw.analysis.optimal_control(model, (q0, v0), (q1, v1), 2.0, bounds=limits)
        >>> run = zw.simulate(found.model, found.q[0], found.v[0], duration=2.0)
    """
    refuse_switches(model, "optimal control")
    refuse_letting_go(model)
    t0, rtol = number(t0, "optimal_control: t0"), number(rtol, "optimal_control: rtol", above=0.0)
    least, most = span_of(duration)
    acting = chosen_inputs(model, params, model.servo if inputs is None else inputs)
    law, nu = law_of(acting, model.servo if inputs is None else inputs)
    degree = count(degree, "optimal_control: degree", most=9)
    passive = acting.model.with_params(params)
    dense, middle = dynamics_of(passive, None), 0.5 * (least + most)
    q, v = state_pair(start, passive, "start")
    s = placed(passive, dense, q, v, t0, "optimal_control: start")
    goal = end_of_motion(passive, dense, state_pair(end, passive, "end", True), s, t0 + middle)
    box = bounds_of(passive, acting, law, bounds or {})
    dynamics = passive.dynamics()
    dynamics = replace(dynamics, scales=measure(dynamics, s, middle))
    # corrections after a step; each squares the violation, and steps over an interval are long
    drift = Differentiable(Projection(), 3)
    last = optional_function(end_cost, "optimal_control: end_cost", "(q, v, t, p) → a number")
    of = Problem(
        ConstrainedVectorField(dynamics, drift, jnp.asarray(ROUND_OFF)),
        law,
        checked_cost(cost, passive, nu),
        _nothing if last is None else last,
        box.functions,
        jnp.asarray(t0),
        box.rows,
        degree,
    )
    joined = not flag(jumps, "optimal_control: jumps") and degree > 0
    tau = np.linspace(0.0, 1.0, count(intervals, "optimal_control: intervals", least=1) + 1)
    limits = {**box.limits, "T": (np.array(least), np.array(most))}
    ends = np.concatenate([np.asarray(s.q), np.asarray(s.v)]), goal.x
    if known := isinstance(guess, OptimalMotion):
        (tau, x, c), middle = guess.as_guess(degree), min(max(guess.duration, least), most)
    else:
        x = waypoints(of, tau, guess, ends, middle)
        c = np.zeros((len(tau) - 1, degree + 1, nu))
    grid = Transcription(of, tau, ends[0], goal, limits, joined)
    w, history, near = grid.packed(x, c, middle), [], known
    options = {"tolerance": number(tolerance, "optimal_control: tolerance", above=0.0)}
    most_iterations = count(max_iterations, "optimal_control: max_iterations", least=1)
    while True:
        found = solved(grid.program(), w, near=near, most_iterations=most_iterations, **options)
        history.append(found.history)
        parts = np.where(grid.evaluated(found.w)[2] > rtol, 2, 1)
        if not found.found or np.all(parts == 1) or np.sum(parts) > 1000:
            break
        (grid, w), near = grid.divided(found.w, parts), True
    system = passive.system
    states = [*system.coordinates, *(f"{y} rate" for y in system.velocities)]
    refuse_infeasible(grid, found, box.names, states)
    return optimal_motion(passive, grid, found, np.concatenate(history))


def _nothing(q, v, t, p):
    return jnp.zeros(())
