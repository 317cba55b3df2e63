"""Searches for a balance of forces: descent to a minimum of the potential, or to a zero nearby."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import jax
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import principal
from zwang.analysis.balance_problem import Point, Problem
from zwang.analysis.constrained_state import dynamics_of, placed, refuse_friction, solve
from zwang.analysis.inputs import Inputs, chosen_inputs
from zwang.analysis.local_equations import Local, local, moved
from zwang.analysis.symmetry import Symmetries, symmetries
from zwang.dynamics.model import Model
from zwang.equations.constraint import Constraints
from zwang.equations.state import host_state
from zwang.errors import ModelError
from zwang.inputs.arguments import known, labels
from zwang.inputs.arrays import vector
from zwang.remedy import Remedy, advice
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, CONVERGED, DERIVED, LAST_DIGIT, ROUND_OFF

SEARCH_STEPS = 200
"""Largest number of steps of a search."""
BESIDE = 4
"""Number of random states near an equilibrium from which the sensitivity of its constraints is
estimated.
"""


def has_potential(at: Point) -> bool:
    """True if the stiffness is symmetric, as that of a potential is."""
    K = at.stiffness
    # the antisymmetric part of the stiffness is at most round-off if forces have a potential
    return K.shape[0] == K.shape[1] and bool(
        np.linalg.norm(K - K.T) <= DERIVED * max(np.linalg.norm(K), 1e-300)
    )


def nearest(problem: Problem, at: Point, free: Iterable[str]) -> Point:
    """Newton steps of least norm in the free unknowns, each shortened until the residual decreases.

    Args:
        free: those of "y", "gamma" and "mu" that may change.
    """
    for _ in range(SEARCH_STEPS):
        r, J = problem.residual(at), problem.jacobian(at)
        # a singular configuration has more directions y than its neighbors
        sizes = [at.Y.shape[1], len(at.gamma), len(at.mu)]
        changes = np.repeat([x in free for x in ("y", "gamma", "mu")], sizes)
        size = float(np.linalg.norm(r))
        # no step reduces an unbalanced force of this size further
        if size < LAST_DIGIT:
            return at
        step = np.zeros(J.shape[1])
        step[changes] = -Decomposition(J[:, changes]).solve(r)
        step *= problem.longest(at, step)
        shorter = lambda trial, _, size=size: np.linalg.norm(problem.residual(trial)) < size
        better = _halved(problem, at, step, shorter, 12)
        if better is None:
            return at
        at, before = better, size
        if np.linalg.norm(problem.residual(at)) > 0.5 * before and size < CONVERGED:
            return at
    return at


def _halved(problem: Problem, at: Point, step, is_good: Callable, halvings: int) -> Point | None:
    """The end of the first halved step that satisfies `is_good`; None if none does."""
    for _ in range(halvings):
        trial = problem.moved(at, step)
        if trial is not None and is_good(trial, step):
            return trial
        step = 0.5 * step
    return None


def minimum(problem: Problem, at: Point) -> Point:
    """Descend by Newton's method with the absolute values of the curvatures, so that the forces do
    positive work on every step; leave a saddle in its direction of steepest descent.

    The potential itself is not needed: a step is accepted if the mean of the forces before and
    after does positive work on it.
    """
    for _ in range(SEARCH_STEPS):
        push, K = -at.gradient, at.stiffness
        curvature, U = principal(K)
        scale = np.max(np.abs(curvature), initial=0.0)
        small = np.linalg.norm(push) <= CONVERGED * problem.scale
        if small and (not scale or curvature[0] > -AGREEMENT * scale):
            return nearest(problem, at, ("y", "gamma", "mu"))
        if small:  # balanced at a saddle
            step = U[:, 0] / max(np.max(np.abs(at.local.N @ at.Y @ U[:, 0])), 1e-300)
            at = problem.moved(at, 0.05 * step) or at
            continue
        step = U @ ((U.T @ push) / np.maximum(np.abs(curvature), ALL_BUT_ZERO * scale or 1.0))
        step *= problem.longest(at, step)
        descends = lambda trial, step, at=at: _descends(problem, at, trial, step)
        trial = _halved(problem, at, step, descends, 25)
        if trial is None:
            return at
        at = trial
    return at


def _descends(problem: Problem, at: Point, trial: Point, step: np.ndarray) -> bool:
    """True if the forces do positive work on a step, by the trapezoidal rule, or are almost
    balanced after it.
    """
    along = at.Y @ step
    arrived = trial.Y.T @ (trial.metric @ along)
    first = -at.gradient @ step
    work = 0.5 * (first - trial.gradient @ arrived)
    left, before = np.linalg.norm(trial.gradient), np.linalg.norm(at.gradient)
    balanced = left < AGREEMENT * problem.scale or (left < 0.5 * before and work > 0)
    return bool(work > 0.1 * first or balanced)


# --- start of a search, and checks of its result


def started(model: Model, q, v, t, params, hold, acting: Inputs) -> tuple[Problem, Point]:
    """The equations, and the guess projected onto the constraints."""
    dynamics = dynamics_of(model, params)
    v = None if v is None else vector(v, model.system.nv, "v", model.system.velocities)
    steady = v is not None and bool(np.any(np.asarray(v)))
    state = placed(model, dynamics, q, v if steady else None, t, "equilibrium")
    refuse_friction(model, dynamics, state)
    found, rates = None, np.zeros(0)
    if steady:
        here = solve(dynamics, state)
        # a steady motion moves along symmetries: all quantities in the equations stay constant
        found = symmetries(dynamics, here)
        rates = _rates(model, here, found)
    problem = Problem(dynamics, float(t), found, acting, *_held(model, state, hold))
    start = problem.at(state.q, rates, acting.nominal)
    if start is None:
        raise ModelError(
            f"{model.name}: forces or constraints are NaN or infinite at the given q; start "
            "elsewhere."
        )
    return problem.scaled(start), start


def balanced_start(model: Model, q, v, t, params, hold, over: str) -> tuple[Problem, Point]:
    """The equations with one additional unknown, a parameter or a velocity by name, and the balance
    nearest to a guess, at the present value of this unknown.
    """
    own = model.params if isinstance(model.params, dict) else {}
    velocities = model.system.velocities
    known(over, [*map(str, own), *velocities], f"over: {model.name} has no parameter or velocity")
    if over in own:
        acting = chosen_inputs(model, params, [over])
        if len(acting.names) != 1:
            raise ModelError(f"over: parameter {over!r} is an array, expected a number.")
        problem, start = started(model, q, v, t, params, hold, acting)
    else:
        if v is None or not np.any(np.asarray(v)):
            needed = advice(Remedy("give v", (("steady", "give --steady"),)))
            raise ModelError(
                f"over: {over!r} is a velocity, which needs a steady motion: {needed}."
            )
        problem, start = started(model, q, v, t, params, hold, Inputs(model))
        i = velocities.index(over)
        problem = dataclasses.replace(problem, driven=i)
        start = problem.at(start.q, start.gamma, [start.v[i]])
        assert start is not None
    # rates of symmetries stay constant while a parameter changes
    at = nearest(problem, start, ("y",) if over in own else ("y", "gamma"))
    refuse_unbalanced(model, problem, at)
    return problem, at


def _rates(model: Model, here, found: Symmetries) -> np.ndarray:
    """Rates of the symmetries, fitted to the velocities of the guess."""
    if found.base is None:
        out = Remedy("leave v out", (("steady", "leave --steady out"),))
        raise ModelError(
            f"{model.name} depends on time, so it has no steady motion; {advice(out)} for an "
            "equilibrium at the given time."
        )
    v = np.asarray(here.state.v)
    rates, left = found.rates(here.dynamics, here.state, here.w)
    error = left[: len(v)]
    # if half of the given velocity is not along any symmetry, the guess is not a steady motion
    if np.linalg.norm(error) > 0.5 * np.linalg.norm(v):
        worst = model.system.velocities[int(np.argmax(np.abs(error)))]
        raise ModelError(
            f"{model.name}: no symmetry of the model moves the state by the given v ({worst!r} is "
            "off most), so that no steady motion is near; a steady motion is one in which nothing "
            "changes but coordinates that the equations do not depend on."
        )
    return rates


def _held(model: Model, state, hold) -> tuple[dict[int, float], dict[int, float]]:
    """Entries of q and v that keep their values. A velocity with the name of a coordinate is given
    as "x rate".
    """
    system = model.system
    q, v = list(system.coordinates), list(system.velocities)
    held_q, held_v = {}, {}
    for name in labels(hold, "hold"):
        rate = name.removesuffix(" rate")
        if name in q:
            held_q[q.index(name)] = float(state.q[q.index(name)])
        elif rate in v:
            held_v[v.index(rate)] = float(state.v[v.index(rate)])
        else:
            known(name, [*q, *v], f"hold: {model.name} has no coordinate or velocity")
    return held_q, held_v


def nearest_by_stages(problem: Problem, start: Point, everything: bool) -> Point:
    """`nearest` with as few kinds of unknowns as suffice: parameters, then coordinates, then
    rates.
    """
    # parameters alone first: the given q is kept if they suffice
    stages = [("mu",)] if len(start.mu) and not problem.held_q else []
    stages += [("y", "mu"), ("y", "gamma", "mu")] if len(start.gamma) else [("y", "mu")]
    at = start
    for stage in stages[-1:] if everything else stages:
        at = nearest(problem, start, stage)
        # largest unbalanced force, relative to all forces, that counts as zero
        if np.linalg.norm(problem.residual(at)) < AGREEMENT:
            return at
    return at


def left_behind(problem: Problem, start: Point, at: Point) -> bool:
    """True if a search for a minimum has left an equilibrium at the guess or close to it."""
    way = np.linalg.norm(at.q - start.q)
    if np.allclose(at.q, start.q, rtol=ALL_BUT_ZERO, atol=ALL_BUT_ZERO):
        return False
    near = nearest_by_stages(problem, start, False)
    balanced = np.linalg.norm(problem.residual(near)) < AGREEMENT
    # an equilibrium within 0.2 of the distance to the minimum counts as the one that was meant
    return bool(balanced and np.linalg.norm(near.q - start.q) < 0.2 * way)


UNBALANCED = (
    Remedy("start closer"),
    Remedy(
        "let a parameter be found by inputs=", (("input", "let a parameter be found by --input"),)
    ),
    Remedy("check whether the forces can balance at all"),
)
"""Remedies if no balance was found."""


def refuse_unbalanced(model: Model, problem: Problem, at: Point) -> None:
    left = float(np.linalg.norm(problem.residual(at)))
    if left < AGREEMENT:
        return
    worst = model.system.velocities[int(np.argmax(np.abs(at.W @ at.gradient)))]
    raise ModelError(
        f"{model.name}: no balance of forces was found from this guess: the unbalanced force is "
        f"{left:.1e} of all forces, most of it along {worst!r}; {advice(*UNBALANCED)}."
    )


def refuse_moving(model: Model, problem: Problem, at: Point) -> None:
    """Raise if constraints do not allow rest: if ψ(q, 0, t) or its rate is larger than the
    uncertainty of q, t and parameters explains. The decision does not depend on units.
    """
    if problem.symmetric is not None:
        return
    rows = problem.dynamics.constraints
    imposed, left_open = _imposed(rows, at.local), _left_open(problem, at)
    for name, own in rows.row_slices.items():
        moves = np.abs(imposed[:, own]) > left_open[:, own]
        for k, what in enumerate(("ψ(q, 0, t)", "its rate")):
            if np.any(moves[k]):
                size = float(np.max(np.abs(imposed[k, own])))
                raise ModelError(
                    f"{model.name}: constraint {name!r} prescribes a motion, so there is no "
                    f"equilibrium: {what} is {size:.3g} at v = 0 and t = {problem.t:.6g}, "
                    "expected 0; give v= of a steady motion, or remove the constraint's drive."
                )


def _imposed(rows: Constraints, here: Local) -> np.ndarray:
    """ψ of velocity rows, and b of all rows: shape (2, m)."""
    found = np.zeros((2, rows.m))
    found[0, rows.velocity_rows], found[1] = here.psi, here.b
    return found


def _left_open(problem: Problem, at: Point) -> np.ndarray:
    """Size of `_imposed` that errors of q of size `AGREEMENT` and round-off of t and parameters
    explain: ten times the largest change under random errors of this size.
    """
    dynamics, t = problem.with_parameters(at.mu), problem.t
    random = np.random.default_rng(1788)
    size = AGREEMENT * (1 + np.max(np.abs(at.q), initial=0.0))
    known, found = _imposed(dynamics.constraints, at.local), np.zeros((2, dynamics.constraints.m))

    def changed(x):
        if not np.issubdtype(np.asarray(x).dtype, np.floating):
            return x
        return x * (1 + AGREEMENT * random.uniform(-1, 1, np.shape(x)))

    for _ in range(BESIDE):
        q = moved(dynamics, at.q, size * random.uniform(-1, 1, len(at.v)), np.float64(t))
        p = jax.tree_util.tree_map(changed, dynamics.p)
        other = dataclasses.replace(dynamics, p=p)
        for there, part in (
            (local(dynamics, host_state(q, at.v, t), at.multipliers), 1.0),
            (
                local(other, host_state(at.q, at.v, changed(t)), at.multipliers),
                ROUND_OFF / AGREEMENT,
            ),
        ):
            change = np.abs(_imposed(dynamics.constraints, there) - known)
            found = np.maximum(found, 10 * part * change)
    return found
