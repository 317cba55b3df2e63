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
        limits = zip(resting, _parts(rub, rubbing), _limits(rubbing, push), strict=True)
        at_limit = {k for k, f, most in limits if np.linalg.norm(f) >= (1 - AGREEMENT) * most}
        slips = [
            k
            for k in resting
            if k not in begins
            and (
                size[k] > np.max(zero[frictions[k].rows])
                or (k in over and (k in at_limit or k in begun))
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
    ways = _ways(frictions, resting, slides, begins, turns, rate, zero)
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
    sticking = [k for k in resting if k not in begins]
    spare, least = _spare(
        problem, frictions, sticking, np.array(rows, int), need, least, loads, gaps
    )
    ways[spare] = HELD_OFF
    following = [x.load_of(least, before) for x, before in zip(frictions, loads, strict=True)]
    return np.concatenate([closed, ways]), np.array(following)


def _ways(
    frictions: Sequence[HostFriction],
    resting: Sequence[int],
    slides: Mapping[int, np.ndarray],
    begins: Mapping[int, np.ndarray],
    turns: Sequence[int],
    rate: np.ndarray,
    zero: np.ndarray,
) -> np.ndarray:
    """How each friction is held, by the accelerations of all rows."""
    ways = np.full(len(frictions), HELD_OFF)
    ways[resting] = HELD_ON
    for k, direction in {**slides, **begins}.items():
        own = frictions[k].rows
        across = np.linalg.norm(rate[own] - direction * (direction @ rate[own]))
        straight = k in begins or (k not in turns and across <= np.max(zero[own]))
        ways[k] = frictions[k].way(direction, straight)
    return ways


def _spare(
    problem: ContactProblem,
    frictions: Sequence[HostFriction],
    sticking: Sequence[int],
    rows: np.ndarray,
    need: np.ndarray,
    least: np.ndarray,
    loads: np.ndarray,
    gaps: np.ndarray,
) -> tuple[list[int], np.ndarray]:
    """Frictions that give nothing, as other rows hold their slip at zero and least norm asks them
    for more than they can give; and the forces without them.

    Args:
        sticking: which of them may be.
        rows: all rows that hold; need: what they have to give.
        least: their forces of least norm; loads: of the frictions; gaps: rows of all gaps.
    """
    spare = []
    for k in sticking:
        x = frictions[k]
        load = least[gaps[x.gap]] if x.gap >= 0 else x.load_of(least, loads[k])
        if np.linalg.norm(least[x.rows]) <= x.static * load:
            continue
        others = np.setdiff1d(rows, x.rows)
        left = np.abs(problem.A[x.rows] @ problem.metric.rows(problem.A[others]).kernel)
        if np.any(left > SOLUTION_ERROR * np.max(problem.length[x.rows])):
            continue
        without = problem.multipliers(others, need)
        pushes = without[gaps]
        if np.all(pushes >= -SOLUTION_ERROR * np.max(np.abs(without), initial=0.0)):
            spare.append(k)
            rows, least = others, without
    return spare, least


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
