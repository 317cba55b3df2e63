"""How closed gaps and dry frictions are held, by the accelerations at one state.

    0 ≤ g̈ ⊥ λ ≥ 0    of each gap that is closed and neither closes nor opens
    |f| ≤ μ₀ N        of each friction that is at rest; it slides along ṡ where that does not do

This is Gauss's principle with inequalities, in the metric of M⁻¹.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from zwang.dynamics.contact_problem import ContactProblem, Rubbing, coulomb, rubbing_rows
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON
from zwang.errors import Result
from zwang.simulation.frictions import HostFriction
from zwang.simulation.monitor import MotionEndError
from zwang.thresholds import AGREEMENT, SOLUTION_ERROR

LOAD_TURNS = 100
"""Most turns in which loads by joints are found."""


def held_modes(
    problem: ContactProblem,
    gaps: np.ndarray,
    frictions: Sequence[HostFriction],
    staying: np.ndarray,
    slow: np.ndarray,
    over: Sequence[int] = (),
) -> np.ndarray:
    """How everything is held from a state on, gaps first.

    Args:
        gaps: rows of all gaps; `staying` says which are closed and neither close nor open.
        frictions: all dry frictions.
        slow: velocity of each row that counts as zero; less than zero of one that turns.
        over: frictions whose force has risen to its limit: they slide from there on, also by an
            acceleration that is still round-off.

    Raises:
        MotionEndError: if no forces keep all inequalities.
    """
    # what is not touched does not rub
    touched = [k for k, x in enumerate(frictions) if x.gap < 0 or staying[x.gap]]
    slides = {}
    for k in touched:
        s = problem.psi[frictions[k].rows]
        if (speed := np.linalg.norm(s)) > np.max(slow[frictions[k].rows]):
            slides[k] = s / speed
    resting = [k for k in touched if k not in slides]
    turns = [k for k in slides if np.min(slow[frictions[k].rows]) < 0]
    loads, begun = np.array([x.load for x in frictions]), set()
    # a load by joints follows from the forces, which depend on it
    for turn in range(LOAD_TURNS):
        given = problem, gaps, frictions, staying, slides, resting, turns, over, begun, loads
        held, acting = _decided(*given)
        # to slide changes the load, by which alone it would stick again
        begun |= {k for k in over if held[len(gaps) + k] < HELD_OFF}
        change = np.abs(acting - loads)
        loads = acting
        if np.all(change <= SOLUTION_ERROR * np.max(np.abs(acting), initial=0.0)) or (
            turn == LOAD_TURNS - 1
        ):
            break
    return held


def _decided(
    problem: ContactProblem,
    gaps: np.ndarray,
    frictions: Sequence[HostFriction],
    staying: np.ndarray,
    slides: Mapping[int, np.ndarray],
    resting: Sequence[int],
    turns: Sequence[int],
    over: Sequence[int],
    begun: Collection[int],
    loads: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The same while the loads are known, with the loads that follow.

    Args:
        slides: directions of the frictions that slide; `resting` are those that do not, `turns`
            those that do not slide straight on.
    """
    places = {int(k): i for i, k in enumerate(np.flatnonzero(staying))}
    normal = gaps[staying]
    force, pulls = problem.F.copy(), np.zeros((len(problem.F), len(normal)))
    for k, direction in slides.items():
        x = frictions[k]
        pull = x.pull(problem, direction)
        if x.gap < 0:
            force += loads[k] * pull
        else:
            pulls[:, places[x.gap]] += pull
    left = problem.A @ problem.acceleration(force) - problem.b
    mu, begins = {k: frictions[k].static for k in resting}, {}
    while True:
        rubbing = [frictions[k].rubbing(places, loads[k], mu[k]) for k in resting]
        found = coulomb(problem, normal, rubbing, left, pulls)
        if found is None:
            raise MotionEndError(Result.PARADOX, "no forces keep all gaps from closing further")
        push, rub = found
        tangents = rubbing_rows(rubbing)
        acting = problem.A[normal].T @ push + pulls @ push + problem.A[tangents].T @ rub
        acceleration = problem.acceleration(force + acting)
        rate = problem.A @ acceleration - problem.b
        zero = _zero(problem, (force, acting), push, rubbing)
        size = {k: np.linalg.norm(rate[frictions[k].rows]) for k in resting}
        at_limit = {
            k: np.linalg.norm(found_rub) >= (1 - AGREEMENT) * limit
            for k, found_rub, limit in zip(
                resting, _parts(rub, rubbing), _limits(rubbing, push), strict=True
            )
        }
        slips = [
            k
            for k in resting
            if k not in begins
            and (
                size[k] > np.max(zero[frictions[k].rows])
                or (k in over and (at_limit[k] or k in begun))
            )
        ]
        # one that slides has its kinetic coefficient, with which another may slide
        before = dict(mu)
        for k in slips:
            begins[k] = rate[frictions[k].rows] / (size[k] or 1.0)
            mu[k] = frictions[k].kinetic(0.0)
        if mu == before:
            break
    force_of = np.zeros(len(problem.A))
    force_of[tangents] = rub
    for k in begins:
        if (f := np.linalg.norm(force_of[frictions[k].rows])) > 0:
            begins[k] = -force_of[frictions[k].rows] / f
    ways = np.full(len(frictions), HELD_OFF)
    ways[resting] = HELD_ON
    for k, direction in (dict(slides) | begins).items():
        own = frictions[k].rows
        across = np.linalg.norm(rate[own] - direction * (direction @ rate[own]))
        straight = k in begins or (k not in turns and across <= np.max(zero[own]))
        ways[k] = frictions[k].way(direction, straight)
    closed = np.full(len(gaps), HELD_OFF)
    closed[staying] = np.where(rate[normal] <= zero[normal], HELD_ON, HELD_OFF)
    # what all rows that hold have to give
    slipping = rubbing_rows([x for k, x in zip(resting, rubbing, strict=True) if k in begins])
    need = problem.metric.M @ acceleration - force - pulls @ push
    need -= problem.A[slipping].T @ force_of[slipping]
    rows = [*problem.held, *gaps[closed > HELD_OFF], *np.setdiff1d(tangents, slipping)]
    least = problem.multipliers(np.array(rows, int), need)
    # part of the largest force or acceleration of a problem that counts as zero: the round-off of
    # its solution, and a tenth of where a force lets go (`zwang.dynamics.vector_field.FORCE_BAND`)
    if np.any(least[gaps] < -SOLUTION_ERROR * np.max(np.abs(least), initial=0.0)):
        # of gaps that repeat each other, those push that can do it alone
        closed[staying] = np.where(push > SOLUTION_ERROR * np.max(push), HELD_ON, HELD_OFF)
    spare = [
        k for k in resting if k not in begins and _exceeds(frictions[k], k, least, loads, gaps)
    ]
    for k in spare:
        # beside other rows that hold its slip at zero, by a share of their force that it may not
        # have: it gives none
        others = np.setdiff1d(rows, frictions[k].rows)
        kernel = problem.metric.rows(problem.A[others]).kernel
        left = np.abs(problem.A[frictions[k].rows] @ kernel)
        if np.all(left <= SOLUTION_ERROR * np.max(problem.length[frictions[k].rows])):
            without = problem.multipliers(others, need)
            if np.all(without[gaps] >= -SOLUTION_ERROR * np.max(np.abs(without), initial=0.0)):
                ways[k], rows, least = HELD_OFF, others.tolist(), without
    following = [x.load_of(least, before) for x, before in zip(frictions, loads, strict=True)]
    return np.concatenate([closed, ways]), np.array(following)


