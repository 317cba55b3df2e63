"""Simulation: computes a run on the constraints from a model, a start and a time span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.dynamics.control_law import AbstractLoop
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.evaluation import PROJECTION
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.model import Model
from zwang.errors import Result, SimulationError
from zwang.inputs.arguments import (
    count,
    flag,
    host_only,
    instance,
    items,
    number,
    optional,
    optional_function,
)
from zwang.simulation.driver import drive
from zwang.simulation.listener import Listener
from zwang.simulation.monitor import AbstractMonitor, RunState
from zwang.simulation.results import Run, Steps
from zwang.simulation.run_setup import RunRequest, RunSetup, set_up
from zwang.simulation.sample_times import run_times
from zwang.simulation.stepper import check_methods
from zwang.simulation.stop import Stop
from zwang.simulation.switching import Switch, declared_switches
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.thresholds import ACCEPTED_VIOLATION, DEFAULT_RTOL

MAX_STEPS = 1_000_000
"""Default maximum number of attempted steps of a motion."""

DOPRI8 = Dopri8()
"""One object for all runs, because creating it takes longer than a step."""


@host_only("zw.trajectory(..., gradient='reverse' or 'forward') can")
def simulate(
    model: Model,
    q0,
    v0,
    *,
    duration: float | None = None,
    times: Sequence[float] | None = None,
    samples: int = 201,
    rtol: float = DEFAULT_RTOL,
    atol=None,
    params: PyTree = None,
    loop: AbstractLoop | None = None,
    stop: Sequence[Stop] = (),
    switches: Sequence[Switch] | None = None,
    integrator: AbstractIntegrator | None = None,
    step: float | None = None,
    longest_step: float = np.inf,
    drift: AbstractDrift | None = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    formulation: AbstractFormulation | None = None,
    t0: float = 0.0,
    start_tolerance: float = ACCEPTED_VIOLATION,
    max_steps: int = MAX_STEPS,
    progress: Callable[[float], None] | None = None,
    throw: bool = True,
    keeper: AbstractMonitor | None = None,
) -> Run:
    """Integrate a model along its constraints.

    **Main arguments**

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,); must satisfy the constraints (see `start_tolerance`).
        duration: length of the run [s], sampled at `samples` equal instants; or
        times: increasing sample times [s], the first at or after `t0`. Steps end on the samples;
            nothing is interpolated.
        rtol: relative error of one step, per entry of q and v.
        atol: absolute error of one step: a number, one per coordinate (nq,), or one per entry of
            (q, v); by default `rtol` in the model's units.
        params: parameters that differ from the model's; other values need no compilation.
        loop: `zw.Loop(...)` for a closed loop that is not ideal: sampled, delayed, noisy, or with a
            controller whose model differs from the model that moves.
        stop: conditions that end the run early.
        switches: a `zw.Switch` for each constraint that is not active all the time; by default
            those that the file of a mechanism declares.

    **Other arguments**

    Args:
        samples: number of sample times if only `duration` is given, both ends included.
        integrator: `zw.methods.Dopri8()`, `zw.methods.Tsit5()`, `zw.methods.Kvaerno5()` for stiff
            systems, `zw.methods.Rattle()` for long runs, or `zw.methods.Moreau()` for dense
            impacts.
        step: fixed step [s] in place of error control; shortened only to end on samples.
        longest_step: upper limit of the step [s].
        drift: `zw.methods.Projection()` by default.
        pseudoinverse: `zw.methods.Proximal()` by default.
        formulation: another equation of motion at the stages; projections keep using A⊕.
        t0: initial time [s].
        start_tolerance: largest violation of the start [dimensionless]. A smaller one is projected
            away (by `Projection`) and reported in `run.attrs`; a larger one is refused.
        max_steps: limit of attempted steps.
        progress: called between chunks of steps with the completed fraction, a `float` with the
            further attributes `time`, `speed`, `violation` and `left`
            (`zwang.simulation.reached.Reached`).
        throw: raise if the run does not reach its end; otherwise read `run.result`.
        keeper: monitor that writes the steps to disk instead of keeping them in the run; use
            `zw.study.long_run`.

    Returns:
        A `Run`: `run.dataset`, `run.plot()`, `run.save("run.nc")`, `run.crossings`, `run.switches`,
            `run.at(t)`.

    Raises:
        ModelError: for a wrong argument, an inconsistent start, contradictory constraints or a
            singular mass matrix.
        SimulationError: if the run stops early, also by Ctrl-C after its beginning, or because
            `progress` fails; its `.run` contains the run up to there.
    """
    instance(model, Model, "simulate: model", "a zw.Model")
    check_methods(integrator, drift)
    if loop is not None:
        instance(loop, AbstractLoop, "loop", "zw.Loop(...)")
    optional_function(progress, "progress", "(fraction)")
    start_tolerance = number(start_tolerance, "start_tolerance", least=0, infinite=True)
    max_steps, t0 = count(max_steps, "max_steps", least=1, most=2**62), number(t0, "t0", unit="s")
    stop, throw = items(stop, Stop, "stop", "zw.Stop(function)"), flag(throw, "throw")
    instants = run_times(duration, times, samples, t0)
    asked = RunRequest(
        model=model,
        state=model.state(q0, v0, t0, on_host=True),
        instants=instants,
        span=instants[-1] - t0,
        rtol=rtol,
        atol=atol,
        params=params,
        loop=loop,
        stop=tuple(stop),
        switches=declared_switches(model) if switches is None else switches,
        integrator=DOPRI8 if integrator is None else integrator,
        step=step,
        longest_step=number(longest_step, "longest_step", above=0, infinite=True, unit="s"),
        drift=PROJECTION if drift is None else drift,
        pseudoinverse=pseudoinverse,
        formulation=formulation,
        start_tolerance=start_tolerance,
        max_steps=max_steps,
    )
    heard = Listener.of(progress)
    kept = optional(keeper, AbstractMonitor, "keeper", "what zw.study.long_run keeps a run with")
    setup = set_up(asked)
    state = setup.run(heard, *(() if kept is None else (kept,)), model=model)
    result = drive(state)
    state.detail = state.detail or heard.sentence or None
    run = _run_of(setup, state, result)
    if throw and result.is_failure:
        raise _failure(run) from heard.failure
    return run


def _run_of(setup: RunSetup, state: RunState, result: Result) -> Run:
    """Return the result of a run for the user."""
    asked, stopped = setup.asked, result is Result.STOPPED
    return Run(
        asked.model,
        # a run may have changed its method
        state.flow,
        Steps.joined(state.parts),
        asked.instants,
        result,
        _attributes(setup, state) | asked.attributes,
        asked.stop[int(np.argmax(state.here.fired))].name if stopped else state.detail,
        asked.integrator,
        state.turned,
    )


def _attributes(setup: RunSetup, state: RunState) -> dict[str, Any]:
    """Return the attributes that record how a run was computed."""
    placement = setup.start.placement
    found = {"start_branch": setup.branch} if setup.branch else {}
    if (law := setup.asked.model.servo) is not None and law.remark:
        found["control_law"] = law.remark
    found |= {
        "start_moved_q": placement.moved_q if setup.placed else 0.0,
        "start_moved_v": placement.moved_v if setup.placed else 0.0,
        "start_violation": placement.violation_before,
        "steps_accepted": int(state.here.accepted),
        "steps_rejected": int(state.here.rejected),
        "rtol": float(state.tolerances.rtol),
        "atol": _uniform(state.tolerances.atol),
        "integrator": type(state.integrator).__name__,
        "pseudoinverse": repr(state.flow.dynamics.pseudoinverse),
        "method_changes": [x for x in (setup.change, *state.changes) if x],
        "engine": state.engine,
    }
    for x in state.monitors:
        found |= x.attributes
    return found


def _uniform(atol) -> float | list[float]:
    """Return one number if all entries are equal."""
    values = np.asarray(atol).tolist()
    return values[0] if len(set(values)) == 1 else values


def _failure(run: Run) -> SimulationError:
    """Return the exception of a run that did not reach its end."""
    # Python keeps an exception that nothing has caught, as in a cell of a notebook, under this name
    kept = "; the run so far is in `run` of this exception, sys.last_value.run in a notebook"
    return SimulationError(
        f"{run.model.name}: {run.ending}{kept * (run.result is Result.INTERRUPTED)}.",
        run.result,
        run,
    )
