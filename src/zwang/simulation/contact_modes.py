"""Modes of closed gaps and dry frictions, determined from the accelerations at one state.

    0 ≤ g̈ ⊥ λ ≥ 0    for each gap that is closed and neither closes nor opens
    |f| ≤ μ₀ N        for each friction at rest; it slides along ṡ if no such force keeps it there

This is Gauss's principle with inequalities, in the metric of M⁻¹.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from zwang.algebra.cone_complementarity import Disk
from zwang.algebra.decomposition import Decomposition
from zwang.dynamics.contact_problem import ContactProblem, coulomb, rubbing_rows
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON
from zwang.errors import Result
from zwang.simulation.frictions import HostFriction
from zwang.simulation.monitor import MotionEndError
from zwang.simulation.sharing import Shares, shares
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, ROUND_OFF, SOLUTION_ERROR

NEWTON = 8
"""Maximum number of rounds in which Newton's method computes loads, and of its steps in each."""


class Instant(NamedTuple):
    """A state at which the modes are determined.

    Attributes:
        problem: all rows there.
        gaps: rows of all gaps; `staying` marks those that are closed and neither close nor open.
        frictions: all dry frictions.
        slides: directions of the sliding frictions; `pulls` are their forces per unit of load,
            `resting` are the others, and `turns` those whose direction of sliding changes.
        falling: of each gap, whether its force has fallen to zero.
        lying: of each gap, whether it was open and has not just closed.
        over: frictions whose force has risen to its limit or was at its limit before.
    """

    problem: ContactProblem
    gaps: np.ndarray
    staying: np.ndarray
    frictions: Sequence[HostFriction]
    slides: Mapping[int, np.ndarray]
    pulls: Mapping[int, np.ndarray]
    resting: Sequence[int]
    turns: Sequence[int]
    falling: np.ndarray
    lying: np.ndarray
    over: Collection[int]

    @property
    def normal(self) -> np.ndarray:
        """Rows of the closed gaps."""
        return self.gaps[self.staying]

    def loads(self, forces: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return N of all frictions from the forces of all rows."""
        return np.array(
            [x.load_of(forces, n, self.gaps) for x, n in zip(self.frictions, given, strict=True)]
        )


class Decided(NamedTuple):
    """Modes for given loads, gaps first.

    Attributes:
        modes: of gaps and frictions.
        loads: loads that follow from the forces.
        yielding: frictions that slide, or are at their limit while no other row takes over.
        rows, forces: active rows, and forces of all rows.
        pulls: force of each sliding friction per unit of its load, shape (nv, frictions); zero for
            those that a gap loads.
    """

    modes: np.ndarray
    loads: np.ndarray
    yielding: set[int]
    rows: np.ndarray
    forces: np.ndarray
    pulls: np.ndarray


def held_modes(
    problem: ContactProblem,
    gaps: np.ndarray,
    frictions: Sequence[HostFriction],
    staying: np.ndarray,
    slow: np.ndarray,
    falling: np.ndarray,
    lying: np.ndarray,
    over: Collection[int] = (),
) -> np.ndarray:
    """Return the modes of gaps and frictions from a state on, gaps first.

    Args:
        gaps: rows of all gaps; `staying` marks those that are closed and neither close nor open.
        frictions: all dry frictions.
        slow: velocity of each row that counts as zero; negative for a friction whose direction
            turns.
        falling: of each gap, whether its force has fallen to zero: it becomes inactive if the other
            rows carry all loads, even if its acceleration is still round-off.
        lying: of each gap, whether it was open and has not just closed.
        over: frictions whose force has risen to its limit or was at its limit before: if no other
            row takes over they slide from now on, even if their acceleration is still round-off.

    Raises:
        MotionEndError: if no forces satisfy all inequalities.
    """
    # an open gap causes no friction
    touched = [k for k, x in enumerate(frictions) if x.gap < 0 or staying[x.gap]]
    if not touched and not np.any(staying):
        return np.full(len(gaps) + len(frictions), HELD_OFF)
    slides = {}
    for k in touched:
        s = problem.psi[frictions[k].rows]
        if (speed := np.linalg.norm(s)) > np.max(slow[frictions[k].rows]):
            slides[k] = s / speed
    resting = [k for k in touched if k not in slides]
    turns = [k for k in slides if np.min(slow[frictions[k].rows]) < 0]
    pulls = {k: frictions[k].pull(problem, direction) for k, direction in slides.items()}
    of_frictions = frictions, slides, pulls, resting, turns
    at = Instant(problem, gaps, staying, *of_frictions, falling, lying, over)
    begun: set[int] = set()
    loads = _first_loads(at)
    while True:
        decided = _balanced(at, begun, loads)
        # a sliding friction has a smaller force than a sticking one, and another load
        if not (more := decided.yielding - begun):
            return decided.modes
        begun, loads = begun | more, decided.loads


def _balanced(at: Instant, begun: Collection[int], loads: np.ndarray) -> Decided:
    """Return the modes with loads that agree with the forces, while the frictions of `begun` begin
    to slide.

    Args:
        loads: initial guess of the loads.

    Raises:
        MotionEndError: if there are no such loads.
    """
    part, missed = 1.0, None
    # a friction that a gap loads gets its share of the gap's force, whatever its guessed load
    own = np.array([x.gap < 0 for x in at.frictions], bool)
    # largest number of iterations for loads that depend on the forces
    for turn in range(100):
        decided = _decided(at, begun, loads)
        miss = np.where(own, decided.loads - loads, 0.0)
        if np.all(np.abs(miss) <= SOLUTION_ERROR * np.max(np.abs(decided.loads), initial=0.0)):
            return decided
        if turn < NEWTON:
            loads = _consistent(at, decided, loads)
            continue
        # rows may become active and inactive in turn: Aitken's relaxation, along the line of the
        # last iterations, because a load may depend strongly on itself
        if missed is not None and np.any(change := miss - missed):
            part = -part * (missed @ change) / (change @ change)
        loads, missed = np.maximum(loads + part * miss, 0.0), miss
    names = ", ".join(at.frictions[int(k)].law.name for k in np.flatnonzero(miss))
    raise MotionEndError(
        Result.PARADOX,
        f"the normal loads of {names} and the friction forces that they cause have no common "
        "solution",
    )


def _consistent(at: Instant, decided: Decided, loads: np.ndarray) -> np.ndarray:
    """Return loads that agree with the forces while the active rows and the sliding frictions stay
    the same, by Newton's method: the forces are then linear in the loads, and the loads are norms
    of forces.
    """
    problem, rows = at.problem, at.problem.some(decided.rows)
    free = problem.metric.solve(decided.pulls)
    need = problem.metric.M @ rows.correct(problem.A[decided.rows] @ free)
    change = np.zeros((len(problem.A), len(loads)))
    change[decided.rows] = -rows.multipliers(need)
    own = {k: x.load_rows for k, x in enumerate(at.frictions) if x.gap < 0 and len(x.load_rows)}
    guess, miss, rate = loads.copy(), np.zeros(len(loads)), np.eye(len(loads))
    for _ in range(NEWTON):
        forces = decided.forces + change @ (guess - loads)
        for k, of in own.items():
            size = np.linalg.norm(forces[of])
            miss[k] = size - guess[k]
            rate[k] = np.eye(len(loads))[k] - forces[of] @ change[of] / (size or 1.0)
        if np.max(np.abs(miss), initial=0.0) <= ROUND_OFF * np.max(guess, initial=0.0):
            break
        guess = np.maximum(guess + Decomposition(rate, ALL_BUT_ZERO).solve(miss), 0.0)
    return guess


def _first_loads(at: Instant) -> np.ndarray:
    """Return the loads with every closed gap and every resting friction active, without sliding
    friction.
    """
    problem, given = at.problem, np.array([x.load for x in at.frictions])
    if not any(x.gap < 0 and len(x.load_rows) for x in at.frictions):
        return given  # a gap's share follows from its force
    tangents = [at.frictions[k].rows for k in at.resting]
    rows = np.concatenate([problem.held, at.normal, *tangents]).astype(int)
    left = problem.b - problem.A @ problem.metric.solve(problem.F)
    need = problem.metric.M @ problem.some(rows).correct(left[rows])
    return at.loads(problem.multipliers(rows, need), given)


def _decided(at: Instant, begun: Collection[int], loads: np.ndarray) -> Decided:
    """Return the modes for given loads."""
    problem, frictions, resting = at.problem, at.frictions, at.resting
    normal, staying, gaps = at.normal, at.staying, at.gaps
    places = {int(k): i for i, k in enumerate(np.flatnonzero(staying))}
    force, pulls = problem.F.copy(), np.zeros((len(problem.F), len(normal)))
    for k, pull in at.pulls.items():
        if (gap := frictions[k].gap) < 0:
            force += loads[k] * pull
        else:
            pulls[:, places[gap]] += pull
    left = problem.rates(force)
    # a sliding friction has its kinetic coefficient; the loads decide which slide, once they agree
    # with the forces
    mu = {k: frictions[k].kinetic(0.0) if k in begun else frictions[k].static for k in resting}
    rubbing = [frictions[k].disk(places, loads[k], mu[k]) for k in resting]
    found = coulomb(problem, normal, rubbing, left, pulls)
    if found is None:
        raise MotionEndError(Result.PARADOX, "no forces satisfy all inequalities at this instant")
    push, rub = found
    tangents = rubbing_rows(rubbing)
    acting = problem.A[normal].T @ push + pulls @ push + problem.A[tangents].T @ rub
    rate = problem.rates(force + acting)
    zero = _zero(problem, (force, acting), push, rubbing)
    each = np.split(rub, np.cumsum([len(x.rows) for x in rubbing])[:-1]) if rubbing else []
    given = zip(resting, each, rubbing, strict=True)
    at_limit = {k for k, f, x in given if np.linalg.norm(f) >= (1 - AGREEMENT) * x.radius(push)}
    size = {k: np.linalg.norm(rate[frictions[k].rows]) for k in resting}
    slips = {k for k in resting if size[k] > np.max(zero[frictions[k].rows])}
    begins = {k: rate[frictions[k].rows] / (size[k] or 1.0) for k in slips | (at_limit & {*begun})}
    force_of = np.zeros(len(problem.A))
    force_of[tangents] = rub
    for k in begins:
        if (f := np.linalg.norm(force_of[frictions[k].rows])) > 0:
            begins[k] = -force_of[frictions[k].rows] / f
    nothing = {k: ALL_BUT_ZERO * np.max(zero[frictions[k].rows]) for k in begins}
    hardly = {k for k in begins if size[k] * SOLUTION_ERROR <= nothing[k]}
    if len(hardly) > 1:
        weaker = [
            x.scaled(1 - ALL_BUT_ZERO) if k in hardly else x
            for k, x in zip(resting, rubbing, strict=True)
        ]
        begins |= _released(at, hardly, weaker, (force, left, pulls))
    ways = _ways(at, begins, rate, zero)
    closed = np.full(len(gaps), HELD_OFF)
    opens = (rate[normal] > zero[normal]) | (at.falling[staying] & (push <= 0))
    closed[staying] = np.where(opens, HELD_OFF, HELD_ON)
    # force that all active rows have to supply
    slipping = rubbing_rows([x for k, x in zip(resting, rubbing, strict=True) if k in begins])
    need = problem.metric.M @ problem.acceleration(force + acting) - force - pulls @ push
    need -= problem.A[slipping].T @ force_of[slipping]
    sticky = sorted({*tangents.tolist()} - {*slipping.tolist()})
    rows = np.array([*problem.held, *gaps[closed > HELD_OFF], *sticky], int)
    sticking = [k for k in resting if k not in begins]
    limits = {k: frictions[k].disk(gaps, loads[k], frictions[k].static) for k in sticking}
    own = {*gaps.tolist()}
    share = lambda limits, rows: shares(problem, rows, need, [i for i in rows if i in own], limits)
    yielding, shared = at_limit & {*at.over} & {*sticking}, share(limits, rows)
    rows, shared = _without_fallen(at, rows, shared, lambda rows: share(limits, rows))
    closed[~np.isin(gaps, rows)] = HELD_OFF
    if shared is None:
        forces = problem.multipliers(rows, need)
    else:
        forces = shared.forces
        closed[np.isin(gaps, shared.idle)] = HELD_OFF
        for k, along in shared.spent.items():
            ways[k] = frictions[k].spent(along)
        # a friction whose part other rows can take over with slightly more force does not slide yet
        less = lambda k: {**limits, k: limits[k].scaled(1 - AGREEMENT)}
        helped = {k for k in yielding & shared.shared if share(less(k), rows) is not None}
        yielding = yielding - helped
    modes, found = np.concatenate([closed, ways]), at.loads(forces, loads)
    moving = _pulls(at, begins, loads, force_of)
    return Decided(modes, found, yielding | slips, rows, forces, moving)


def _pulls(
    at: Instant, begins: Collection[int], loads: np.ndarray, forces: np.ndarray
) -> np.ndarray:
    """Return the force of each sliding friction per unit of its load, zero for those that a gap
    loads.
    """
    found, problem = np.zeros((len(at.problem.F), len(loads))), at.problem
    for k, pull in at.pulls.items():
        found[:, k] = pull
    for k in begins:
        own = at.frictions[k].rows
        found[:, k] = problem.A[own].T @ forces[own] / (loads[k] or np.inf)
    return np.where([x.gap < 0 for x in at.frictions], found, 0.0)


def _without_fallen(
    at: Instant, rows: np.ndarray, shared: Shares | None, share: Callable
) -> tuple[np.ndarray, Shares | None]:
    """Return the active rows without the gaps whose force has fallen to zero, if the other rows
    carry all loads: otherwise their events would occur again at once. Gaps that were open and have
    not just closed are removed as well if possible, or the two would become active in turn.
    """
    if shared is None or not np.any(at.falling):
        return rows, shared
    if not len(fallen := np.intersect1d(at.gaps[at.falling], rows)):
        return rows, shared
    for out in (np.union1d(fallen, at.gaps[at.lying]), fallen):
        without = np.setdiff1d(rows, out)
        if (others := share(without)) is not None:
            return without, others
    return rows, shared


def _released(
    at: Instant, hardly: Collection[int], weaker: Sequence[Disk], given: tuple
) -> dict[int, np.ndarray]:
    """Return the directions in which frictions begin to slide that are at their limit without an
    excess force, from the motion that begins when their friction is slightly reduced.

    Their forces determine the direction only up to the square root of round-off, and rows across
    directions that differ by so little are nearly parallel.

    Args:
        weaker: all frictions that do not slide yet, with a smaller limit for those that begin to.
        given: applied force, l of all rows and the force that slides already, as in `coulomb`.
    """
    (force, left, pulls), problem = given, at.problem
    if (found := coulomb(problem, at.normal, weaker, left, pulls)) is None:
        return {}
    push, rub = found
    acting = problem.A[at.normal].T @ push + pulls @ push
    acting += problem.A[rubbing_rows(weaker)].T @ rub
    rate = problem.rates(force + acting)
    moved = {k: rate[at.frictions[k].rows] for k in hardly}
    # the square of a very small number underflows to zero
    return {k: s / size for k, s in moved.items() if (size := np.linalg.norm(s)) > 0}


def _ways(
    at: Instant, begins: Mapping[int, np.ndarray], rate: np.ndarray, zero: np.ndarray
) -> np.ndarray:
    """Return the mode of each friction, from the accelerations of all rows."""
    ways = np.full(len(at.frictions), HELD_OFF)
    ways[at.resting] = HELD_ON
    for k, direction in {**at.slides, **begins}.items():
        x = at.frictions[k]
        across = np.linalg.norm(rate[x.rows] - direction * (direction @ rate[x.rows]))
        straight = k in begins or (k not in at.turns and across <= np.max(zero[x.rows]))
        ways[k] = x.way(direction, straight)
    return ways


def _zero(problem: ContactProblem, forces, push, rubbing: Sequence[Disk]) -> np.ndarray:
    """Return the acceleration of each row that counts as zero, relative to the accelerations that
    the forces cause on their own, and to friction at its limit.
    """
    size = [abs(x.radius(push)) * np.max(problem.length[x.rows]) for x in rubbing]
    size += [problem.metric.size(force) for force in forces]
    return SOLUTION_ERROR * problem.length * max(size)
