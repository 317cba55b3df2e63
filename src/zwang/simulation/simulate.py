"""Simulation: a model, a start and a time span in, a trajectory on its constraints out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, cast

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.arguments import (
    count,
    flag,
    host_only,
    instance,
    items,
    number,
    optional_function,
    real_array,
    strategy,
)
from zwang.dynamics.control_law import AbstractLoop, AbstractSampler
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.initial_conditions import (
    START_TOLERANCE,
    Start,
    checked_start,
    with_mass,
)
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.equations.state import State
from zwang.errors import ModelError, Result, SimulationError
from zwang.simulation.conditions import check_condition, conditions_of, refuse_undefined
from zwang.simulation.driver import Keeper, RunDriver
from zwang.simulation.engine import Execution, execution_of
from zwang.simulation.results import Run, Steps
from zwang.simulation.stop import Stop
from zwang.simulation.switching import Switch, Switching, event_values
from zwang.simulation.tolerances import accepted_violation, step_tolerances
from zwang.simulation.watch import suited
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.stepping.step import Progress

MOST_SAMPLES = 100_000_000
"""Sample times of one run; their states alone would fill the memory beyond it."""
RESOLVED = 1e-10
"""Shortest run relative to the time that it is at: float64 tells a million instants in it apart."""
ROUND_OFF_TARGET = 1e-15
"""Violation [dimensionless] below which a projection stops: round-off of a mechanism that sits near
its origin.
"""


@host_only("zw.trajectory(..., gradient='reverse' or 'forward') can")
def simulate(
    model: Model,
    q0,
    v0,
    *,
    duration: float | None = None,
    times: Sequence[float] | None = None,
    samples: int = 201,
    rtol: float = 1e-8,
    atol=None,
    params: PyTree = None,
    loop: AbstractLoop | None = None,
    stop: Sequence[Stop] = (),
    switches: Sequence[Switch] = (),
    integrator: AbstractIntegrator | None = None,
    step: float | None = None,
    longest_step: float = np.inf,
    drift: AbstractDrift | None = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    formulation: AbstractFormulation | None = None,
    t0: float = 0.0,
    start_tolerance: float = START_TOLERANCE,
    max_steps: int = 1_000_000,
    progress: Callable[[float], None] | None = None,
    execution: Execution | None = None,
    throw: bool = True,
    keeper: Keeper | None = None,
) -> Run:
    """Integrate a model along its constraints.

    **Main arguments**

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,); must meet the constraints (see `start_tolerance`).
        duration: length of the run [s], sampled at `samples` equal instants; or
        times: increasing sample times [s], the first at or after `t0`. Samples are stepped to, not
            interpolated.
        rtol: relative error of one step, per entry of q and v.
        atol: absolute error of one step: a number, one per coordinate (nq,), or one per entry of
            (q, v); `rtol` in the model's units unless given.
        params: parameters that differ from the model's; no compilation.
        loop: `zw.Loop(...)` for a closed loop that is not ideal: sampled, delayed, noisy, or with a
            controller that believes another model than the one that moves.
        stop: conditions that end the run early.
        switches: a `zw.Switch` for each constraint that does not hold all the time.

    **Other arguments**

    Args:
        samples: number of sample times if only `duration` is given, both ends included.
        integrator: `zw.Dopri8()`, `zw.Tsit5()`, `zw.Kvaerno5()` for stiff systems, or `zw.Rattle()`
            for long runs.
        step: fixed step [s] in place of error control; shortened only to end on samples.
        longest_step: upper limit of the step [s].
        drift: `zw.Projection()` unless given.
        pseudoinverse: `zw.Proximal()` unless given.
        formulation: another equation of motion at the stages; projections keep using A⊕.
        t0: initial time [s].
        start_tolerance: largest violation of the start [dimensionless]. A smaller one is projected
            away (by `Projection`) and reported in `run.attrs`; a larger one is refused.
        max_steps: limit of attempted steps.
        progress: called between chunks of steps with the fraction done, a `float` that also says
            `time`, `speed`, `violation` and `left` (`zwang.simulation.reached.Reached`).
        execution: where steps are taken: `"host"` (NumPy around one compiled evaluation of the
            model, ready within seconds), `"compiled"` (one compiled loop, some ten times as fast
            and as long to compile), or `"auto"`, the default: on the host until the loop is
            compiled behind it, if the run lasts that long. Steps agree to round-off.
            `ZWANG_EXECUTION` has the last word.
        throw: raise if the run does not reach its end; otherwise read `run.result`.
        keeper: what keeps the steps on the disk in place of the run; use `zw.long_run`.

    Returns:
        A `Run`: `run.dataset`, `run.plot()`, `run.save("run.nc")`, `run.crossings`, `run.switches`,
        `run.at(t)`.

    Raises:
        ModelError: for a wrong argument, an inconsistent start, contradictory constraints or a
            singular mass matrix.
        SimulationError: if the run stops early, also by Ctrl-C once it has begun; its `.run` holds
            what was reached.
    """
    instance(model, Model, "simulate: model", "a zw.Model")
    strategy(integrator, AbstractIntegrator, "integrator", "zw.Dopri8(), zw.Tsit5() ...")
    strategy(drift, AbstractDrift, "drift", "zw.Projection(), zw.Baumgarte(alpha, beta) ...")
    if loop is not None:
        instance(loop, AbstractLoop, "loop", "zw.Loop(...)")
    optional_function(progress, "progress", "(fraction)")
    start_tolerance = number(start_tolerance, "start_tolerance", least=0, infinite=True)
    max_steps, t0 = count(max_steps, "max_steps", least=1, most=2**62), number(t0, "t0", unit="s")
    stop, throw = items(stop, Stop, "stop", "zw.Stop(function)"), flag(throw, "throw")
    instants = _sample_times(duration, times, samples, t0)
    drift = Projection() if drift is None else drift
    integrator = Dopri8() if integrator is None else integrator
    state = model.state(q0, v0, t0)
    dynamics = model.dynamics(params, pseudoinverse, formulation, implicit=integrator.implicit)
    tolerances = step_tolerances(model, rtol, atol, step, longest_step, instants[-1] - t0)
    for s in stop:
        check_condition(s.function, f"Stop {s.name!r}: function(q, v, t, p)", model, dynamics.p)
    switching = _switching(switches, model, loop, formulation)

    dynamics, sampler = _closed(model, dynamics, loop, t0)
    dynamics = dynamics if switching is None else switching.begun(dynamics)
    dynamics = with_mass(model, dynamics, state)
    start = checked_start(model, dynamics, state, start_tolerance, params, instants[-1] - t0)
    # a method that was asked for is not replaced by another one
    changeable = pseudoinverse is None and formulation is None and not dynamics.structure.sparse
    dynamics, change = suited(dynamics, start.verdict) if changeable else (dynamics, "")
    projecting = isinstance(drift, Projection) and start_tolerance < np.inf
    state = start.placement.state if projecting else state
    flow = _flow(dynamics, drift, start, sampler)
    integrator.refuse(model, flow, state, instants, step)
    flow = flow if switching is None else dataclasses.replace(flow, switched=switching.rows)
    accept = _accepted(flow, start, rtol, step)
    tolerances = tolerances._replace(accept=_number(accept))

    turns = () if switching is None else switching.conditions
    events = Events(tuple(s.function for s in stop), turns)
    conditions = conditions_of(events, [s.name for s in stop], [s.constraint for s in switches])
    first = step if step is not None else 1e-4 * (instants[-1] - t0) / max(len(instants) - 1, 100)
    here = _begun(flow, events, switching, state, first)
    refuse_undefined(here, conditions)
    driver = RunDriver(
        flow,
        integrator,
        events,
        switching,
        instants,
        tolerances,
        _count(max_steps),
        progress,
        model=model,
        changeable=changeable,
        conditions=conditions,
        execution=execution_of(execution),
        keeper=keeper,
    )
    result, here = driver.run(here)

    asked = {
        "step": "adaptive" if step is None else float(step),
        "longest_step": "unlimited" if np.isinf(longest_step) else float(longest_step),
        "start_tolerance": start_tolerance,
        "max_steps": max_steps,
        "drift": repr(drift),
        "loop": "" if loop is None else repr(loop),
        "formulation": "kernel" if formulation is None else type(formulation).__name__,
    }
    attrs = _attributes(driver, here, start, projecting, change) | asked
    stopped = result is Result.STOPPED
    stopped_by = stop[int(np.argmax(here.fired))].name if stopped else driver.detail
    steps = Steps.joined(driver.parts)
    run = Run(
        model, driver.flow, steps, instants, result, attrs, stopped_by, integrator, driver.turned
    )
    if throw and result.is_failure:
        raise _failure(run)
    return run


def _attributes(
    driver: RunDriver, here: Progress, start: Start, projecting: bool, change: str
) -> dict[str, Any]:
    """What a run records of how it was computed; `projecting` says whether its start was moved."""
    placed = start.placement
    return {
        "start_moved_q": placed.moved_q if projecting else 0.0,
        "start_moved_v": placed.moved_v if projecting else 0.0,
        "start_violation": placed.violation_before,
        "steps_accepted": int(here.accepted),
        "steps_rejected": int(here.rejected),
        "rtol": float(driver.tolerances.rtol),
        "atol": _uniform(driver.tolerances.atol),
        "integrator": type(driver.integrator).__name__,
        "pseudoinverse": repr(driver.flow.dynamics.pseudoinverse),
        "method_changes": [x for x in (change, *driver.changes) if x],
        "execution": driver.engine.description,
    }


def _uniform(atol) -> float | list[float]:
    """One number, where all entries are equal."""
    values = np.asarray(atol).tolist()
    return values[0] if len(set(values)) == 1 else values


def _flow(
    dynamics: Dynamics, drift: AbstractDrift, start: Start, sampler: AbstractSampler | None
) -> ConstrainedVectorField:
    """The motion with the scales that were measured at the start."""
    dynamics = eqx.tree_at(lambda d: d.scales, dynamics, start.scales, is_leaf=lambda x: x is None)
    floor = start.placement.violation_after
    target = max(ROUND_OFF_TARGET, 2 * floor if np.isfinite(floor) else 0.0)
    traced = jax.tree_util.tree_map(
        lambda x: _number(x) if isinstance(x, float) else x, drift
    )  # other gains compile nothing
    return ConstrainedVectorField(dynamics, traced, _number(target), sampler)


def _accepted(flow: ConstrainedVectorField, start: Start, rtol: float, step: float | None) -> float:
    """The largest violation that a step may leave."""
    accept = accepted_violation(np, flow, rtol, step)
    # what nearly parallel rows hold moves by 1/σ of what is left of φ
    sigma = start.verdict.nearly_parallel
    return accept if sigma is None else max(accept * sigma, 100 * float(flow.target))


def _begun(
    flow: ConstrainedVectorField,
    events: Events,
    switching: Switching | None,
    state: State,
    first: float,
) -> Progress:
    """Where a run is before its first step."""
    y0 = _number(np.concatenate([state.q, state.v]))
    if switching is not None:
        controller_state = switching.start
    else:
        controller_state = () if flow.sampler is None else flow.sampler.start(state)
    values = np.zeros(0)
    if len(events.rising):
        values = event_values(events, flow, controller_state, state.t, y0)
    return Progress.begun(state.t, y0, _number(first), _number(values), controller_state)


def _failure(run: Run) -> SimulationError:
    """The exception of a run that did not reach its end."""
    detail = f": {run.stopped_by}" if run.stopped_by else ""
    kept = "; the run so far is in `run` of this exception"
    return SimulationError(
        f"{run.model.name}: stopped at t = {run.steps.t[-1]:.6g} s: {run.result.sentence}{detail}"
        f"{kept * (run.result is Result.INTERRUPTED)}.",
        run.result,
        run,
    )


def _closed(
    model: Model, dynamics: Dynamics, loop: AbstractLoop | None, t0: float
) -> tuple[Dynamics, AbstractSampler | None]:
    """The dynamics with the control that really acts, and what changes it along the run."""
    if loop is not None:
        if model.servo is None:
            raise ModelError(
                f"{model.name}: loop is given, but the model has no control: zw.Model(..., "
                "servo=zw.Servo(...))."
            )
        return loop.bound(model, dynamics, t0)
    if model.servo is not None:
        model.servo.refuse_continuous()
    return dynamics, None


def _switching(switches, model: Model, loop, formulation) -> Switching | None:
    """The switches of a run, if they fit the rest of it."""
    switches = items(switches, Switch, "switches", "zw.Switch(constraint, on=..., off=...)")
    if not switches:
        return None
    if loop is not None:
        raise ModelError(
            f"{model.name}: a loop's controller cannot know of switches; give zw.simulate "
            "either loop= or switches=."
        )
    if formulation is not None and not formulation.redundant_constraints:
        raise ModelError(
            f"{type(formulation).__name__} needs independent rows, but a row that is switched "
            "off is zero."
        )
    return Switching(switches, model)


def _sample_times(duration, times, samples, t0) -> np.ndarray:
    if (duration is None) == (times is None):
        raise ModelError(
            "simulate needs either duration (s) or times (increasing instants, s), and not both."
        )
    if times is None:
        duration = number(duration, "duration", above=0, unit="s")
        samples = count(samples, "samples", least=2, most=MOST_SAMPLES)
        return _resolved(t0, t0 + np.linspace(0.0, duration, samples))
    times = np.asarray(real_array(times, "times", "instants [s]"))
    if (
        times.ndim != 1
        or not len(times)
        or not np.all(np.isfinite(times))
        or np.any(np.diff(times) <= 0)
        or times[0] < t0
    ):
        raise ModelError(
            f"times must be finite, increasing and not before t0 = {t0}; got "
            f"{np.array2string(times, threshold=6)}."
        )
    if times[-1] == t0:
        raise ModelError("times holds only the start; give at least one later instant.")
    return _resolved(t0, times)


def _resolved(t0: float, instants: np.ndarray) -> np.ndarray:
    """The instants, if time in float64 can tell steps between them apart."""
    farthest, duration = float(np.max(np.abs(instants))), float(instants[-1] - t0)
    if not duration > RESOLVED * farthest or np.any(np.diff(instants) <= 0):
        raise ModelError(
            f"t0 is {t0:g} s and the run ends at {instants[-1]:g} s: time cannot be resolved there "
            "in float64, expected a duration or interval of samples above "
            f"{RESOLVED * farthest:.1g} s; count time from an instant nearer to the start."
        )
    return instants


def _number(x) -> Array:
    """A float64 of NumPy's: it is traced like one of JAX's, which would compile a program of its
    own.
    """
    return cast(Array, np.asarray(x, np.float64))


def _count(x) -> Array:
    return cast(Array, np.asarray(int(x), np.int64))
