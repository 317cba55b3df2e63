"""What takes the steps of a run: the host at once, the compiled loop as soon as there is one."""

from __future__ import annotations

import os
import time
from typing import Literal

import numpy as np

from zwang.arguments import choice
from zwang.dynamics.host import HostVectorField, has_host
from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.simulation.switching import event_values
from zwang.stepping.base import AbstractIntegrator
from zwang.stepping.explicit import AbstractExplicit
from zwang.stepping.step_loop import History, Progress, Tolerances, advance, advance_on_host

Execution = Literal["auto", "host", "compiled"]
VARIABLE = "ZWANG_EXECUTION"
"""Environment variable that has the last word on where the steps of a run are taken."""
SLICE = 0.25
"""Longest time on the host between two looks at the outside [s]: progress, Ctrl-C, the compiler."""


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

    Attributes:
        host_steps: how many accepted steps the host took.
    """

    def __init__(
        self,
        execution: Execution,
        integrator: AbstractIntegrator,
        events: Events,
        tolerances: Tolerances,
        limit,
    ):
        self.execution = execution
        self.integrator, self.events, self.tolerances, self.limit = (
            integrator,
            events,
            tolerances,
            limit,
        )
        self.host_steps = 0
        self._host: HostVectorField | None = None

    def advance(
        self, flow: ConstrainedVectorField, here: Progress, window: np.ndarray
    ) -> tuple[Progress, History]:
        """A chunk of steps, or what the host takes of one in `SLICE` seconds."""
        if self.execution == "compiled" or not self._has_host(flow):
            return advance(
                flow,  # type: ignore
                self.integrator,
                self.events,
                here,
                window,  # type: ignore
                self.tolerances,
                self.limit,
            )
        if self._host is None or self._host.flow is not flow:
            self._host = HostVectorField(flow)
        end = time.perf_counter() + SLICE
        found = advance_on_host(
            self._host,
            self.integrator,
            HostEvents(self.events),
            here,
            window,
            self.tolerances,
            int(self.limit),
            lambda: time.perf_counter() > end,
        )
        self.host_steps += int(found[1].count)
        return found

    def _has_host(self, flow: ConstrainedVectorField) -> bool:
        return isinstance(self.integrator, AbstractExplicit) and has_host(flow)


def execution_of(asked: Execution | None) -> Execution:
    """Where the steps of a run are taken: as `ZWANG_EXECUTION` says, or as asked for."""
    named = os.environ.get(VARIABLE)
    what = "execution" if named is None else VARIABLE
    return choice(named or asked or "auto", what, ("auto", "host", "compiled"))  # type: ignore
