"""What takes the steps of a run: the host at first, the compiled loop once it is ready."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from zwang.arguments import choice
from zwang.compile import prepared
from zwang.compile.background import Background
from zwang.dynamics.host import HostVectorField, has_host
from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.simulation.switching import event_values
from zwang.stepping.base import AbstractIntegrator
from zwang.stepping.explicit import AbstractExplicit
from zwang.stepping.step import Progress
from zwang.stepping.step_control import Tolerances
from zwang.stepping.step_loop import History, advance, advance_on_host

Execution = Literal["auto", "host", "compiled"]
VARIABLE = "ZWANG_EXECUTION"
"""Environment variable that has the last word on where the steps of a run are taken."""
LEAST_WAIT = 4.0
"""Seconds on the host, in this run or in all runs of the same motion, from which on the loop is
compiled behind it."""
LOOP_TO_EVALUATION = 5.0
"""How long compiling the loop takes, in those of the evaluation: from 4 to 7 for linkages."""
_spent_on: dict[Any, float] = {}
"""Seconds on the host so far, by program."""
SLICE = 0.25
"""Longest time on the host between two looks at the outside [s]: progress, the compiler."""


class HostEvents:
    """Event functions on the host, by one compiled program."""

    def __init__(self, events: Events):
        self.events, self.rising = events, events.rising

    def __call__(self, flow: HostVectorField, controller_state, t, y) -> np.ndarray:
        if not len(self.rising):
            return np.zeros(0)
        state = np.asarray(controller_state) if len(np.shape(controller_state)) else ()
        return np.asarray(event_values(self.events, flow.flow, state, np.float64(t), y))


class Engine:
    """Takes the steps of one run.

    Args:
        execution: `"host"`, `"compiled"`, or `"auto"` for the host until the loop is compiled.
        integrator, events, tolerances, limit: as `advance` takes them.
        end: when the run ends [s].

    Attributes:
        steps: accepted steps, by where they were taken.
    """

    def __init__(
        self,
        execution: Execution,
        integrator: AbstractIntegrator,
        events: Events,
        tolerances: Tolerances,
        limit,
        end: float,
    ):
        self.execution = execution
        self.integrator, self.events, self.tolerances, self.limit, self.end = (
            integrator,
            events,
            tolerances,
            limit,
            end,
        )
        self.steps = {"host": 0, "compiled": 0}
        self._host: HostVectorField | None = None
        self._events = HostEvents(events)
        self._compiled_for: ConstrainedVectorField | None = None
        self._behind: tuple[ConstrainedVectorField, Background] | None = None
        self._spent = 0.0

    @property
    def description(self) -> str:
        """Where the steps were taken."""
        taken = [f"{home} ({count} steps)" for home, count in self.steps.items() if count]
        return ", then ".join(taken)

    def advance(
        self,
        flow: ConstrainedVectorField,
        here: Progress,
        window: np.ndarray,
        reached: Callable[[float], None] = lambda t: None,
    ) -> tuple[Progress, History]:
        """A chunk of steps: on the host the same as in the compiled loop, whatever the time that it
        takes, or those until the loop is ready. `reached` is called with the time [s] meanwhile.
        """
        arguments = self.integrator, self.events, here, window, self.tolerances, self.limit
        if self._is_compiled(flow, arguments):
            found = cast(Any, advance)(flow, *arguments)
            self.steps["compiled"] += int(found[1].count)
            return found
        # the driver replaces the motion when it rescales rows or changes the method for A⊕
        if self._host is None or self._host.flow is not flow:
            self._host = HostVectorField(flow)
        mark = time.perf_counter(), float(here.t)

        def look(p: Progress) -> None:
            nonlocal mark
            (begun, first), mark = mark, (time.perf_counter(), float(p.t))
            self._spent += mark[0] - begun
            if self.execution == "auto":
                self._look_ahead(flow, arguments, mark[0] - begun, first, mark[1])

        def until(p: Progress) -> bool:
            if time.perf_counter() <= mark[0] + SLICE:
                return False
            look(p)
            reached(mark[1])
            return self._is_ready(flow)

        found = advance_on_host(
            cast(Any, self._host),
            self.integrator,
            cast(Any, self._events),
            here,
            window,
            self.tolerances,
            self.limit,
            until,
        )
        self.steps["host"] += int(found[1].count)
        look(found[0])
        return found

    def _is_compiled(self, flow: ConstrainedVectorField, arguments: tuple) -> bool:
        """Whether the loop is taken, or has to be, for the host has no way to."""
        explicit = isinstance(self.integrator, AbstractExplicit)
        if self.execution == "compiled" or not explicit or not has_host(flow):
            return True
        if self.execution == "host":
            return False
        if self._compiled_for is not flow:
            # the first time: has another run compiled it?
            if self._is_ready(flow) or (self._behind is None and not self._spent):
                ready = prepared(advance, flow, *arguments, make=False)
                self._compiled_for = flow if ready else None
        return self._compiled_for is flow

    def _is_ready(self, flow: ConstrainedVectorField) -> bool:
        """Whether the loop that was compiled behind this run is ready."""
        if self._behind is None:
            return False
        compiled_for, behind = self._behind
        return compiled_for is flow and behind.done and behind.error is None

    def _look_ahead(
        self, flow: ConstrainedVectorField, arguments: tuple, spent: float, first: float, t: float
    ) -> None:
        """Begin to compile the loop if it pays: for what is left of this run, or because the same
        motion has been run before. Stepping from `first` to `t` [s] has just taken `spent` seconds.
        """
        if self._behind is not None or t <= first:
            return
        # at the pace so far; a motion that gets faster or slower is judged again each time
        left = spent * (self.end - t) / (t - first)
        assert self._host is not None
        evaluation = self._host.evaluation
        worth, key = max(LEAST_WAIT, LOOP_TO_EVALUATION * evaluation.seconds), evaluation.key
        _spent_on[key] = _spent_on.get(key, 0.0) + spent
        if left > worth or (_spent_on[key] > worth and left > SLICE):
            prepare = lambda: prepared(advance, flow, *arguments, make=True)
            self._behind = flow, Background(prepare)


def execution_of(asked: Execution | None) -> Execution:
    """Where the steps of a run are taken: as `ZWANG_EXECUTION` says, or as asked for."""
    options = "auto", "host", "compiled"
    chosen = choice("auto" if asked is None else asked, "execution", options)
    named = os.environ.get(VARIABLE)
    return choice(named, VARIABLE, options) if named else chosen
