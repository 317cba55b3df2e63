"""The interface of monitors, which examine a run while it is computed, and the state of the run
that they read and change.
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
"""Number of steps before a mode change that determine the length of the first step after it."""
RECENT_TURNS = 1000
"""Number of mode changes that are examined for instants that accumulate, and for chatter."""
LOOKED_BACK = 2
"""Number of last parts of a run that are kept for later steps: a chunk, and the state after a
switch.
"""


class MotionEndError(Exception):
    """Ends a motion that cannot continue, with its `Result` and a detail for its sentence."""

    @misfits_named
    def __init__(self, result: Result, detail: str):
        super().__init__(detail)
        self.result, self.detail = result, detail


class Chunk(NamedTuple):
    """Steps that were taken in one call of the compiled loop.

    Attributes:
        steps: the steps.
        moved: change of y by the projection at the end of each, shape (steps, n).
        before: the steps up to their start.
        events: the event functions at the end of each, shape (steps, events).
    """

    steps: Steps
    moved: np.ndarray
    before: Steps
    events: np.ndarray


class AbstractMonitor:
    """A check of a run on the host. The driver (`zwang.simulation.driver.drive`) calls all monitors
    of a run in their order; a method that is not overridden has no effect.
    """

    def begin(self, run: RunState) -> None:
        """Examine the state from which the run is to continue."""

    def next_time(self, t: float) -> float:
        """Return the next instant after t at which a step has to end, other than the samples; inf
        without one.
        """
        return np.inf

    def inspect(self, run: RunState, chunk: Chunk) -> bool:
        """Examine steps before they are accepted. Return true if they have to be repeated with the
        flow that this method has put into `run`.

        Raises:
            MotionEndError: if the motion ends within them (`RunState.end_within`).
        """
        return False

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        """Return the result of the run after accepted steps, given that of the monitors before.
        `Result.SUCCESS` lets the run continue, also where steps have stopped and this method has
        removed the cause (`RunState.restart`).
        """
        return result

    def settle(self, run: RunState) -> None:
        """Act on the state that the steps have reached, in a run that continues."""

    def end(self, run: RunState, result: Result) -> None:
        """Finish a run that has ended."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the finished run."""
        return {}

    def memory(self) -> dict[str, Any]:
        """Return the values that later decisions depend on and the run itself does not contain, for
        JSON, so that a resumed run continues as if it had not been interrupted.
        """
        return {}

    def recall(self, memory: dict[str, Any]) -> None:
        """Restore the values that `memory` returned."""


@dataclasses.dataclass
class RunState:
    """State of a run, with its accepted steps.

    Attributes:
        model: the model, for names in messages.
        flow, integrator, events, tolerances, limit: arguments of `advance`.
        instants: sample times [s].
        here: the present state.
        monitors: monitors of the run, in order.
        done: number of samples that were reached.
        parts: all accepted steps; only the last ones if others are on disk.
        dropped: number of steps that are no longer in `parts`.
        turned: all mode changes.
        detail: reason for a failed mode change, or the constraints that end the run, or None.
        changes: a sentence for each change of the equations.
        engine: the compiler of the steps, after the first ones.
        first_step: length of the first attempted step [s].
        start: contains the first state.
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
        """Present time [s]."""
        return float(self.here.t)

    @property
    def y(self) -> np.ndarray:
        """(q, v) at the present time."""
        return np.asarray(self.here.y)

    @property
    def tried(self) -> int:
        """Number of attempted steps so far."""
        return int(self.here.accepted) + int(self.here.rejected)

    @property
    def result(self) -> Result:
        """Result of the last steps; an event that ends no run counts as a success."""
        result = Result(int(self.here.result))
        stops = np.asarray(self.here.fired)[: len(self.events.stops)]
        return Result.SUCCESS if result is Result.STOPPED and not np.any(stops) else result

    def begin(self) -> None:
        """Count samples from the present state on."""
        self.first_step, self.done = float(self.here.h), 0
        self.keep_state()
        # a run that is resumed has dropped its first steps
        self.start = self.start or self.parts[0]

    def keep(self, steps: Steps) -> None:
        """Add accepted steps."""
        self.parts.append(steps)
        self.done += steps.samples

    def keep_state(self) -> None:
        """Add the present state, at which no step ended."""
        sampled = self.done < len(self.instants) and self.instants[self.done] == self.t
        held = np.asarray(self.flow.held_input(self.here.controller_state))
        self.keep(Steps.start(self.t, self.y, self.done if sampled else -1, held))

    def end_within(self, chunk: Chunk, count: int, result: Result, detail: str) -> NoReturn:
        """End the run after the first `count` steps of a chunk, which are accepted."""
        self.keep(chunk.steps.first(count))
        last = self.last_steps()
        kept = self.dropped + sum(len(part.t) for part in self.parts) - 1
        self.here = self.here._replace(t=last.t[-1], y=last.y[-1], accepted=np.int64(kept))
        raise MotionEndError(result, detail)

    def restart(self, h: float, **changed: object) -> None:
        """Continue from the present state with a first step of length h: what the step controller
        has learned belongs to the motion before.

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
        """Drop all steps and mode changes except those that later steps refer to."""
        count = lambda: sum(len(part.t) for part in self.parts)
        before = count()
        self.parts, self.turned = self.parts[-LOOKED_BACK:], self.turned[-RECENT_TURNS:]
        self.dropped += before - count()

    def last_steps(self) -> Steps:
        """Return the last part that contains steps: a chunk in which every step was rejected has
        none.
        """
        return next(part for part in reversed(self.parts) if len(part.t))

    def last_two(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the last two accepted instants and states."""
        ends = [x for x in self.parts if len(x.t)][-2:]
        t, y = (np.concatenate([getattr(x, name)[-2:] for x in ends])[-2:] for name in "ty")
        return t[[0, -1]], y[[0, -1]]

    def recent_lengths(self, *added: Steps) -> np.ndarray:
        """Return the lengths of the last steps since the last mode change, at most `RECENT`,
        including those of parts that are not accepted yet.
        """
        last: list[np.ndarray] = []
        for part in reversed([*self.parts, *added]):
            last.insert(0, part.t)
            began = len(part.t) and np.isnan(part.log_det[0])  # the state after that change
            if began or sum(map(len, last)) > RECENT:
                break
        return np.diff(np.concatenate(last))[-RECENT:]

    def memory(self) -> dict[str, dict[str, Any]]:
        """Return the values of all monitors that have any, by their names."""
        return {type(x).__name__: held for x in self.monitors if (held := x.memory())}

    def recall(self, memory: dict[str, dict[str, Any]]) -> None:
        """Restore the values of the monitors that `memory` returned."""
        for x in self.monitors:
            if (held := memory.get(type(x).__name__)) is not None:
                x.recall(held)
