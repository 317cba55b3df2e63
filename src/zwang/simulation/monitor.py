"""What a run is watched for while it goes on: one interface for all of it, and the state of the run
that monitors read and change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from jaxtyping import Array

from zwang.dynamics.model import Model
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import Result
from zwang.inputs.call import misfits_named
from zwang.simulation.results import Steps, Switched
from zwang.stepping.base import AbstractIntegrator
from zwang.stepping.step import Progress
from zwang.stepping.step_control import Tolerances

RECENT = 8
"""Steps before a turn that say how long the first one after it may be."""
RECENT_TURNS = 1000
"""Turns that decide whether their instants accumulate, or chatter."""
LOOKED_BACK = 2
"""Last parts of a run that are looked back at: a chunk, and the state after a switch."""


class MotionEndError(Exception):
    """The end of a motion that cannot go on, with its `Result` and a detail for its sentence."""

    @misfits_named
    def __init__(self, result: Result, detail: str):
        super().__init__(detail)
        self.result, self.detail = result, detail


class Chunk(NamedTuple):
    """Steps that were taken in one call of the compiled loop.

    Attributes:
        steps: they themselves.
        moved: what the projection at the end of each has changed of y, shape (steps, n).
        before: the steps up to their start.
        events: the event functions at the end of each, shape (steps, events).
    """

    steps: Steps
    moved: np.ndarray
    before: Steps
    events: np.ndarray


class AbstractMonitor:
    """One thing that a run is watched for. The driver (`zwang.simulation.driver.drive`) calls every
    monitor of a run in their order; what none of them overrides does nothing.
    """

    def begin(self, run: RunState) -> None:
        """Look at the state from which the run is to go on."""

    def next_time(self, t: float) -> float:
        """The instant after t that a step is to end on, beside the samples; inf if there is
        none.
        """
        return np.inf

    def inspect(self, run: RunState, chunk: Chunk) -> bool:
        """Judge steps before they are kept: true if they are to be taken once more, by the flow
        that this has put into `run`.

        Raises:
            MotionEndError: if the motion ends within them (`RunState.end_within`).
        """
        return False

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        """How the run stands after steps that are kept, from how the monitors before see it.
        `Result.SUCCESS` lets it go on, also where steps have stopped and this has mended the cause
        (`RunState.restart`).
        """
        return result

    def settle(self, run: RunState) -> None:
        """Do what is due where the steps have ended, in a run that goes on."""

    def end(self, run: RunState, result: Result) -> None:
        """Finish a run that has ended."""

    @property
    def attributes(self) -> dict[str, Any]:
        """What the finished run records of this."""
        return {}

    def memory(self) -> dict[str, Any]:
        """All that later judgements depend on and the run itself does not hold, as JSON has it: a
        run that is taken up again goes on as one that was never interrupted.
        """
        return {}

    def recall(self, memory: dict[str, Any]) -> None:
        """Take up what `memory` gave."""


@dataclasses.dataclass
class RunState:
    """Where a run is, and what it has left behind.

    Attributes:
        model: what moves, for names in messages.
        flow, integrator, events, tolerances, limit: as `advance` takes them.
        instants: sample times [s].
        here: the state that is reached.
        monitors: what the run is watched for.
        done: number of samples that are reached.
        parts: every accepted step; at least the last ones, where others are on the disk.
        dropped: number of steps that are no longer in `parts`.
        turned: every change of topology.
        detail: what could not be switched, or which constraints end the run, or None.
        changes: a sentence for each change of the equations.
        engine: what the steps are compiled by, once there are any.
        first_step: length of the first step that was tried [s].
        start: holds the first state.
    """

    model: Model
    flow: ConstrainedVectorField
    integrator: AbstractIntegrator
    events: Events
    instants: np.ndarray
    tolerances: Tolerances
    limit: Array
    here: Progress
    monitors: Sequence[AbstractMonitor] = ()
    done: int = 0
    parts: list[Steps] = dataclasses.field(default_factory=list)
    dropped: int = 0
    turned: list[Switched] = dataclasses.field(default_factory=list)
    detail: str | None = None
    changes: list[str] = dataclasses.field(default_factory=list)
    engine: str = ""
    first_step: float = np.nan
    start: Steps | None = None

    @property
    def t(self) -> float:
        """Time that is reached [s]."""
        return float(self.here.t)

    @property
    def y(self) -> np.ndarray:
        """(q, v) there."""
        return np.asarray(self.here.y)

    @property
    def tried(self) -> int:
        """Attempted steps so far."""
        return int(self.here.accepted) + int(self.here.rejected)

    @property
    def result(self) -> Result:
        """How the last steps have ended: an event that ends no run is none."""
        result = Result(int(self.here.result))
        stops = np.asarray(self.here.fired)[: len(self.events.stops)]
        return Result.SUCCESS if result is Result.STOPPED and not np.any(stops) else result

    def begin(self) -> None:
        """Count from the present state."""
        self.first_step, self.done = float(self.here.h), 0
        self.keep_state()
        # a run that is gone on with has let go of its first steps
        self.start = self.start or self.parts[0]

    def keep(self, steps: Steps) -> None:
        """Add steps to those that are kept."""
        self.parts.append(steps)
        self.done += steps.samples

    def keep_state(self) -> None:
        """Keep the present state, which no step ended on."""
        sampled = self.done < len(self.instants) and self.instants[self.done] == self.t
        held = np.asarray(self.flow.held_input(self.here.controller_state))
        self.keep(Steps.start(self.t, self.y, self.done if sampled else -1, held))

    def end_within(self, chunk: Chunk, count: int, result: Result, detail: str) -> NoReturn:
        """End the run after the first `count` steps of a chunk, which are good and are kept."""
        self.keep(chunk.steps.first(count))
        last = self.last_steps()
        kept = self.dropped + sum(len(part.t) for part in self.parts) - 1
        self.here = self.here._replace(t=last.t[-1], y=last.y[-1], accepted=np.int64(kept))
        raise MotionEndError(result, detail)

    def restart(self, h: float, **changed: object) -> None:
        """Step on from the present state with a first step of length h: what the step controller
        had learned belongs to the motion before.

        Args:
            h: length of that step [s].
            changed: further fields of `here`.
        """
        fresh = {"h": h, "ratio": 1.0, "ceiling": np.inf, "refused": 0, "result": Result.SUCCESS}
        like = {
            name: np.asarray(new, np.asarray(getattr(self.here, name)).dtype)
            for name, new in (fresh | changed).items()
        }
        self.here = self.here._replace(**like)

    def forget(self) -> None:
        """Let go of all steps and turns but those that the next ones look back at."""
        count = lambda: sum(len(part.t) for part in self.parts)
        before = count()
        self.parts, self.turned = self.parts[-LOOKED_BACK:], self.turned[-RECENT_TURNS:]
        self.dropped += before - count()

    def last_steps(self) -> Steps:
        """The last part with steps: a chunk in which every step was refused holds none."""
        return next(part for part in reversed(self.parts) if len(part.t))

    def last_two(self) -> tuple[np.ndarray, np.ndarray]:
        """The last two instants and states that were kept."""
        ends = [x for x in self.parts if len(x.t)][-2:]
        t, y = (np.concatenate([getattr(x, name)[-2:] for x in ends])[-2:] for name in "ty")
        return t[[0, -1]], y[[0, -1]]

    def recent_lengths(self, *added: Steps) -> np.ndarray:
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

    def memory(self) -> dict[str, dict[str, Any]]:
        """What its monitors remember, by their names."""
        return {type(x).__name__: held for x in self.monitors if (held := x.memory())}

    def recall(self, memory: dict[str, dict[str, Any]]) -> None:
        """Let its monitors remember what `memory` gave."""
        for x in self.monitors:
            if (held := memory.get(type(x).__name__)) is not None:
                x.recall(held)
