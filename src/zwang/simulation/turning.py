"""Mode changes at an instant: switches that are due, then gaps and dry frictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import PyTree

from zwang.compile import called_again, model_program
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import Result
from zwang.remedy import SHORTER, advice
from zwang.simulation.contact import geometric_limit
from zwang.simulation.monitor import (
    RECENT_TURNS,
    AbstractMonitor,
    Chunk,
    MotionEndError,
    RunState,
)
from zwang.simulation.results import Switched
from zwang.simulation.switching import Switching
from zwang.stepping.step import Progress
from zwang.thresholds import AGREEMENT

CHATTER = 100
"""Largest number of mode changes at one instant, up to `AGREEMENT` of the run's duration. More are
chattering, which no step passes."""


class Turning(AbstractMonitor):
    """Applies switches, and determines the modes of gaps and dry frictions, where events require
    it.

    Args:
        switching: the switches, gaps and dry frictions of the run.

    Attributes:
        soon: upper limit of the first step after a mode change, relative to the time since the
            previous change: the next change may come as soon or sooner, and a condition that has
            returned to zero within that step would be missed.
    """

    soon = 0.1

    def __init__(self, switching: Switching):
        self.switching = switching
        self._due_at = self._last = np.inf
        self._duration, self._idle = 0.0, 0

    def begin(self, run: RunState) -> None:
        self._duration = float(run.instants[-1]) - run.t
        fired = self.switching.fired_at_start(run.here, len(run.events.stops))
        if run.turned or (self.switching.contacts is None and not np.any(fired)):
            return
        run.here = run.here._replace(fired=fired)
        self._turn(run)

    def next_time(self, t: float) -> float:
        self._due_at = self.switching.next_time(t)
        return self._due_at

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        if (contacts := self.switching.contacts) is not None:
            values, n = chunk.events, len(contacts.names)
            modes = chunk.steps.applied[:, -n:]
            contacts.certificate.take(values[:, -n:], modes, chunk.steps.residual)
        return result

    def settle(self, run: RunState) -> None:
        if run.t == self._due_at or np.any(np.asarray(run.here.fired)):
            self._turn(run)

    def _turn(self, run: RunState) -> None:
        """Change the modes that are due to change, and choose the first step after that."""
        before = next((x.time for x in reversed(run.turned) if x.time < run.t), np.inf)
        run.here = self._held(run, self._switched(run))
        # the steps before the change are the best guess of the time scale after it; the controller
        # corrects it
        h, fixed = run.first_step, run.tolerances.growth[1] == 1
        if not fixed:
            h = max(float(np.max(run.recent_lengths(), initial=0.0)), h)
            h = h if before == np.inf else min(h, self.soon * (run.t - before))
        run.restart(h, fired=np.zeros(len(run.here.fired), bool))
        run.keep_state()

    def _switched(self, run: RunState) -> Progress:
        """Return the state after the switches that are due, and after those that they cause at the
        same instant: a rope that is pushed as soon as it is taut.

        Raises:
            MotionEndError: if constraints contradict each other from then on, or the changes do not
                end.
        """
        switching, events, done, here = self.switching, run.events, run.turned, run.here
        stops, first = len(events.stops), len(done)
        due = switching.due(here, stops)
        while due:
            now = switching.apply(run.flow, here, due, self._duration)
            assert now.record is not None  # switches that are due change
            done.append(now.record)
            values = np.zeros(0)
            if len(here.events):
                values = event_values(events, run.flow, now.modes, here.t, now.y)
            for k, turn in enumerate(switching.conditions, start=stops):
                if not turn.off and due.get(turn.switch) == 1:
                    # used: the constraint has brought it to zero, and round-off decides on its sign
                    values[k] = np.inf
            rises = events.rising & (np.asarray(here.events) <= 0)
            fired = rises & (values > 0) & np.isfinite(values)
            here = _with(here, now.y, now.modes, values, fired)
            due = switching.due(here, stops)
            # more changes than twice the switches: they undo each other
            if len(done) - first > 2 * len(switching.switches) + 1:
                raise MotionEndError(Result.CHATTERING, done[-1].what)
            _refuse_chatter(done, here, self._duration)
        what = done[first].what if len(done) > first else ""
        limit = accumulation([x.time for x in done[-RECENT_TURNS:] if what and x.what == what])
        if limit <= float(run.instants[-1]):
            detail = (
                f"{what} at instants that accumulate at about t = {limit:.6g} s: {advice(SHORTER)}"
            )
            raise MotionEndError(Result.CHATTERING, detail)
        return here

    def _held(self, run: RunState, here: Progress) -> Progress:
        """Return the state with the modes of gaps and dry frictions from now on."""
        flow, contacts = run.flow, self.switching.contacts
        if contacts is None:
            return here
        modes = np.asarray(here.controller_state, np.float64)
        loose = slice(len(run.events.stops) + len(run.events.conditions), None)
        fired = np.asarray(here.fired)[loose]
        now = contacts.settle(flow, flow.state(here.t, here.y), modes, self._duration, fired)
        if now.record is not None:
            run.turned.append(now.record)
            _refuse_chatter(run.turned, here, self._duration)
        # events in succession without a mode change are chattering as well
        near = here.t - self._last <= AGREEMENT * self._duration
        self._idle = self._idle + 1 if now.record is None and near else 0
        self._last = float(here.t)
        if self._idle > CHATTER:
            due = [x for x, yes in zip(contacts.names, fired, strict=True) if yes]
            detail = (
                f"events of {', '.join(due)} repeat at one instant without a lasting mode change"
            )
            raise MotionEndError(Result.CHATTERING, detail)
        values = event_values(run.events, flow, now.modes, here.t, now.y)
        # round-off above zero does not count as a rise
        values[loose] = np.minimum(values[loose], 0.0)
        return _with(here, now.y, now.modes, values, np.zeros(len(values), bool))

    def changed(self, run: RunState, params: PyTree) -> None:
        """Determine the modes of gaps and dry frictions again, after forces or parameters of the
        run were changed from outside.

        Args:
            params: the parameters from now on; None if they did not change.
        """
        if self.switching.contacts is None:
            return
        if params is not None:
            memory = self.memory()
            self.switching.contacts = self.switching.contacts.with_params(params)
            self.recall(memory)
        quiet = run.here._replace(fired=np.zeros(len(run.here.fired), bool))
        run.here = self._held(run, quiet)

    @property
    def attributes(self) -> dict[str, Any]:
        contacts = self.switching.contacts
        return {} if contacts is None else contacts.certificate.attributes

    def memory(self) -> dict[str, Any]:
        contacts = self.switching.contacts
        return {} if contacts is None else contacts.memory()

    def recall(self, memory: dict[str, Any]) -> None:
        if self.switching.contacts is not None:
            self.switching.contacts.recall(memory)


def _with(here: Progress, y, controller_state, values, fired) -> Progress:
    return here._replace(y=y, controller_state=controller_state, events=values, fired=fired)


def _refuse_chatter(done: Sequence[Switched], here: Progress, duration: float) -> None:
    """Raise if there were many mode changes at one instant."""
    if len(done) > CHATTER and here.t - done[-1 - CHATTER].time <= AGREEMENT * duration:
        raise MotionEndError(Result.CHATTERING, done[-1].what)


def accumulation(times: Sequence[float]) -> float:
    """Return the limit of instants whose intervals shrink geometrically [s]; inf without a
    limit.
    """
    # The events accumulate there, and no step passes it. Eight intervals in a row, each shorter
    # than the last by one ratio, indicate infinitely many in a finite time (Zeno behavior), as of a
    # ball that bounces ever lower.
    intervals = np.diff(times)[-8:]
    if len(intervals) < 8 or np.any(intervals <= 0):
        return np.inf
    ratios = intervals[1:] / intervals[:-1]
    ratio, spread = float(ratios[-1]), 0.05
    steady = np.max(ratios) < 1 - spread and np.max(ratios) - np.min(ratios) <= spread * ratio
    return geometric_limit(times) if steady else np.inf


def event_values(
    events: Events, flow: ConstrainedVectorField, controller_state, t, y
) -> np.ndarray:
    """Return the functions of all events at one instant, by one compiled program."""
    return np.array(called_again(_event_values, (events, flow), controller_state, t, y)[0])


@model_program
def _event_values(events: Events, flow: ConstrainedVectorField, controller_state, t, y):
    return events(flow, controller_state, t, y)