def _exceeds(
    x: HostFriction, k: int, multipliers: np.ndarray, loads: np.ndarray, gaps: np.ndarray
) -> bool:
    """Whether the force that friction k would have beside others is more than it can give."""
    load = multipliers[gaps[x.gap]] if x.gap >= 0 else x.load_of(multipliers, loads[k])
    return float(np.linalg.norm(multipliers[x.rows])) > x.static * load


def _limits(rubbing: Sequence[Rubbing], push: np.ndarray) -> list[float]:
    """Largest force of each friction."""
    return [float(x.fixed + (x.limit * push[x.owner] if x.owner >= 0 else 0.0)) for x in rubbing]


def _parts(rub: np.ndarray, rubbing: Sequence[Rubbing]) -> list[np.ndarray]:
    """The force of each friction."""
    ends = np.cumsum([len(x.rows) for x in rubbing])
    return np.split(rub, ends[:-1]) if len(rubbing) else []


def _zero(problem: ContactProblem, forces, push, rubbing: Sequence[Rubbing]) -> np.ndarray:
    """Acceleration of each row that counts as zero, beside those that all forces give alone, and
    friction at its limit.
    """
    limits = _limits(rubbing, push)
    size = [abs(f) * np.max(problem.length[x.rows]) for f, x in zip(limits, rubbing, strict=True)]
    size += [problem.metric.speed(problem.metric.solve(force)) for force in forces]
    return SOLUTION_ERROR * problem.length * max(size)
