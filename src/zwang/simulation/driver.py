"""A run from its start to its last sample: the compiled loop called chunk by chunk, under the eyes
of its monitors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zwang.compile import called_again
from zwang.errors import Result
from zwang.simulation.monitor import Chunk, MotionEndError, RunState
from zwang.simulation.results import Steps
from zwang.stepping.step_loop import CHUNK, advance


def drive(run: RunState) -> Result:
    """Step to the last sample, or as far as the motion goes."""
    run.begin()
    result = Result.SUCCESS
    try:
        for x in run.monitors:
            x.begin(run)
        while run.done < len(run.instants):
            until = min((x.next_time(run.t) for x in run.monitors), default=np.inf)
            before, chunk = run.here, _chunk(run, until)
            if any(x.inspect(run, chunk) for x in run.monitors):
                run.here = before  # the same steps once more, by other equations
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
    """Steps from where a run is, at most to the instant `until`."""
    # a window of one length, padded by inf: chunks of any number of samples share one program
    window = np.full(CHUNK, np.inf)
    ahead = run.instants[run.done : run.done + CHUNK]
    # the last one may be that of a monitor, not a sample
    ahead = np.minimum(ahead[: np.searchsorted(ahead, until) + 1], until)
    window[: len(ahead)] = ahead
    flow = run.flow
    # a motion that has taken this many steps since the last change is worth a program of its own
    if len(run.parts[-1].t) == CHUNK:
        flow = flow.while_open(run.here.controller_state)
    # bound to its numbers once, as that takes longer than the steps to the next change
    motion: tuple[Any, ...] = flow, run.integrator, run.events, run.tolerances, run.limit
    (run.here, history), run.engine = called_again(advance, motion, run.here, window)
    steps = Steps.of(history, run.done).without_samples_from(until)
    events = np.asarray(history.events)[: len(steps.t)]
    return Chunk(steps, np.asarray(history.moved), run.last_steps(), events)
