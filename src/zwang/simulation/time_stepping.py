"""Time stepping: contacts get one impulse at the end of every step, and no events are located.

    0 ≤ G v⁺ + e G v⁻ ⊥ Λ ≥ 0,   |Λ_T| ≤ μΛ,   M (v⁺ − v) = AᵀΛ_A + GᵀΛ + TᵀΛ_T
    q⁺ = q ⊕ ½h (v⁺ − v)

v⁻ is the velocity before the step and v the velocity after the step without contacts; rows are
those of the middle of the step, as the method evaluates them (`zwang.stepping.moreau`). The problem
is that of impacts (`zwang.dynamics.contact_problem.coulomb`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.algebra.cone_complementarity import Disk
from zwang.dynamics.contact_problem import ContactProblem
from zwang.dynamics.evaluation import moved
from zwang.dynamics.placement import place
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, ConstrainedVectorField
from zwang.equations.state import host_state
from zwang.errors import Result
from zwang.inputs.arrays import host_array
from zwang.objects.record import replace
from zwang.simulation.contact import Collision, Contacts, impulses
from zwang.simulation.frictions import HostFriction
from zwang.simulation.monitor import AbstractMonitor, MotionEndError, RunState
from zwang.thresholds import AGREEMENT, SOLUTION_ERROR


class TimeStepping(AbstractMonitor):
    """Adds the impulses of contacts to each step.

    Args:
        contacts: the gaps and dry frictions of the run.
        step: length of a step [s].
    """

    def __init__(self, contacts: Contacts, step: float):
        self.contacts, self.step = contacts, step
        self._instants = np.zeros(0)
        self._t, self._v = 0.0, np.zeros(0)
        self._whole: ConstrainedVectorField | None = None

    def begin(self, run: RunState) -> None:
        self._whole, self._instants = run.flow, run.instants
        # a step has no rows for gaps and dry frictions
        run.flow = replace(run.flow, open=True)
        self._note(run)

    def next_time(self, t: float) -> float:
        ahead = np.searchsorted(self._instants, t, side="right")
        sample = self._instants[ahead] if ahead < len(self._instants) else np.inf
        # no separate step for a tiny interval before a sample
        return sample if sample <= t + self.step * (1 + AGREEMENT) else t + self.step

    def settle(self, run: RunState) -> None:
        nq = run.model.system.nq
        q, v, h = run.y[:nq], run.y[nq:], run.t - self._t
        before = np.asarray(run.here.controller_state, float)
        flow = self._whole
        assert flow is not None
        dynamics = flow.dynamics
        middle = host_state(moved(dynamics, q, -0.5 * h * v, run.t), v, run.t - 0.5 * h)
        problem = self.contacts.problem(flow, before, middle)
        met, modes, hit = self._impulses(problem, v, h, before)
        change = problem.response(problem.A.T @ met)
        after, end = v + change, q
        if np.any(change):
            end = moved(dynamics, q, 0.5 * h * change, run.t)
            held = flow.with_input(host_array(np.full(len(before), HELD_OFF))).dynamics
            placement = place(held, host_state(end, after, run.t), dynamics.scales)
            if not placement.converged:
                raise MotionEndError(Result.NOT_CONVERGED, "after the impulses of a step")
            end, after = np.asarray(placement.state.q), np.asarray(placement.state.v)
        lost = -float(met @ (problem.psi + 0.5 * problem.A @ change))
        impact = Collision(after, hit, lost) if hit else None
        first = self.contacts.first
        own = before[first:], modes[first:]
        record = self.contacts.record(run.t, *own, problem.metric, v, impact)
        if record is not None:
            run.turned.append(record)
        y = np.concatenate([end, after])
        run.here = run.here._replace(y=y, controller_state=modes)
        run.keep_state()
        self._note(run)

    def end(self, run: RunState, result: Result) -> None:
        if self._whole is not None:
            run.flow = self._whole

    def _note(self, run: RunState) -> None:
        self._t, self._v = run.t, run.y[run.model.system.nq :]

    def _impulses(
        self, problem: ContactProblem, v: np.ndarray, h: float, before: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[float, ...]]]:
        """Return Λ of all rows, the modes after the step, and Λ of the gaps that were hit."""
        contacts, psi = self.contacts, problem.psi
        gaps, n = contacts.gaps, len(contacts.gaps)
        shut = (problem.phi[gaps] <= 0) & ~problem.held_anyway(gaps)
        closing = np.flatnonzero(shut)
        normal, places = gaps[closing], {int(k): i for i, k in enumerate(closing)}
        approach = psi + problem.A @ (self._v - v)
        left = psi.copy()
        left[normal] += contacts.restitution[closing] * approach[normal]
        own = before[contacts.first :]
        touched = [(k, x) for k, x in enumerate(contacts.frictions) if x.gap < 0 or shut[x.gap]]
        mu = [
            x.static
            if own[n + k] == HELD_ON
            else x.kinetic(float(np.linalg.norm(approach[x.rows])))
            for k, x in touched
        ]
        met, rubbing = self._solved(problem, normal, places, touched, mu, left, h)
        after = psi + problem.A @ problem.response(problem.A.T @ met)
        # a friction whose slip reverses within the step may stick, with its larger coefficient
        turned = [
            x.static if approach[x.rows] @ after[x.rows] <= 0 else m
            for m, (_, x) in zip(mu, touched, strict=True)
        ]
        if turned != mu:
            mu = turned
            met, rubbing = self._solved(problem, normal, places, touched, mu, left, h)
            after = psi + problem.A @ problem.response(problem.A.T @ met)
        modes = before.copy()
        modes[contacts.first :] = HELD_OFF
        size = AGREEMENT * problem.length * problem.metric.speed(v)
        # a gap that rebounds is open again
        modes[contacts.first + closing[after[normal] <= size[normal]]] = HELD_ON
        for (k, x), disk in zip(touched, rubbing, strict=True):
            slip = np.linalg.norm(after[x.rows])
            sticks = slip <= np.max(size[x.rows]) and disk.radius(met[normal]) > 0
            along = after[x.rows] / (slip or 1.0)
            modes[contacts.first + n + k] = HELD_ON if sticks else x.way(along, straight=False)
            if x.gap >= 0 and modes[contacts.first + x.gap] == HELD_OFF:
                modes[contacts.first + n + k] = HELD_OFF
        # a contact at rest carries only the force over a step, and is not hit
        pull = h * problem.length * problem.metric.speed(problem.acceleration(problem.F))
        hit = {
            contacts.names[k]: (float(met[gaps[k]]),)
            for k in closing
            if met[gaps[k]] > 0 and -approach[gaps[k]] > 2 * pull[gaps[k]]
        }
        return met, modes, hit

    def _solved(
        self,
        problem: ContactProblem,
        normal: np.ndarray,
        places: dict[int, int],
        touched: Sequence[tuple[int, HostFriction]],
        mu: Sequence[float],
        left: np.ndarray,
        h: float,
    ) -> tuple[np.ndarray, list[Disk]]:
        """Return Λ of all rows with loads that agree with the impulses, and the disks of
        friction.
        """
        loads = np.array([x.load for x in self.contacts.frictions])
        for _ in range(50):
            rubbing = [
                x.disk(places, h * loads[k], m) for (k, x), m in zip(touched, mu, strict=True)
            ]
            met = impulses(problem, normal, rubbing, left)
            before, loads = loads, self._loads(problem, h, met)
            missed = np.max(np.abs(loads - before), initial=0.0)
            if missed <= SOLUTION_ERROR * np.max(np.abs(loads), initial=0.0):
                return met, rubbing
        raise MotionEndError(
            Result.PARADOX,
            "the normal loads of the frictions and the impulses that they cause have no "
            "common solution",
        )

    def _loads(self, problem: ContactProblem, h: float, met: np.ndarray) -> np.ndarray:
        """Return N of all frictions: the impulses of a step over its length."""
        impulse = problem.A.T @ met
        change = problem.response(impulse) + h * problem.acceleration(problem.F)
        need = problem.metric.M @ change - impulse - h * problem.F
        forces = (problem.multipliers(problem.held, need) + met) / h
        frictions, gaps = self.contacts.frictions, self.contacts.gaps
        return np.array([x.load_of(forces, x.load, gaps) for x in frictions])
