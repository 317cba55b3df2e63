"""Gaps that open and close, and dry friction that sticks and slides, along one run.

    0 ≤ ġ⁺ + e ġ⁻ ⊥ Λ ≥ 0,   M (v⁺ − v⁻) = GᵀΛ + AᵀΛ_A    where a gap closes with a speed

then the accelerations say what holds on (`contact_modes.py`). Between two instants nothing changes,
so that a run has the order of its integrator.
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

IMPACTS = 3
"""Latest impacts of a gap, whose intervals say where rebounds without end accumulate."""


@dataclasses.dataclass(frozen=True)
class Holding:
    """How gaps and frictions are held from an instant on.

    Attributes:
        y: the state, with the velocity after an impact.
        modes: of each switch, gap and friction.
        record: what changed, or None where nothing did.
    """

    y: np.ndarray
    modes: np.ndarray
    record: Switched | None


class Collision(NamedTuple):
    """The velocity after an impact.

    Attributes:
        v: after it.
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
        first: place of the first of them in the controller state.

    Attributes:
        gaps: rows of the gaps; `rows`: of the frictions, too.
        laws: e of each gap, as it was given.
        names: of all of them; `places` says to which of them each row belongs, `in_space` which of
            them slide in a plane.
        certificate: how well the run keeps all of them.
        slowest_impact: one with less than this part of the largest speed that a gap has closed with
            brings all gaps that are closed to rest: rebounds that become shorter without end (Zeno)
            have 1e-10 of their first height left, and a block that rocks from edge to edge 1e-10 of
            its energy.
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
        self._levels = c.position_rows, c.velocity_rows
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
    ) -> Holding:
        """Decide how everything is held from a state on.

        Args:
            flow: the motion.
            state: on the constraints that are held before.
            modes: how everything was held before, switches included.
            span: length of the run [s].
            fired: of each gap and friction, whether it has ended the step: what slid is at rest.

        Raises:
            MotionEndError: if no forces keep all inequalities.
        """
        n, before = len(self.gaps), modes[self.first :]
        q, v, t = np.asarray(state.q), np.asarray(state.v), float(state.t)
        problem = self.problem(flow, modes, host_state(q, v, t))
        was_shut, slow = before[:n] > HELD_OFF, self._slow(problem, v, span)
        # A gap up to this part of the place of the motion, or of the way that it would close by in
        # a run at its present rate, counts as closed: a hundred times what the instant of an event
        # is found to. A way of the whole motion would close gaps that merely are small, and what
        # that moves opens others below zero
        rate = np.abs(problem.psi[self.gaps])
        place, force = self._extent(flow, problem, q, v, 0.0), problem.metric.size(problem.F)
        unit = np.maximum.reduceat(problem.length[self.rows], self._starts)
        self.certificate.measure(place, unit, force, problem.metric.speed(v))
        closed = problem.phi[self.gaps] <= AT_INSTANT * (place + rate * span)
        # at its end a gap lets go
        shut = (closed | was_shut) & np.isfinite(problem.phi[self.gaps])
        # where all else leaves no motion along a gap, as at a dead point, no force opens it
        self._refuse_driven(problem, shut & (fixed := problem.held_anyway(self.gaps)), slow)
        shut &= ~fixed
        impact = self._collide(problem, v, t, shut, slow, place)
        if impact is not None:
            after = impact.v
            problem = self.problem(flow, modes, host_state(q, after, t))
        else:
            after = v
        staying = shut & (np.abs(problem.psi[self.gaps]) <= slow[self.gaps])
        # a gap that opens again has its instant's accuracy: to close it exactly would lift it
        if np.any(staying & ~was_shut):
            q = self._placed(flow, modes, staying, host_state(q, after, t))
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
            # where nothing comes to rest, what turns goes on turning, however slow it still is: to
            # begin anew it would have to slide straight on, and to turn once more
            for k in np.flatnonzero(self.in_space & (before == SLIDES_FORWARD)):
                slow[self.frictions[k - n].rows] = -1.0
        falling, lying = np.zeros(n, bool), np.zeros(n, bool)
        if fired is not None and impact is None:
            falling, lying = fired[:n] & was_shut, ~fired[:n] & ~was_shut
        own = held_modes(problem, self.gaps, self.frictions, staying, slow, falling, lying, over)
        held = np.concatenate([modes[: self.first], own])
        # what gives all it may sticks as well; of one that turns only its direction changes
        before, own = (np.where(is_spent(x), HELD_ON, x) for x in (before, own))
        on_the_move = (before < HELD_OFF) & (own < HELD_OFF) & self.in_space & ~arrived
        was = np.where(on_the_move, own, before)
        record = self.record(t, was, own, problem.metric, v, impact)
        # without the round-off of velocities that are held at zero
        if len(on := self.rows[(own > HELD_OFF)[self.places]]):
            rows = np.array([*problem.held, *on], int)
            after = after - problem.some(rows).correct(problem.psi[rows])
        return Holding(np.concatenate([q, after]), held, record)

    def with_params(self, params: PyTree) -> Contacts:
        """The same with other parameters, before its first impact."""
        return Contacts(self.model, params, self.first)

    def memory(self) -> dict[str, Any]:
        """What later impacts are judged by, as JSON has it."""
        return {
            "fastest": self._fastest,
            "impacts": [list(x) for x in self._impacts],
            "rests": sorted(self._rests),
            "certificate": self.certificate.memory(),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Take up what `memory` gave."""
        self._fastest, self._rests = memory["fastest"], set(memory["rests"])
        self._impacts = [list(x) for x in memory["impacts"]]
        self.certificate.recall(memory["certificate"])

    def refuse_penetration(self, flow: ConstrainedVectorField, state: State, span: float) -> None:
        """Raise if a gap is negative at the start by more than a start may be off."""
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
        """Raise if gaps close that no force can open, as what holds moves them."""
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
                f"{name} closes, and all other constraints leave no motion that opens it",
            )

    def problem(self, flow, modes: np.ndarray, state: State) -> ContactProblem:
        """All rows at a state, those of what is open included."""
        # one object while the flow and its switches are the same, as to bind a program to its
        # numbers takes longer than a call
        known, held = self._every, modes[: self.first]
        if known is None or known[0] is not flow or not np.array_equal(known[1], held):
            every = np.concatenate([held, np.full(len(self.names), HELD_ON)])
            known = self._every = flow, held.copy(), flow.with_input(every).dynamics
        return ContactProblem.at_state(known[2], state, self.rows, self._levels)

    def _extent(self, flow, problem: ContactProblem, q, v, span: float) -> np.ndarray:
        """Length of the motion along each gap, in its own unit: its way at the present speed, and
        its place, or the radius of the constraints where that is less.
        """
        metric, inverse = problem.metric, float(flow.dynamics.scales.inverse_length)
        place = max(size_of(np, q, metric.typical), metric.typical)
        radius = 1 / inverse if inverse > 0 else np.inf
        return problem.length[self.gaps] * (metric.speed(v) * span + min(place, radius))

    def _slow(self, problem: ContactProblem, v, span: float) -> np.ndarray:
        """Velocity of each row that counts as zero: what the free acceleration makes of the error
        of an instant, and the round-off of the present speed.
        """
        metric = problem.metric
        pull = metric.size(problem.F)
        return problem.length * (AT_INSTANT * pull * span + SOLUTION_ERROR * metric.speed(v))

    def _placed(self, flow, modes: np.ndarray, shut: np.ndarray, state: State) -> np.ndarray:
        """The coordinates with the gaps exactly closed that are so up to the instant's accuracy."""
        still = np.full(len(self.frictions), HELD_OFF)
        held = np.concatenate([modes[: self.first], np.where(shut, HELD_ON, HELD_OFF), still])
        dynamics = flow.with_input(held).dynamics
        placement = place(dynamics, state, dynamics.scales)
        if not placement.converged:
            names = [x for x, yes in zip(self.names, shut, strict=False) if yes]
            raise MotionEndError(Result.NOT_CONVERGED, f"with {', '.join(names)} closed")
        return np.asarray(placement.state.q)

    def _collide(self, problem: ContactProblem, v, t: float, shut, slow, place) -> Collision | None:
        """The impact of gaps that close with a speed; None without one.

        Newton's law of restitution as Moreau has it for several contacts: a gap that is hit
        rebounds with e times its speed at least, and one whose push is zero may open faster.
        Poisson's has two phases: in the first no gap closes any further, in the second each gives e
        times the impulse of the first at least. Energy never rises without friction where all that
        is hit has one e; with friction it may by Newton's law. A gap that would rise by less than
        what its place is known to does not rebound.
        """
        psi, length = problem.psi, problem.length
        if not np.any(shut & (psi[self.gaps] < -slow[self.gaps])):
            return None
        closing = np.flatnonzero(shut)
        normal = self.gaps[closing]
        # comparable, as rows may be in other units
        fast = -psi[normal] / np.where(length[normal] > 0, length[normal], 1.0)
        self._fastest = max(self._fastest, float(np.max(fast)))
        for k in closing[-psi[normal] > slow[normal]]:
            self._impacts[k] = [*self._impacts[k], t][-IMPACTS:]
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
            lost = 0.5 * problem.metric.speed(change) ** 2  # all of what the rows have, ψ⁺ = 0
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
        """What changed, in names."""
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
    """Λ of all rows, zero where nothing is met, of gaps that are met with some velocities.

    Raises:
        MotionEndError: if there are none.
    """
    found = coulomb(problem, normal, rubbing, met, np.zeros((problem.A.shape[1], len(normal))))
    if found is None:
        raise MotionEndError(Result.PARADOX, "no impulses keep all gaps from closing further")
    impulse = np.zeros(len(problem.A))
    np.add.at(impulse, np.concatenate([normal, rubbing_rows(rubbing)]), np.concatenate(found))
    return impulse


def geometric_limit(times: Sequence[float]) -> float:
    """The limit of instants, each interval shorter than the one before by the last ratio [s]; inf
    if they have none.
    """
    if len(times) < IMPACTS:
        return np.inf
    first, second = np.diff(times[-IMPACTS:])
    return float(times[-1] + second**2 / (first - second)) if 0 < second < first else np.inf
