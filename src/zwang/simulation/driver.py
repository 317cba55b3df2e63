"""A run from its start to its last sample: the compiled loop called chunk by chunk, and turned
where a switch is due.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import numpy as np

from zwang.algebra.pseudoinverse import Proximal
from zwang.arrays import on_device
from zwang.compile import with_engine
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.errors import Result
from zwang.simulation.branch_start import meeting
from zwang.simulation.conditions import refuse_undefined
from zwang.simulation.jumps import Jump, jumps_of
from zwang.simulation.pace import Pace, why_short
from zwang.simulation.reached import Clock
from zwang.simulation.results import Steps, Switched
from zwang.simulation.results.observe import refuse_missed
from zwang.simulation.switching import RefusedSwitchError, Switching
from zwang.simulation.turning import turned
from zwang.simulation.vanishing import ENDLESS, Contradiction, vanishing
from zwang.simulation.watch import (
    STOPPED_BY_FRICTION,
    NearlyParallel,
    at_a_dead_point,
    blocked,
    decisive,
    examine,
    locked,
    loses_mass,
    remeasured,
)
from zwang.stepping.base import AbstractIntegrator
from zwang.stepping.step import Progress
from zwang.stepping.step_control import Tolerances
from zwang.stepping.step_loop import CHUNK, History, advance

RECENT = 8
"""Steps before a turn, the longest of which is tried first after it."""
SOON = 0.1
"""Part of the time since the turn before that the first step after a turn takes at most: the next
turn may come as soon, or sooner, and a condition that has come back to zero within that step would
be missed.
"""


LOST_MASS = (Result.NON_FINITE, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED)
"""How a run ends whose mass matrix becomes singular."""


@runtime_checkable
class Keeper(Protocol):
    """What keeps a run on the disk while it goes on, and lets it go on from there.

    A run that is kept takes its steps where and in chunks that do not depend on how fast this
    computer is, so that every one of them has the same digits.
    """

    def begin(self, driver: RunDriver, here: Progress, done: int) -> tuple[Progress, int]:
        """Where the run goes on from, and the number of samples that are done there."""
        raise NotImplementedError

    def settle(self, driver: RunDriver, here: Progress, done: int) -> None:
        """A chunk of steps is finished, and all that was due at its end."""
        raise NotImplementedError

    def end(self, driver: RunDriver, here: Progress, result: Result) -> Progress:
        """The run has ended; where, as far as it is kept."""
        raise NotImplementedError


class RunDriver:
    """Where a run is, and what it has left behind.

    Args:
        flow, integrator, events, tolerances, limit: as `advance` takes them.
        switching: the switches, or None.
        instants: sample times [s].
        progress: called with the fraction done.
        model: what moves, for names in messages.
        changeable: whether the method for A⊕ may be changed where rows become nearly parallel.
        conditions: what each function of `events` is called in messages.
        keeper: what keeps the steps in place of `parts`, or None.

    Attributes:
        parts: every accepted step; at least the last ones, where a keeper has taken the others.
        dropped: number of steps that a keeper has taken.
        turned: every change of topology.
        jumps: every jump of the velocity beside these.
        detail: what could not be switched, or which constraints end the run, or None.
        changes: a sentence for each change of the method for A⊕.
        engine: what the steps are compiled by, once there are any.
    """

    def __init__(
        self,
        flow: ConstrainedVectorField,
        integrator: AbstractIntegrator,
        events: Events,
        switching: Switching | None,
        instants: np.ndarray,
        tolerances: Tolerances,
        limit,
        progress: Callable[[float], None],
        *,
        model: Model,
        changeable: bool,
        conditions: Sequence[str] = (),
        keeper: Keeper | None = None,
    ):
        self.model, self.changeable, self.keeper = model, changeable, keeper
        self.changes: list[str] = []
        self.flow, self.integrator, self.events, self.switching = (
            flow,
            integrator,
            events,
            switching,
        )
        self.instants, self.tolerances, self.limit, self.progress = (
            instants,
            tolerances,
            limit,
            progress,
        )
        self.conditions = tuple(conditions)
        self.engine = ""
        self.parts: list[Steps] = []
        self.dropped = 0
        self.turned: list[Switched] = []
        self.jumps: list[Jump] = []
        self.detail: str | None = None
        self.first_step = np.nan
        self._start: Steps | None = None

    def run(self, here: Progress) -> tuple[Result, Progress]:
        """Step to the last sample, or as far as the motion goes."""
        result, here = self._followed(here)
        return result, here if self.keeper is None else self.keeper.end(self, here, result)

    def _followed(self, here: Progress) -> tuple[Result, Progress]:
        t0, instants = float(here.t), self.instants
        self.first_step = float(here.h)
        done = self._add(here, 0)
        # a run that is gone on with has let go of its first steps
        self._start = first = self._start or self.parts[0]
        try:
            if self.keeper is not None:
                here, done = self.keeper.begin(self, here, done)
            if float(here.t) == t0 and not self.turned:
                here = self._turned_at_start(here, done)
            clock = Clock(t0, float(instants[-1]), float(here.t))
            pace = Pace(float(here.t), float(instants[-1]), int(self.limit))

            def said(t: float, violation=()) -> None:
                self.progress(clock.reached(t, np.asarray(violation)))

            while done < len(instants):
                until, window = self._window(float(here.t), done)
                before = here
                here, history = self._advanced(here, window)
                part = Steps.of(history, done).without_samples_from(until)
                found = self._judged(here, part)
                # the steps before it are good and are kept
                if isinstance(found, Contradiction):
                    self.parts.append(part.first(found.step))
                    self.detail = found.sentence
                    return found.result, self._stopped_at(here)
                if found is not None and self._decide(found, before):
                    here = before  # the chunk is taken once more
                    continue
                ways = self._last_steps(), part, np.asarray(history.moved)
                self.jumps += jumps_of(self.model, self.flow, *ways, self.tolerances)
                self.parts.append(part)
                done += part.samples
                # checked per chunk on the host: raising inside the compiled loop is not possible
                last = self.parts[-1]
                refuse_missed(self.flow, last.t, last.y)
                self.integrator.watch(
                    self.flow, np.append(first.t[0], last.t), np.vstack([first.y[:1], last.y])
                )
                refuse_undefined(here, self.conditions)
                said(float(here.t), part.violation)
                stopped = int(here.result)
                if stopped == Result.STOPPED and not np.any(
                    np.asarray(here.fired)[: len(self.events.stops)]
                ):
                    stopped = Result.SUCCESS  # a switch, and no condition that ends the run
                goes_on, stopped = self._mended(here, stopped)
                if goes_on:
                    here = self._restarted(here)
                    continue
                # a run may be asked for without end if a condition stops it
                endless = not stopped and not self.events.stops
                hopeless = pace.given_up(_tried(here), float(here.t)) if endless else ""
                stopped = Result.TOO_MANY_STEPS if hopeless else stopped
                stopped = self._explained(here, stopped, part, hopeless)
                if stopped != Result.SUCCESS:
                    return Result(stopped), here
                if float(here.t) == until or np.any(np.asarray(here.fired)):
                    here = self._turn(here, instants[-1] - t0)
                    done += self._add(here, done)
                if self.keeper is not None:
                    self.keeper.settle(self, here, done)
        except RefusedSwitchError as refused:
            self.detail = refused.detail
            return refused.result, here
        except KeyboardInterrupt:
            return Result.INTERRUPTED, here
        return Result.SUCCESS, here

    def _advanced(self, here: Progress, window: np.ndarray) -> tuple[Progress, History]:
        """A chunk of steps."""
        run = self.flow, self.integrator, self.events
        given: tuple[Any, ...] = (*run, here, window, self.tolerances, self.limit)
        found, self.engine = with_engine(advance, *given)
        return found

    def _add(self, here: Progress, done: int) -> int:
        """Keep a state that no step ended on; 1 if it is the next sample, else 0."""
        sampled = done < len(self.instants) and self.instants[done] == float(here.t)
        self.parts.append(
            Steps.start(
                float(here.t),
                np.asarray(here.y),
                done if sampled else -1,
                np.asarray(self.flow.held_input(here.controller_state)),
            )
        )
        return int(sampled)

    def _last_steps(self) -> Steps:
        """The last part with steps: the host may have found none in the time of a slice."""
        return next(part for part in reversed(self.parts) if len(part.t))

    def _stopped_at(self, here: Progress) -> Progress:
        """Where the last step that is kept has ended."""
        last = self._last_steps()
        kept = self.dropped + sum(len(part.t) for part in self.parts) - 1
        where = lambda p: (p.t, p.y, p.accepted)
        return eqx.tree_at(where, here, (last.t[-1], last.y[-1], np.int64(kept)))

    def _window(self, t: float, done: int) -> tuple[float, np.ndarray]:
        """When the next switch is due by its time, and the sample times that a chunk steps to."""
        until = np.inf if self.switching is None else self.switching.next_time(t)
        # a window of one length, padded by inf: chunks of any number of samples share one program
        window = np.full(CHUNK, np.inf)
        ahead = self.instants[done : done + CHUNK]
        # the last one may be a switch's, not a sample's
        ahead = np.minimum(ahead[: np.searchsorted(ahead, until) + 1], until)
        window[: len(ahead)] = ahead
        return until, window

    def _judged(self, here: Progress, part: Steps) -> Contradiction | NearlyParallel | None:
        """What the watch says of a chunk that has ended at `here`."""
        assert self._start is not None
        last = self._last_steps()
        accepted, result = int(here.accepted), int(here.result)
        lengths = self._recent_lengths(part)
        return vanishing(self.flow, self._start, last, part, accepted, lengths, result) or examine(
            self.model, self.flow, last, part
        )

    def _decide(self, found: NearlyParallel, here: Progress) -> bool:
        """Whether a chunk is to be taken once more, with a method that its rows need."""
        dynamics = self.flow.dynamics
        # a method that the user chose is not changed behind his back
        if not self.changeable or type(dynamics.pseudoinverse) is not Proximal:
            return False
        when = f"from t = {float(here.t):.6g} s on"
        dynamics, sentence = decisive(dynamics, found.sigma, when)
        self.flow = dataclasses.replace(self.flow, dynamics=dynamics)
        self.changes.append(sentence)
        return True

    def _restarted(self, here: Progress) -> Progress:
        """Ready to step on from where a run has stopped, with the step that it began with."""
        # what the step controller had learned belongs to the motion before
        fresh = lambda p: (p.h, p.ratio, p.ceiling, p.refused, p.result)
        values = (self.first_step, 1.0, np.inf, 0, Result.SUCCESS)
        like = [
            np.asarray(new, np.asarray(old).dtype)
            for new, old in zip(values, fresh(here), strict=True)
        ]
        return eqx.tree_at(fresh, here, like)

    def _without_mass(self, here: Progress, stopped: int) -> tuple[bool, int]:
        """Whether a run that cannot go on has come to a singular mass matrix that constraints make
        up for, which is treated as such from here on; and otherwise why it ends.
        """
        lost, flow = loses_mass(self.model, self.flow, float(here.t), np.asarray(here.y))
        if flow is None:
            return False, Result.SINGULAR_MASS if lost else stopped
        self.flow = flow
        self.changes.append(f"the mass matrix becomes singular at t = {float(here.t):.6g} s")
        return True, stopped

    def _mended(self, here: Progress, stopped: int) -> tuple[bool, int]:
        """Whether a stopped run goes on with other equations, and otherwise why it ends."""
        # a singular mass shows as one of these; with the constraints’ help the run may go on
        if stopped in LOST_MASS:
            augmented, stopped = self._without_mass(here, stopped)
            if augmented:
                return True, stopped
        if stopped != Result.NOT_CONVERGED:
            return False, stopped
        # the scales may be those of a singular configuration that the motion has left
        flow = remeasured(self.flow, float(here.t), np.asarray(here.y))
        left, self.flow = flow is not self.flow, flow
        return left, stopped

    def _explained(self, here: Progress, stopped: int, part: Steps, hopeless: str) -> int:
        """Why a run ends, with its `detail`; `hopeless`: why it was given up."""
        if stopped == Result.SUCCESS:
            return stopped
        t, y = float(here.t), np.asarray(here.y)
        if stopped in STOPPED_BY_FRICTION and locked(self.flow.dynamics, t, y):
            return Result.PARADOX
        flow = self.flow.with_input(on_device(part.applied[-1])) if len(part.t) else self.flow
        if stopped == Result.NOT_CONVERGED or (stopped in ENDLESS and at_a_dead_point(flow, t, y)):
            stopped, self.detail = blocked(self.model, flow, t, y, float(here.h))
        if stopped in (Result.NOT_CONVERGED, Result.TOO_MANY_STEPS):
            where = meeting(self.flow.dynamics, y[: self.flow.dynamics.system.nq], t)
            self.detail = where or self.detail
        if self.detail is None and stopped in (*ENDLESS, Result.NON_FINITE):
            step = float(max(np.max(self._recent_lengths(), initial=0.0), float(here.h)))
            asked = flow.dynamics, *self._last_two(), step
            said = why_short(*asked, self.model.servo, stopped == Result.NON_FINITE)
            self.detail = "; ".join(filter(None, (hopeless, said))) or None
        return stopped

    def _last_two(self) -> tuple[np.ndarray, np.ndarray]:
        """The last two instants and states that were kept."""
        # a chunk in which every step was refused holds none
        ends = [x for x in self.parts if len(x.t)][-2:]
        t, y = (np.concatenate([getattr(x, name)[-2:] for x in ends])[-2:] for name in "ty")
        return t[[0, -1]], y[[0, -1]]

    def _recent_lengths(self, *added: Steps) -> np.ndarray:
        """Lengths of the last steps since the turn before, at most `RECENT`; with those of parts
        that are not kept yet.
        """
        last: list[np.ndarray] = []
        for part in reversed([*self.parts, *added]):
            last.insert(0, part.t)
            began = len(part.t) and np.isnan(part.log_det[0])  # the state after that turn
            if began or sum(map(len, last)) > RECENT:
                break
        return np.diff(np.concatenate(last))[-RECENT:]

    def _turned_at_start(self, here: Progress, done: int) -> Progress:
        """The start with what switches off there."""
        switching, stops = self.switching, len(self.events.stops)
        if switching is None:
            return here
        fired = switching.fired_at_start(here, stops)
        if switching.contacts is None and not np.any(fired):
            return here
        here = eqx.tree_at(lambda p: p.fired, here, fired)
        turned = self._turn(here, self.instants[-1] - float(here.t))
        self._add(turned, done)
        return turned

    def _turn(self, here: Progress, duration: float) -> Progress:
        """Change what holds where that is due, and try the first step after it."""
        assert self.switching is not None
        first = len(self.turned)
        end = float(self.instants[-1])
        here = turned(self.flow, self.events, self.switching, self.turned, here, duration, end)
        lengths = self._recent_lengths()
        fixed = self.tolerances.growth[1] == 1
        # the steps before the turn are the best guess of the scale after it; the controller
        # corrects it
        h = self.first_step if fixed else max(float(np.max(lengths, initial=0.0)), self.first_step)
        before = [x.time for x in self.turned[:first] if x.time < float(here.t)]
        apart = float(here.t) - before[-1] if before else np.inf
        h = h if fixed or apart <= 0 else min(h, SOON * apart)
        fresh = lambda p: (p.h, p.ratio, p.ceiling, p.refused, p.result, p.fired)
        values = (h, 1.0, np.inf, 0, Result.SUCCESS, np.zeros(len(here.fired), bool))
        like = [
            np.asarray(new, np.asarray(old).dtype)
            for new, old in zip(values, fresh(here), strict=True)
        ]
        return eqx.tree_at(fresh, here, like)


def _tried(here: Progress) -> int:
    return int(here.accepted) + int(here.rejected)
