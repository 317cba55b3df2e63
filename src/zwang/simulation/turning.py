"""What holds from an instant on: switches that are due, then gaps and dry frictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from zwang.compile import model_program
from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.errors import Result
from zwang.simulation.contact import geometric_limit
from zwang.simulation.contact_modes import NoMotionError
from zwang.simulation.results import Switched
from zwang.simulation.switching import RefusedSwitchError, Switching
from zwang.stepping.step import Progress

ACCUMULATING, STEADY_RATIO = 8, 0.05
"""This many intervals in a row, each shorter than the last by one ratio up to this relative spread,
go on for ever in a finite time (Zeno): a ball that bounces ever lower.
"""
CHATTER = 100
"""More turns than this within `SAME_INSTANT` of the run's duration are chattering, which no step
gets past.
"""
SAME_INSTANT = 1e-9
RECENT_TURNS = 1000
"""Turns that decide whether their instants accumulate, or chatter."""


def turned(
    flow: ConstrainedVectorField,
    events: Events,
    switching: Switching,
    done: list[Switched],
    here: Progress,
    duration: float,
    end: float,
) -> Progress:
    """Where a run goes on from, after all that is due at this instant.

    Args:
        done: every change so far, to which those are added.
        duration: from the start of the run to its end [s]; `end`: the latter.

    Raises:
        RefusedSwitchError: if constraints contradict each other from then on, or the changes never
            come to rest.
    """
    first = len(done)
    here = _switched(flow, events, switching, done, here, duration)
    what = done[first].what if len(done) > first else ""
    limit = accumulation([x.time for x in done[-RECENT_TURNS:] if what and x.what == what])
    if limit <= end:
        detail = (
            f"{what} at instants that accumulate at about t = {limit:.6g} s: end the run "
            "before with a zw.Stop"
        )
        raise RefusedSwitchError(Result.CHATTERING, detail)
    if switching.contacts is None:
        return here
    state = flow.state(here.t, here.y)
    try:
        now = switching.contacts.settle(
            flow, state, np.asarray(here.controller_state, np.float64), duration
        )
    except NoMotionError as refused:
        raise RefusedSwitchError(refused.result, refused.detail) from None
    if now.record is not None:
        done.append(now.record)
        _refuse_chatter(done, here, duration)
    values = np.array(event_values(events, flow, now.modes, here.t, now.y))
    loose = slice(len(events.stops) + len(events.conditions), None)
    # what is round-off above zero has not risen yet
    values[loose] = np.minimum(values[loose], 0.0)
    return _with(here, now.y, now.modes, values, np.zeros(len(values), bool))


def _switched(flow, events: Events, switching: Switching, done, here: Progress, duration):
    """The same after the switches that are due, and what these switch in their wake at the same
    instant: a rope that is pushed as soon as it is taut.
    """
    stops, first = len(events.stops), len(done)
    due = switching.due(here, stops)
    while due:
        now = switching.apply(flow, here, due, duration)
        done.append(now.record)
        values = (
            np.array(event_values(events, flow, now.controller_state, here.t, now.y))
            if len(here.events)
            else np.zeros(0)
        )
        for k, turn in enumerate(switching.conditions, start=stops):
            if not turn.off and due.get(turn.switch) == 1:
                # spent: the constraint has brought it to zero, on which side of it is round-off
                values[k] = np.inf
        rises = events.rising & (np.asarray(here.events) <= 0)
        fired = rises & (values > 0) & np.isfinite(values)
        here = _with(here, now.y, now.controller_state, values, fired)
        due = switching.due(here, stops)
        # more turns than there are switches: they undo each other
        if len(done) - first > 2 * len(switching.switches) + 1:
            raise RefusedSwitchError(Result.CHATTERING, done[-1].what)
        _refuse_chatter(done, here, duration)
    return here


def _with(here: Progress, y, controller_state, values, fired) -> Progress:
    where = lambda p: (p.y, p.controller_state, p.events, p.fired)
    new: tuple[Any, ...] = y, controller_state, values, fired
    return eqx.tree_at(where, here, new)


def _refuse_chatter(done: Sequence[Switched], here: Progress, duration: float) -> None:
    """Raise if there were many turns at one instant."""
    recent = [x for x in done[-RECENT_TURNS:] if here.t - x.time <= SAME_INSTANT * duration]
    if len(recent) > CHATTER:
        raise RefusedSwitchError(Result.CHATTERING, done[-1].what)


def accumulation(times: Sequence[float]) -> float:
    """When instants that follow each other at geometrically shorter intervals come to their limit
    [s]; inf if they do not.
    """
    # the events come to an end there, and no step passes it
    intervals = np.diff(times)[-ACCUMULATING:]
    if len(intervals) < ACCUMULATING or np.any(intervals <= 0):
        return np.inf
    ratios = intervals[1:] / intervals[:-1]
    ratio = float(ratios[-1])
    steady = (
        np.max(ratios) < 1 - STEADY_RATIO
        and np.max(ratios) - np.min(ratios) <= STEADY_RATIO * ratio
    )
    return geometric_limit(times) if steady else np.inf


@model_program
def event_values(events: Events, flow: ConstrainedVectorField, controller_state, t, y):
    """The functions of all events at one instant, compiled once."""
    return events(flow, controller_state, t, y)
