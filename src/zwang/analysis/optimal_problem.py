"""The arguments of an optimal control problem: end states, bounds, cost and initial guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.analysis.constrained_state import aligned, on_constraints, solve
from zwang.analysis.inputs import Inputs, chosen_outputs
from zwang.analysis.nonlinear_program import UNFINISHED, Optimum
from zwang.analysis.optimal_interval import Problem
from zwang.analysis.optimal_junction import Chain
from zwang.analysis.transcription import Goal
from zwang.compile.blocks import mapped
from zwang.dynamics import functions
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import function, known, real_array, shown
from zwang.inputs.text import counted
from zwang.inputs.tracing import outcome
from zwang.servo.actuation import AbstractActuated
from zwang.servo.feedback import Feedback
from zwang.simulation.differentiable import corrected
from zwang.thresholds import ACCEPTED_VIOLATION

COSTS: dict[str, Callable] = {
    "effort": lambda q, v, u, t, p: u @ u,
    "time": lambda q, v, u, t, p: jnp.ones(()),
}
"""Costs by name: ∫ uᵀu dt, and the duration."""
KINDS = {"state": "x", "control": "c", "force": "limited"}
"""Kinds of bounded quantities → their entry in `Bounds.limits`."""


class Bounds(NamedTuple):
    """The limited quantities.

    Attributes:
        limits: lowest and highest "x", "c" (one per actuator) and "limited".
        functions: (q, v, u, t, p) → numbers that are limited.
        rows: rows with limited multipliers.
        names: of all "limited" numbers.
    """

    limits: dict[str, tuple[np.ndarray, np.ndarray]]
    functions: tuple[Callable, ...]
    rows: tuple[int, ...]
    names: tuple[str, ...]


def span_of(duration: object) -> tuple[float, float]:
    """Least and greatest duration."""
    given = np.atleast_1d(real_array(duration, "optimal_control: duration"))
    if given.shape not in ((1,), (2,)) or not 0 < given[0] <= given[-1] < np.inf:
        raise ModelError(
            f"optimal_control: duration is {shown(duration)}, expected a positive number [s], or "
            "(least, most) where it is chosen, too."
        )
    return float(given[0]), float(given[-1])


def law_of(acting: Inputs, given: object) -> tuple[Feedback, int]:
    """The actuators as a law without a control function yet, and their number."""
    if acting.actuation is None or acting.directions is not None:
        raise ModelError(
            "optimal_control needs inputs= that are forces: a control law with actuators, names of "
            "velocities, or a matrix B of shape (nv, nu)."
        )
    nu = len(acting.names)
    zero = lambda q, v, t, p: jnp.zeros(nu)
    limits = given.limits if isinstance(given, AbstractActuated) else None
    law = Feedback(
        zero,
        acting.actuation,
        actuators=acting.names,
        actuator_units=acting.units,
        limits=limits,
    )
    return law, nu


def state_pair(given: object, model: Model, what: str, free: bool = False) -> tuple:
    """q and v of an end state."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ModelError(f"optimal_control: {what} is {shown(given)}, expected (q, v).")
    sizes = model.system.nq, model.system.nv
    found = tuple(
        np.asarray(real_array(x, f"optimal_control: {what} {name}"))
        for x, name in zip(given, "qv", strict=True)
    )
    for x, size, name in zip(found, sizes, "qv", strict=True):
        if x.shape != (size,) or (not free and np.any(np.isnan(x))):
            raise ModelError(
                f"optimal_control: {name} of the {what} has shape {x.shape}, expected ({size},)"
                f"{'' if free else ' without NaN'}."
            )
    return found


def refuse_off_constraints(
    model: Model, given: np.ndarray, found: State, what: str, otherwise: str = ""
) -> None:
    """Raise if an end state of the motion differs from its projection onto the constraints."""
    moved = np.max(np.abs(np.concatenate([found.q, found.v]) - given))
    if moved > ACCEPTED_VIOLATION * (1 + np.max(np.abs(given))):
        raise ModelError(
            f"optimal_control: the {what} is off the constraints of {model.name} by {moved:.2g}; "
            f"see zw.consistent_state(model, q, v){otherwise}."
        )


