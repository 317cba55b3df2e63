"""How closed gaps and dry frictions are held, by the accelerations at one state.

    0 ≤ g̈ ⊥ λ ≥ 0    of each gap that is closed and neither closes nor opens
    |f| ≤ μ₀ N        of each friction that is at rest; it slides along ṡ where that does not do

This is Gauss's principle with inequalities, in the metric of M⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.dynamics.contact_problem import ContactProblem, Rubbing, coulomb
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, SLIDES_BACKWARD, SLIDES_FORWARD
from zwang.errors import Result
from zwang.simulation.frictions import HostFriction
from zwang.simulation.monitor import MotionEndError
from zwang.thresholds import SOLUTION_ERROR

LOAD_TURNS = 100
"""Most turns in which loads by joints are found."""


def held_modes(
    problem: ContactProblem,
    gaps: np.ndarray,
    frictions: Sequence[HostFriction],
    staying: np.ndarray,
    slow: np.ndarray,
) -> np.ndarray:
    """How everything is held from a state on, gaps first.

    Args:
        gaps: rows of all gaps; `staying` says which are closed and neither close nor open.
        frictions: all dry frictions.
        slow: velocity of each row that counts as zero.

    Raises:
        MotionEndError: if no forces keep all inequalities.
    """
    ways = np.full(len(frictions), HELD_OFF)
    for k, x in enumerate(frictions):
        s = problem.psi[x.row]
        if x.gap >= 0 and not staying[x.gap]:
            continue  # what is not touched does not rub
        sliding = SLIDES_FORWARD if s > 0 else SLIDES_BACKWARD
        ways[k] = HELD_ON if abs(s) <= slow[x.row] else sliding
    loads = np.array([x.load for x in frictions])
    # a load by joints follows from the forces, which depend on it
    for _ in range(LOAD_TURNS):
        closed, decided, acting = _decided(problem, gaps, frictions, staying, ways, loads)
        change = np.abs(acting - loads)
        loads = acting
        if np.all(change <= SOLUTION_ERROR * np.max(np.abs(acting), initial=0.0)):
            break
    return np.concatenate([closed, decided])


def _decided(problem: ContactProblem, gaps, frictions, staying, ways, loads) -> tuple:
    """The same while the loads are known, with the loads that follow."""
    ways, places = ways.copy(), {int(k): i for i, k in enumerate(np.flatnonzero(staying))}
    normal = gaps[staying]
    while True:
        force, pulls = problem.F.copy(), np.zeros((len(problem.F), len(normal)))
        for k, x in enumerate(frictions):
            pull = x.pull(problem, ways[k])
            if x.gap < 0:
                force += loads[k] * pull
            elif x.gap in places:
                pulls[:, places[x.gap]] += pull
        resting = [k for k, way in enumerate(ways) if way == HELD_ON]
        rubbing = [frictions[k].rubbing(places, loads[k]) for k in resting]
        left = problem.A @ problem.acceleration(force) - problem.b
        found = coulomb(problem, normal, rubbing, left, pulls)
        if found is None:
            raise MotionEndError(Result.PARADOX, "no forces keep all gaps from closing further")
        push, rub = found
        acting = problem.A[normal].T @ push + pulls @ push
        acting += problem.A[[x.row for x in rubbing]].T @ rub
        acceleration = problem.acceleration(force + acting)
        left, zero = (
            problem.A @ acceleration - problem.b,
            _zero(problem, (force, acting), push, rubbing),
        )
        slips = [k for k in resting if abs(left[frictions[k].row]) > zero[frictions[k].row]]
        if not slips:
            break
        # one that slides has its kinetic coefficient, with which another may slide
        for k in slips:
            ways[k] = SLIDES_FORWARD if left[frictions[k].row] > 0 else SLIDES_BACKWARD
    closed = np.full(len(gaps), HELD_OFF)
    closed[staying] = np.where(left[normal] <= zero[normal], HELD_ON, HELD_OFF)
    # what all rows that hold have to give
    need = problem.metric.M @ acceleration - force - pulls @ push
    rows = [*problem.held, *gaps[closed > HELD_OFF]]
    rows += [x.row for x, way in zip(frictions, ways, strict=True) if way == HELD_ON]
    least = problem.multipliers(np.array(rows, int), need)
    # part of the largest force or acceleration of a problem that counts as zero: the round-off of
    # its solution, and a tenth of where a force lets go (`zwang.dynamics.vector_field.FORCE_BAND`)
    if np.any(least[gaps] < -SOLUTION_ERROR * np.max(np.abs(least), initial=0.0)):
        # of gaps that repeat each other, those push that can do it alone
        closed[staying] = np.where(push > SOLUTION_ERROR * np.max(push), HELD_ON, HELD_OFF)
    following = [x.load_of(least, before) for x, before in zip(frictions, loads, strict=True)]
    return closed, ways, np.array(following)


def _zero(problem: ContactProblem, forces, push, rubbing: Sequence[Rubbing]) -> np.ndarray:
    """Acceleration of each row that counts as zero, beside those that all forces give alone, and
    friction at its limit.
    """
    limits = [x.limit * (push[x.owner] if x.owner >= 0 else 1.0) for x in rubbing]
    size = [abs(f) * problem.length[x.row] for f, x in zip(limits, rubbing, strict=True)]
    size += [problem.metric.speed(problem.metric.solve(force)) for force in forces]
    return SOLUTION_ERROR * problem.length * max(size)
