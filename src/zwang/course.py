"""A run from its start to its last sample: the compiled loop called chunk by chunk, and turned
where a switch is due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import equinox as eqx
import numpy as np

from zwang.conditions import refuse_undefined
from zwang.errors import Result
from zwang.flow import Events, MotionFlow
from zwang.integrate import AbstractIntegrator
from zwang.integrate.loop import CHUNK, Progress, Tolerances, advance
from zwang.run import Steps, Switched
from zwang.run.observe import refuse_missed
from zwang.switching import (
    CHATTER,
    SAME_INSTANT,
    RefusedSwitchError,
    Switching,
    accumulation,
    event_values,
)

RECENT = 8
"""Steps before a turn, the longest of which is tried first after it."""
SOON = 0.1
"""Part of the time since the turn before that the first step after a turn takes at most: the next
turn may come as soon, or sooner,
and a condition that has come back to zero within that step would be missed.
"""


class Course:
    """Where a run is, and what it has left behind.

    Args:
        flow, integrator, events, tolerances, limit: as `advance` takes them.
        switching: the switches, or None.
        instants: sample times [s].
        progress: called with the fraction done, or None.
        conditions: what each function of `events` is called in messages.

    Attributes:
        parts: every accepted step.
        turned: every change of topology.
        detail: what could not be switched, or None.
    """

    def __init__(
        self,
        flow: MotionFlow,
        integrator: AbstractIntegrator,
        events: Events,
        switching: Switching | None,
        instants: np.ndarray,
        tolerances: Tolerances,
        limit,
        progress: Callable[[float], None] | None,
        conditions: Sequence[str] = (),
    ):
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
        self.parts: list[Steps] = []
        self.turned: list[Switched] = []
        self.detail: str | None = None
        self.first_step = np.nan

    def follow(self, here: Progress) -> tuple[Result, Progress]:
        """Step to the last sample, or as far as the motion goes."""
        t0, instants = float(here.t), self.instants
        self.first_step = float(here.h)
        done = self._add(here, 0)
        try:
            while done < len(instants):
                until = (
                    np.inf if self.switching is None else self.switching.next_time(float(here.t))
                )
                window = np.full(CHUNK, np.inf)
                ahead = instants[done : done + CHUNK]
                ahead = np.minimum(
                    ahead[: np.searchsorted(ahead, until) + 1], until
                )  # the last one may be a switch's, not a sample's
                window[: len(ahead)] = ahead
                here, history = advance(
                    self.flow,  # type: ignore
                    self.integrator,
                    self.events,
                    here,
                    window,  # type: ignore
                    self.tolerances,
                    self.limit,
                )
                self.parts.append(Steps.of(history, done).without_samples_from(until))
                done += self.parts[-1].samples
                first, last = self.parts[0], self.parts[-1]
                refuse_missed(self.flow, last.t, last.y)
                self.integrator.watch(
                    self.flow, np.append(first.t[0], last.t), np.vstack([first.y[:1], last.y])
                )
                refuse_undefined(here, self.conditions)
                if self.progress is not None:
                    self.progress((float(here.t) - t0) / (instants[-1] - t0))
                stopped = int(here.result)
                if stopped == Result.STOPPED and not np.any(
                    np.asarray(here.fired)[: len(self.events.stops)]
                ):
                    stopped = Result.SUCCESS  # a switch, and no condition that ends the run
                if stopped != Result.SUCCESS:
                    return Result(stopped), here
                if float(here.t) == until or np.any(np.asarray(here.fired)):
                    here = self._turn(here, instants[-1] - t0)
                    done += self._add(here, done)
        except RefusedSwitchError as refused:
            self.detail = refused.detail
            return refused.result, here
        except KeyboardInterrupt:
            return Result.INTERRUPTED, here
        return Result.SUCCESS, here

    def _add(self, here: Progress, done: int) -> int:
        """Keep a state that no step ended on; 1 if it is the next sample, else 0."""
        sampled = done < len(self.instants) and self.instants[done] == float(here.t)
        self.parts.append(
            Steps.start(
                float(here.t),
                np.asarray(here.y),
                done if sampled else -1,
                np.asarray(self.flow.applied(here.memory)),
            )
        )
        return int(sampled)

    def _turn(self, here: Progress, duration: float) -> Progress:
        """Switch what is due, and what that switches in its wake at the same instant: a rope that
        is pushed as soon as it is taut.
        """
        switching = self.switching
        assert switching is not None
        stops, first = len(self.events.stops), len(self.turned)
        due = switching.due(here, stops)
        while due:
            now = switching.turned(self.flow, here, due, duration)
            self.turned.append(now.record)
            values = (
                np.array(event_values(self.events, self.flow, now.memory, here.t, now.y))
                if len(here.events)
                else np.zeros(0)
            )
            for k, turn in enumerate(switching.turns, start=stops):
                if not turn.off and due.get(turn.switch) == 1:
                    values[k] = (
                        np.inf
                        # spent: the constraint has brought it to zero, on which side of it is
                        # round-off
                    )
            fired = (
                self.events.rising
                & (np.asarray(here.events) <= 0)
                & (values > 0)
                & np.isfinite(values)
            )
            here = eqx.tree_at(
                lambda p: (p.y, p.memory, p.events, p.fired),
                here,
                (now.y, now.memory, values, fired),
            )
            due = switching.due(here, stops)
            recent = [x for x in self.turned if here.t - x.time <= SAME_INSTANT * duration]
            if len(recent) > CHATTER or len(self.turned) - first > 2 * len(switching.switches) + 1:
                raise RefusedSwitchError(Result.CHATTERING, self.turned[-1].what)
        what = self.turned[first].what if len(self.turned) > first else ""
        limit = accumulation([x.time for x in self.turned if x.what == what])
        if limit <= self.instants[-1]:
            detail = f"{what} at instants that accumulate at about t = {limit:.6g} s: end the run before with a zw.Stop"
            raise RefusedSwitchError(Result.CHATTERING, detail)
        t = np.concatenate([part.t for part in self.parts[-2:]])
        lengths = np.diff(t)[-RECENT:]
        fixed = self.tolerances.growth[1] == 1
        h = self.first_step if fixed else max(float(np.max(lengths, initial=0.0)), self.first_step)
        apart = float(here.t) - self.turned[first - 1].time if first else np.inf
        h = h if fixed or apart <= 0 else min(h, SOON * apart)
        fresh = lambda p: (p.h, p.ratio, p.ceiling, p.refused, p.result, p.fired)
        values = (h, 1.0, np.inf, 0, Result.SUCCESS, np.zeros(len(here.fired), bool))
        like = [
            np.asarray(new, np.asarray(old).dtype)
            for new, old in zip(values, fresh(here), strict=True)
        ]
        return eqx.tree_at(fresh, here, like)