def end_of_motion(model: Model, dynamics: Dynamics, end: tuple, start: State, t: float) -> Goal:
    """The conditions on the last state, as independent rows along the constraints there."""
    wanted = np.concatenate(end)
    asked = ~np.isnan(wanted)
    q, v = (
        np.where(np.isnan(x), y, x)
        for x, y in zip(end, (np.asarray(start.q), 0 * np.asarray(start.v)), strict=True)
    )
    s = on_constraints(dynamics, q, v, t)
    if s is None:
        raise ModelError(
            f"optimal_control: no state on the constraints of {model.name} was found near the end; "
            "see zw.check(model, q, v)."
        )
    if np.all(asked):
        refuse_off_constraints(model, wanted, s, "end", ", or leave entries free by NaN")
    rows = aligned(Decomposition(free_directions(dynamics, s)[asked]).range).T
    held = np.zeros((len(rows), len(wanted)))
    held[:, asked] = rows
    x = np.where(asked, wanted, np.concatenate([np.asarray(s.q), np.asarray(s.v)]))
    return Goal(held, held @ x, x)


def free_directions(dynamics: Dynamics, s: State) -> np.ndarray:
    """A basis of the changes of q and v that the constraints leave free, columns of shape (nq +
    nv,).
    """
    nv = dynamics.system.nv
    N = np.asarray(functions.velocity_map(dynamics.system, s.q, s.t, dynamics.p))
    T = solve(dynamics, s).tangent.basis
    return np.vstack([N @ T[:nv], T[nv:]])


def bounds_of(model: Model, acting: Inputs, law: Feedback, bounds: Mapping) -> Bounds:
    """Bounds given by a user, and the limits of the actuators."""
    states = chosen_outputs(model, None)[1] or ()
    lowest = {"x": np.full(len(states), -np.inf), "c": np.full(len(acting.names), -np.inf)}
    highest = {k: -x for k, x in lowest.items()}
    if law.limits is not None:
        box = law.limits.box(len(acting.names), None, 0.0)
        lowest["c"], highest["c"] = (np.array(x) for x in box)
    places = _named(states, acting.names, model.constraints.row_slices)
    of_functions, of_rows, rows, called = [], [], [], []
    for name, given in bounds.items():
        ends = np.asarray(real_array(given, f"optimal_control: bounds[{shown(name)}]"))
        if ends.shape != (2,) or not ends[0] <= ends[1]:
            raise ModelError(
                f"optimal_control: bounds[{shown(name)}] is {shown(given)}, expected (least, most)."
            )
        if callable(name):
            size = _size(name, model, len(acting.names))
            of_functions.append((name, [f"{name.__name__}[{i}]" for i in range(size)], ends))
            continue
        several = [x for x in (f"{name} {kind}" for kind in KINDS) if x in places]
        if several and name not in places:
            raise ModelError(
                f"optimal_control: bounds name {name!r}, which stands for more than one thing; "
                f"write {' or '.join(map(repr, several))}."
            )
        known(name, places, "optimal_control: bounds: the model has no")
        which, place = places[name]
        if isinstance(place, slice):
            own = range(place.start, place.stop)
            rows += own
            called += [f"force of {name}"] * len(own)
            of_rows += [ends] * len(own)
        else:
            lowest[which][place], highest[which][place] = ends
    names = [x for _, own, _ in of_functions for x in own]
    ends = [e for _, own, e in of_functions for _ in own] + of_rows
    limited = np.array(ends).reshape(-1, 2)
    limits = {k: (lowest[k], highest[k]) for k in lowest} | {
        "limited": (limited[:, 0], limited[:, 1])
    }
    functions_ = tuple(f for f, _, _ in of_functions)
    return Bounds(limits, functions_, tuple(rows), (*names, *called))


def _named(
    states: Sequence[str], controls: Sequence[str], constraints: Mapping[str, slice]
) -> dict[str, tuple[str, int | slice]]:
    """The quantity and the index that each name of a bound refers to; an ambiguous name must state
    its kind.
    """
    in_order = lambda names: {name: i for i, name in enumerate(names)}
    groups = in_order(states), in_order(controls), constraints
    counted = Counter(name for places in groups for name in places)
    return {
        name if counted[name] == 1 else f"{name} {kind}": (which, place)
        for (kind, which), places in zip(KINDS.items(), groups, strict=True)
        for name, place in places.items()
    }


def _size(f: Callable, model: Model, nu: int) -> int:
    q, v, u = (jnp.zeros(n) for n in (model.system.nq, model.system.nv, nu))
    found = outcome(
        f, "bounds: function(q, v, u, t, p)", q, v, u, jnp.zeros(()), model.parameters()
    )
    return int(np.prod(found.shape))


def checked_cost(cost: object, model: Model, nu: int) -> Callable:
    """The integrand."""
    if isinstance(cost, str):
        return COSTS[known(cost, COSTS, "optimal_control: cost is")]
    f = function(cost, "optimal_control: cost", "(q, v, u, t, p) → a number")
    if (size := _size(f, model, nu)) != 1:
        raise ModelError(f"optimal_control: cost returns {size} numbers, expected one.")
    return f


