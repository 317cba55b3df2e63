"""Driver of a run: it calls the compiled loop chunk by chunk, and the monitors after each chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from zwang.compile import called_again
from zwang.errors import Result
from zwang.simulation.monitor import Chunk, MotionEndError, RunState
from zwang.simulation.results import Steps
from zwang.stepping.step_loop import CHUNK, advance


def drive(run: RunState) -> Result:
    """Step to the last sample, or until the motion ends."""
    run.begin()
    result = Result.SUCCESS
    try:
        for x in run.monitors:
            x.begin(run)
        while run.done < len(run.instants):
            until = min((x.next_time(run.t) for x in run.monitors), default=np.inf)
            before, chunk = run.here, _chunk(run, until)
            if any(x.inspect(run, chunk) for x in run.monitors):
                run.here = before  # repeat the same steps with other equations
                continue
            run.keep(chunk.steps)
            result = run.result
            for x in run.monitors:
                result = x.judge(run, chunk, result)
            if result is not Result.SUCCESS:
                break
            for x in run.monitors:
                x.settle(run)
    except MotionEndError as end:
        result, run.detail = end.result, end.detail
    except KeyboardInterrupt:
        result = Result.INTERRUPTED
    for x in run.monitors:
        x.end(run, result)
    return result


def _chunk(run: RunState, until: float) -> Chunk:
    """Take steps from the present state of a run, at most to the instant `until`."""
    # a window of fixed length, padded by inf: chunks of any number of samples share one program
    window = np.full(CHUNK, np.inf)
    ahead = run.instants[run.done : run.done + CHUNK]
    # the last instant may be that of a monitor, not of a sample
    ahead = np.minimum(ahead[: np.searchsorted(ahead, until) + 1], until)
    window[: len(ahead)] = ahead
    flow = run.flow
    # after this many steps without a mode change, compiling a program without open contacts pays
    # off
    if len(run.parts[-1].t) == CHUNK:
        flow = flow.while_open(run.here.controller_state)
    # bound to its numbers once, as that takes longer than the steps to the next change
    motion: tuple[Any, ...] = flow, run.integrator, run.events, run.tolerances, run.limit
    (run.here, history), run.engine = called_again(advance, motion, run.here, window)
    steps = Steps.of(history, run.done).without_samples_from(until)
    events = np.asarray(history.events)[: len(steps.t)]
    return Chunk(steps, np.asarray(history.moved), run.last_steps(), events)
