"""Gaps (inequalities) and dry friction along one run: impacts and mode changes.

    0 ≤ ġ⁺ + e ġ⁻ ⊥ Λ ≥ 0,   M (v⁺ − v⁻) = GᵀΛ + AᵀΛ_A    where a gap closes with a velocity

After an impact the accelerations determine the modes (`contact_modes.py`). Between two mode changes
the equations stay the same, so that a run has the order of its integrator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.cone_complementarity import Disk
from zwang.dynamics.contact_problem import ContactProblem, coulomb, rubbing_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.dynamics.placement import place
from zwang.dynamics.scales import size_of
from zwang.dynamics.vector_field import (
    HELD_OFF,
    HELD_ON,
    SLIDES_FORWARD,
    ConstrainedVectorField,
    is_spent,
)
from zwang.equations.state import State, host_state
from zwang.errors import ModelError, Result
from zwang.simulation.certificate import Certificate
from zwang.simulation.contact_modes import held_modes
from zwang.simulation.frictions import frictions_of, value_of
from zwang.simulation.monitor import MotionEndError
from zwang.simulation.results import Switched
from zwang.thresholds import ACCEPTED_VIOLATION, AT_INSTANT, SOLUTION_ERROR


@dataclasses.dataclass(frozen=True)
class ModeChange:
    """State and modes from an instant on.

    Attributes:
        y: the state, with the velocity after an impact.
        modes: mode of each switch, gap and friction.
        record: the mode change, or None without one.
    """

    y: np.ndarray
    modes: np.ndarray
    record: Switched | None


class Collision(NamedTuple):
    """The velocity after an impact.

    Attributes:
        v: velocity after the impact.
        pushes: Λ of each gap that was hit, by name.
        dissipated: energy, −Λᵀ (ψ⁻ + ψ⁺) / 2.
    """

    v: np.ndarray
    pushes: dict[str, tuple[float, ...]]
    dissipated: float


class Contacts:
    """The gaps and dry frictions of a model along one run.

    Args:
        model: the model.
        params: parameters of the run.
        first: index of the first of them in the controller state.

    Attributes:
        gaps: rows of the gaps; `rows`: of the gaps and of the frictions.
        laws: e of each gap, as given.
        names: of all of them; `places` is the index of the gap or friction to which each row
            belongs, `in_space` tells which of them slide in a plane.
        certificate: residuals of the inequalities and frictions along the run.
        slowest_impact: an impact with less than this part of the largest closing speed so far
            brings all closed gaps to rest. Rebounds that become shorter without end (Zeno behavior)
            then have 1e-10 of their first height left, and a block that rocks from edge to edge
            1e-10 of its energy.
    """

    slowest_impact = 1e-5

    def __init__(self, model: Model, params: PyTree, first: int):
        c, p = model.constraints, model.parameters(params)
        self.model, self.first = model, first
        self.gaps, self.frictions = c.one_sided_rows, frictions_of(model, p)
        self.rows = np.concatenate([self.gaps, *(x.rows for x in self.frictions)]).astype(int)
        counts = [1] * len(self.gaps) + [len(x.rows) for x in self.frictions]
        self.places, self.in_space = np.repeat(np.arange(len(counts)), counts), np.array(counts) > 1
        self._starts = np.cumsum([0, *counts[:-1]])
        owners = [(name, s) for name, s in c.row_slices.items() for _ in range(s.stop - s.start)]
        self.names = [
            name if s.stop - s.start == 1 else f"{name}[{i - s.start}]"
            for i, (name, s) in ((i, owners[i]) for i in self.gaps)
        ] + [x.law.name for x in self.frictions]
        members = [c.owners[owners[i][0]] for i in self.gaps]
        self.laws = [getattr(x, "restitution", 0.0) for x in members]
        self.restitution = np.array([value_of(x, p) for x in self.laws])
        self.poisson = np.array([getattr(x, "impact", "") == "poisson" for x in members], bool)
        if np.any(bad := ~((self.restitution >= 0) & (self.restitution <= 1))):
            k = int(np.argmax(bad))
            raise ModelError(
                f"constraint {self.names[k]!r}: restitution is {self.restitution[k]:g}, expected a "
                "number from 0 to 1."
            )
        self.certificate = Certificate()
        self._every: tuple[ConstrainedVectorField, np.ndarray, Dynamics] | None = None
        self._fastest = 0.0
        self._impacts: list[list[float]] = [[] for _ in self.gaps]
        self._rests: set[int] = set()

    def settle(
        self,
        flow: ConstrainedVectorField,
        state: State,
        modes: np.ndarray,
        span: float,
        fired: np.ndarray | None = None,
    ) -> ModeChange:
        """Determine the modes from a state on.

        Args:
            flow: the motion.
            state: satisfies the constraints that were active before.
            modes: modes before, switches included.
            span: length of the run [s].
            fired: of each gap and friction, whether its event ended the step; a sliding friction
                that fired comes to rest, or its direction begins to turn.

        Raises:
            MotionEndError: if no forces satisfy all inequalities.
        """
        n, before = len(self.gaps), modes[self.first :]
        q, v, t = np.asarray(state.q), np.asarray(state.v), float(state.t)
        problem = self.problem(flow, modes, host_state(q, v, t))
        was_shut, slow = before[:n] > HELD_OFF, self._slow(problem, v, span)
        # A gap counts as closed up to this part of the size of the coordinates, or of the distance
        # by which it would close in a run at its present rate: a hundred times the accuracy of the
        # instant of an event. The distance of the whole motion would close gaps that are merely
        # small, and that correction would open others below zero.
        rate = np.abs(problem.psi[self.gaps])
        place, force = self._extent(flow, problem, q, v, 0.0), problem.metric.size(problem.F)
        unit = np.maximum.reduceat(problem.length[self.rows], self._starts)
        self.certificate.measure(place, unit, force, problem.metric.speed(v))
        closed = problem.phi[self.gaps] <= AT_INSTANT * (place + rate * span)
        # beyond the ends of its surface a gap is open
        shut = (closed | was_shut) & np.isfinite(problem.phi[self.gaps])
        # where the other constraints leave no motion along a gap, as at a dead point, no force
        # opens it
        self._refuse_driven(problem, shut & (fixed := problem.held_anyway(self.gaps)), slow)
        shut &= ~fixed
        opens = lambda: problem.psi[self.gaps] > slow[self.gaps]
        # opening from below zero, a gap whose event occurs would have it again after each step
        below = (np.zeros(n, bool) if fired is None else fired[:n]) & shut & ~was_shut & opens()
        impact = self._collide(problem, v, t, shut, slow, place)
        if impact is not None:
            after = impact.v
            problem = self.problem(flow, modes, host_state(q, after, t))
        else:
            after = v
        staying = shut & (np.abs(problem.psi[self.gaps]) <= slow[self.gaps])
        # a gap that opens again is left as accurate as its instant: closing it exactly would lift
        # it
        below &= opens()
        if np.any((staying & ~was_shut) | below):
            q = self._placed(flow, modes, staying | below, host_state(q, after, t))
            problem = self.problem(flow, modes, host_state(q, after, t))
        arrived, over = np.zeros(len(before), bool), []
        for k, x in enumerate(self.frictions, start=n):
            if fired is None or impact is not None:
                continue
            if is_spent(before[k]) or (fired[k] and before[k] == HELD_ON):
                over.append(k - n)
            elif fired[k] and before[k] < HELD_OFF:
                arrived[k] = x.comes_to_rest(problem.psi, before[k])
                slow[x.rows] = np.inf if arrived[k] else -1.0
        if fired is not None and impact is None and not np.any(arrived):
            # where no friction comes to rest, one whose direction turns continues to turn, however
            # slow it still is: a new start would have to slide straight on before it turns again
            for k in np.flatnonzero(self.in_space & (before == SLIDES_FORWARD)):
                slow[self.frictions[k - n].rows] = -1.0
        falling, lying = np.zeros(n, bool), np.zeros(n, bool)
        if fired is not None and impact is None:
            falling, lying = fired[:n] & was_shut, ~fired[:n] & ~was_shut
        own = held_modes(problem, self.gaps, self.frictions, staying, slow, falling, lying, over)
        held = np.concatenate([modes[: self.first], own])
        # a friction at its limit without slip counts as sticking; if the direction of sliding
        # turns, only the direction changes
        before, own = (np.where(is_spent(x), HELD_ON, x) for x in (before, own))
        on_the_move = (before < HELD_OFF) & (own < HELD_OFF) & self.in_space & ~arrived
        was = np.where(on_the_move, own, before)
        record = self.record(t, was, own, problem.metric, v, impact)
        # remove the round-off of velocities that are held at zero
        if len(on := self.rows[(own > HELD_OFF)[self.places]]):
            rows = np.array([*problem.held, *on], int)
            after = after - problem.some(rows).correct(problem.psi[rows])
        return ModeChange(np.concatenate([q, after]), held, record)

    def with_params(self, params: PyTree) -> Contacts:
        """Return the contacts with other parameters, before their first impact."""
        return Contacts(self.model, params, self.first)

    def memory(self) -> dict[str, Any]:
        """Return the values that later impacts depend on, for JSON."""
        return {
            "fastest": self._fastest,
            "impacts": [list(x) for x in self._impacts],
            "rests": sorted(self._rests),
            "certificate": self.certificate.memory(),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Restore the values that `memory` returned."""
        self._fastest, self._rests = memory["fastest"], set(memory["rests"])
        self._impacts = [list(x) for x in memory["impacts"]]
        self.certificate.recall(memory["certificate"])

    def refuse_penetration(self, flow: ConstrainedVectorField, state: State, span: float) -> None:
        """Raise if a gap at the start is negative by more than the accepted violation."""
        modes = np.full(self.first + len(self.names), HELD_ON)
        problem, q, v = self.problem(flow, modes, state), np.asarray(state.q), np.asarray(state.v)
        gap, extent = problem.phi[self.gaps], self._extent(flow, problem, q, v, span)
        if np.any(bad := gap < -ACCEPTED_VIOLATION * extent):
            k = int(np.argmax(bad))
            raise ModelError(
                f"{self.model.name}: the start penetrates {self.names[k]!r}: its gap is "
                f"{gap[k]:.3g}, expected at least 0; start from where it is open or closed."
            )

    def _refuse_driven(self, problem: ContactProblem, fixed: np.ndarray, slow) -> None:
        """Raise if other constraints close a gap that no force can open."""
        if not np.any(fixed):
            return
        psi, acceleration = problem.psi[self.gaps], problem.acceleration(problem.F)
        rate = (problem.A @ acceleration - problem.b)[self.gaps]
        zero = SOLUTION_ERROR * problem.length[self.gaps] * problem.metric.speed(acceleration)
        slow = slow[self.gaps]
        if np.any(bad := fixed & ((psi < -slow) | ((psi <= slow) & (rate < -zero)))):
            name = self.names[int(np.argmax(bad))]
            raise MotionEndError(
                Result.INCONSISTENT,
                f"other constraints drive gap {name!r} closed, and no force can open it",
            )

    def problem(self, flow, modes: np.ndarray, state: State) -> ContactProblem:
        """Return the contact problem at a state, with the rows of all gaps, also of open ones."""
        # one object while the flow and its switches stay the same, because binding a program to its
        # numbers takes longer than calling it
        known, held = self._every, modes[: self.first]
        if known is None or known[0] is not flow or not np.array_equal(known[1], held):
            every = np.concatenate([held, np.full(len(self.names), HELD_ON)])
            known = self._every = flow, held.copy(), flow.with_input(every).dynamics
        return ContactProblem.at_state(known[2], state, self.rows)

    def _extent(self, flow, problem: ContactProblem, q, v, span: float) -> np.ndarray:
        """Return the length of the motion along each gap, in the unit of the gap: the distance at
        the present speed, plus the size of the coordinates or the radius of the constraints,
        whichever is smaller.
        """
        metric, inverse = problem.metric, float(flow.dynamics.scales.inverse_length)
        place = max(size_of(np, q, metric.typical), metric.typical)
        radius = 1 / inverse if inverse > 0 else np.inf
        return problem.length[self.gaps] * (metric.speed(v) * span + min(place, radius))

    def _slow(self, problem: ContactProblem, v, span: float) -> np.ndarray:
        """Return the velocity of each row that counts as zero: the change by the free acceleration
        within the error of an instant, plus the round-off of the present speed.
        """
        metric = problem.metric
        pull = metric.size(problem.F)
        return problem.length * (AT_INSTANT * pull * span + SOLUTION_ERROR * metric.speed(v))

    def _placed(self, flow, modes: np.ndarray, shut: np.ndarray, state: State) -> np.ndarray:
        """Return the coordinates with those gaps closed exactly that are closed up to the accuracy
        of the instant.
        """
        still = np.full(len(self.frictions), HELD_OFF)
        held = np.concatenate([modes[: self.first], np.where(shut, HELD_ON, HELD_OFF), still])
        dynamics = flow.with_input(held).dynamics
        placement = place(dynamics, state, dynamics.scales)
        if not placement.converged:
            names = [x for x, yes in zip(self.names, shut, strict=False) if yes]
            raise MotionEndError(Result.NOT_CONVERGED, f"with {', '.join(names)} closed")
        return np.asarray(placement.state.q)

    def _collide(self, problem: ContactProblem, v, t: float, shut, slow, place) -> Collision | None:
        """Return the impact of gaps that close with a velocity; None without one.

        Newton's law of restitution is used in Moreau's form for several contacts: a gap that is hit
        rebounds with at least e times its speed, and a gap without an impulse may open faster.
        Poisson's law has two phases: in the first no gap closes any further, in the second each gap
        gets at least e times its impulse of the first. Without friction, energy never increases if
        all gaps that are hit have one e; with friction it may increase by Newton's law. A gap that
        would rise by less than the accuracy of its place does not rebound.
        """
        psi, length = problem.psi, problem.length
        if not np.any(shut & (psi[self.gaps] < -slow[self.gaps])):
            return None
        closing = np.flatnonzero(shut)
        normal = self.gaps[closing]
        # comparable, because rows may have different units
        fast = -psi[normal] / np.where(length[normal] > 0, length[normal], 1.0)
        self._fastest = max(self._fastest, float(np.max(fast)))
        for k in closing[-psi[normal] > slow[normal]]:
            self._impacts[k] = [*self._impacts[k], t][-3:]  # for `geometric_limit`
        rubs = [x for x in self.frictions if x.gap in closing]
        least = self.slowest_impact * self._fastest
        self._rests = set()
        if np.max(fast) <= least:
            still = [
                x.rows
                for x in rubs
                if np.linalg.norm(psi[x.rows]) <= least * np.max(length[x.rows])
            ]
            rows = np.concatenate([problem.held, normal, *still]).astype(int)
            change = -problem.some(rows).correct(psi[rows])
            self._rests = set(closing[self.restitution[closing] > 0].tolist())
            lost = 0.5 * problem.metric.speed(change) ** 2  # the energy along these rows, ψ⁺ = 0
            return Collision(v + change, {self.names[k]: () for k in closing}, lost)
        e, poisson = self.restitution[closing], self.poisson[closing]
        pull = length[normal] * problem.metric.speed(problem.metric.solve(problem.F))
        rise = np.sqrt(2 * pull * SOLUTION_ERROR * place[closing])
        e = np.where(e * -psi[normal] <= rise, 0.0, e)
        met = psi.copy()
        met[normal] *= 1 + np.where(poisson, 0.0, e)
        places = closing.tolist()
        rubbing = [
            Disk(x.rows, places.index(x.gap), x.kinetic(float(np.linalg.norm(psi[x.rows]))))
            for x in rubs
        ]
        impulse = impulses(problem, normal, rubbing, met)
        returned = np.where(poisson, e * impulse[normal], 0.0)
        if np.any(returned > 0):
            impulse[normal] += returned
            met = met + problem.A @ problem.response(problem.A.T @ impulse)
            rubbing = [x._replace(fixed=x.share * returned[x.owner]) for x in rubbing]
            impulse += impulses(problem, normal, rubbing, met)
        pushes = {self.names[k]: (float(impulse[self.gaps[k]]),) for k in closing}
        change = problem.response(problem.A.T @ impulse)
        dissipated = -float(impulse @ (psi + 0.5 * problem.A @ change))
        return Collision(v + change, {k: x for k, x in pushes.items() if x[0] > 0}, dissipated)

    def record(self, t, before, after, metric, v, impact: Collision | None) -> Switched | None:
        """Return the mode change with the names of constraints; None without one."""
        n = len(self.gaps)
        name = lambda which: tuple(x for x, yes in zip(self.names, which, strict=True) if yes)
        on = (before <= HELD_OFF) & (after > HELD_OFF)
        slides = (after < HELD_OFF) & (after != before)
        off = np.where(
            np.arange(len(before)) < n, (before > HELD_OFF) & (after <= HELD_OFF), slides
        )
        hit = {} if impact is None else impact.pushes
        if not (hit or np.any(on) or np.any(off)):
            return None
        system, end = self.model.system, v if impact is None else impact.v
        rests = [geometric_limit(self._impacts[k]) for k in self._rests if self.names[k] in hit]
        loss = metric.energy_loss(v, end)
        return Switched(
            max([t, *(x for x in rests if np.isfinite(x))]),
            name(on),
            name(off),
            loss,
            tuple((metric.M @ (end - v)).tolist()),
            hit,
            system.energy_unit,
            tuple(hit),
            0.0 if impact is None else impact.dissipated - loss,
        )


def impulses(problem: ContactProblem, normal, rubbing: Sequence[Disk], met) -> np.ndarray:
    """Return Λ of all rows for gaps with the velocities `met`, zero in rows that are not hit.

    Raises:
        MotionEndError: if no impulses satisfy all inequalities.
    """
    found = coulomb(problem, normal, rubbing, met, np.zeros((problem.A.shape[1], len(normal))))
    if found is None:
        raise MotionEndError(Result.PARADOX, "no impulses satisfy all inequalities at this instant")
    impulse = np.zeros(len(problem.A))
    np.add.at(impulse, np.concatenate([normal, rubbing_rows(rubbing)]), np.concatenate(found))
    return impulse


def geometric_limit(times: Sequence[float]) -> float:
    """Return the limit of a sequence of instants whose intervals keep shrinking by the last ratio
    [s]; inf without a limit.
    """
    if len(times) < 3:
        return np.inf
    first, second = np.diff(times[-3:])
    return float(times[-1] + second**2 / (first - second)) if 0 < second < first else np.inf