class Guess(NamedTuple):
    """The initial guess of a phase: its grid, states at the nodes, coefficients of the control,
    duration and initial time [s].
    """

    tau: np.ndarray
    x: np.ndarray
    c: np.ndarray
    T: float
    begin: float


def waypoints(
    problems: Sequence[Problem],
    tau: np.ndarray,
    given: Sequence,
    ends: tuple[np.ndarray, np.ndarray],
    durations: np.ndarray,
    t0: float,
    nu: int,
) -> list[Guess]:
    """Initial guesses of the phases: states along waypoints, projected onto the constraints,
    without control.

    Args:
        problems: the problems of the phases.
        tau: ends of the intervals as fractions of the duration.
        given: coordinates along each phase; None for a straight line.
        ends: the first and the last state.
        durations, t0: durations of the phases, and initial time of the first one [s].
        nu: number of actuators.
    """
    nq = problems[0].flow.dynamics.system.nq
    points = [None if x is None else _checked_guess(x, nq) for x in given]
    begins = t0 + np.concatenate([[0.0], np.cumsum(durations)])
    share = (begins - t0) / (begins[-1] - t0)
    corners = ends[0][:nq] + share[:, None] * (ends[1] - ends[0])[:nq]
    # a waypoint at a junction is used for both phases
    for k, own in enumerate(points):
        if own is not None:
            corners[k], corners[k + 1] = own[0], own[-1]
    found = []
    for k, (of, own) in enumerate(zip(problems, points, strict=True)):
        own = corners[k : k + 2] if own is None else own
        at = np.linspace(0.0, 1.0, len(own))
        q = np.stack([np.interp(tau, at, x) for x in own.T], axis=1)
        t = begins[k] + tau * durations[k]
        x = np.array(mapped(_near, (of.flow.dynamics,), q, np.gradient(q, t, axis=0), t))
        if not k:
            x[0] = ends[0]
        if k == len(problems) - 1:
            x[-1] = ends[1]
        if not np.all(np.isfinite(x)):
            raise ModelError(
                "optimal_control: the straight line from start to end cannot be moved onto the "
                "constraints; give guess=, coordinates along the motion."
            )
        c = np.zeros((len(tau) - 1, of.degree + 1, nu))
        found.append(Guess(tau, x, c, float(durations[k]), float(begins[k])))
    return found


def _checked_guess(given: object, nq: int) -> np.ndarray:
    points = np.asarray(real_array(given, "optimal_control: guess"))
    if points.ndim != 2 or points.shape[1] != nq or len(points) < 2:
        raise ModelError(
            f"optimal_control: guess has shape {points.shape}, expected (any, {nq}): "
            "coordinates along the motion, from the start to the end."
        )
    if not np.all(np.isfinite(points)):
        row = int(np.argmin(np.all(np.isfinite(points), axis=1)))
        raise ModelError(
            f"optimal_control: guess[{row}] is {points[row]}, expected finite numbers."
        )
    return points


def _near(dynamics: Dynamics, q, rate, t):
    """The state on the constraints near given coordinates and their rate."""
    v = functions.as_velocity(dynamics.system, q, t, dynamics.p, rate)
    # corrections bring a guessed node near the constraints; it need not satisfy them exactly
    s = jax.lax.fori_loop(0, 20, lambda _, s: corrected(dynamics, s), State(q, v, t))
    return jnp.concatenate([s.q, s.v])


def refuse_infeasible(
    chain: Chain, found: Optimum, names: Sequence[tuple[str, ...]], states: list[str]
) -> None:
    """Raise if no motion was found, naming the constraint that is violated most.

    Args:
        chain, found: the program and the result of the solver.
        names: of the limited quantities in each phase (`Schedule.named`).
        states: names of q and v.
    """
    if found.found or found.status in UNFINISHED:
        return
    off, first = chain.program().missed(found.w), chain.grids[0]
    speed = found.w[first.x_at[0]][first.problem.flow.dynamics.system.nq :]
    why = (
        " The start is a singular configuration at rest, from which more than one motion leads: "
        "start slightly off it, or with a velocity."
        if first.singular[0] and not np.any(speed)
        else ""
    )
    what = chain.described(int(np.argmax(off)), names, states)
    raise ModelError(
        "optimal_control: no motion from start to end within the bounds was found "
        f"({found.status} after {counted(len(found.history), 'iteration')}); the largest "
        f"violation is that of {what}, {np.max(off):.2g}. Allow a longer duration or wider "
        f"bounds, or give another guess=.{why}"
    )
