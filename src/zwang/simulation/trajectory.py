"""A trajectory as a pure function of start, times and parameters: it works inside `jit`, `vmap`,
`grad` and `jacfwd`.

`zwang.simulate` runs one motion from the host, reports progress and keeps every step. A trajectory
never leaves the compiled program, so that a thousand motions can be computed at once
(`zwang.batch`) and a motion can be differentiated (`zwang.fit`). Both take the same steps
(`zwang.stepping.step.attempt`).

A step is differentiated with its length held fixed, and its projection as the state to which it
converges (`zwang.simulation.differentiable`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.compile import model_program
from zwang.compile.hints import over_rows
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.model import Model
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import choice, count, instance, items, known, number
from zwang.inputs.arrays import is_concrete, select, without_derivative
from zwang.inputs.call import misfits_named, written
from zwang.objects.display import present
from zwang.objects.record import Record, text_of_record
from zwang.simulation.conditions import check_condition
from zwang.simulation.differentiable import Differentiable, position_violation
from zwang.simulation.endings import why_ended
from zwang.simulation.nearly_parallel import is_nearly_parallel, stays_nearly_parallel
from zwang.simulation.placed_start import judged, measured, placed
from zwang.simulation.results import servo_warnings
from zwang.simulation.reverse import forward_only
from zwang.simulation.sample_times import checked_times, step_grid
from zwang.simulation.stepper import (
    CONTRADICTED,
    FIXED_CORRECTIONS,
    Stepper,
    adaptive_steps,
    check_methods,
    fixed_steps,
    replayed_steps,
)
from zwang.simulation.stop import Stop
from zwang.simulation.switching import refuse_switches
from zwang.simulation.tolerances import accepted_violation, step_tolerances
from zwang.simulation.watch import by_rank
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.stepping.step import Progress
from zwang.stepping.step_control import Tolerances
from zwang.thresholds import ACCEPTED_VIOLATION, DEFAULT_RTOL, ROUND_OFF

Gradient = Literal["forward", "reverse"]
ON_HOST = {
    "switches": "the active rows are determined on the host",
    "loop": "a sampled controller runs on the host",
    "formulation": "other equations of motion are for comparisons",
    "progress": "a compiled program cannot report progress",
}
"""Arguments of `zw.simulate` that a trajectory, and with it a batch, cannot take, with the
reason."""
OPTIONS = (
    "rtol",
    "atol",
    "step",
    "longest_step",
    "stop",
    "integrator",
    "drift",
    "pseudoinverse",
    "start_tolerance",
    "max_steps",
)
"""Options of a trajectory that each member of a batch has as well."""


class Trajectory(Record):
    """A motion at its sample times; NaN after the instant at which it stopped early.

    Attributes:
        t: sample times [s], shape (samples,).
        q, v: shapes (samples, nq) and (samples, nv).
        violation: largest absolute φ over the rows, dimensionless (`Scales`), at each sample, shape
            (samples,).
        start_violation: the same of the start as given; position, or velocity relative to the
            speed.
        residual: largest residual of `A v̇ = b` at the start of a step, relative to the
            accelerations in it.
        steps, rejected: number of steps, and of rejected ones.
        result: a `Result` code.
        end: the state at the last sample, or where the motion stopped before.

    Example:
        >>> found = zw.trajectory(model, q0, v0, times)
        >>> found.reason(model)
        "stopped at t = 1.3 s: the constraints contradict each other: …: 'a' misses by 0.2 of …"
    """

    t: Float[Array, " samples"]
    q: Float[Array, "samples nq"]
    v: Float[Array, "samples nv"]
    violation: Float[Array, " samples"]
    start_violation: Float[Array, ""]
    residual: Float[Array, ""]
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    result: Int[Array, ""]
    end: State

    def __repr__(self) -> str:
        return present("text_of", self, "trajectory") if is_concrete(self) else text_of_record(self)

    def reason(self, model: Model, params: PyTree = None) -> str:
        """Return a sentence that states when the motion ended, and which constraints ended it.

        The constraints are evaluated on the host at the end of the motion. Take one motion out of
        the result of `jax.vmap` before, by `jax.tree_util.tree_map(lambda x: x[i], found)`.

        Args:
            model: the model that moved.
            params: its parameters, as given to `zw.trajectory`.

        Raises:
            ModelError: inside a compiled program, and for many motions at once.
        """
        instance(model, Model, "Trajectory.reason: model", "a zw.Model")
        self._require_one("reason")
        start = State(self.q[0], self.v[0], self.t[0])
        return why_ended(model, int(self.result), start, self.end, params)

    def warnings(self, model: Model, params: PyTree = None) -> tuple[str, ...]:
        """Return the warnings of its servo, one sentence each, as in `Run.warnings`: constraints
        that could not be satisfied, that start with an error and have no gain, or whose error
        grows, and actuators at their limits.

        The control is evaluated on the host, at the samples only. Other warnings of a run need its
        steps, which a trajectory does not keep: energy, singular configurations, branches, and
        steps across a gap between branches. `zw.simulate` reports them.

        Args:
            model: the model that moved.
            params: its parameters, as given to `zw.trajectory`.

        Raises:
            ModelError: inside a compiled program, and for many motions at once.
        """
        instance(model, Model, "Trajectory.warnings: model", "a zw.Model")
        self._require_one("warnings")
        return servo_warnings.of_motion(model, params, self.t, self.q, self.v)

    def _require_one(self, method: str) -> None:
        """Raise unless this is one motion of concrete numbers."""
        if not is_concrete(self) or np.ndim(self.result):
            raise ModelError(
                f"Trajectory.{method} looks at one motion on the host, got "
                + ("one inside a compiled program" if not is_concrete(self) else "many at once")
                + "; return the motions from the program, and take one by its index."
            )


@misfits_named
def trajectory(
    model: Model,
    q0,
    v0,
    times,
    *,
    params: PyTree = None,
    rtol: float = DEFAULT_RTOL,
    atol=None,
    step: float | None = None,
    longest_step: float = np.inf,
    stop: Sequence[Stop] = (),
    gradient: Gradient | None = None,
    integrator: AbstractIntegrator | None = None,
    drift: AbstractDrift | None = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    start_tolerance: float = ACCEPTED_VIOLATION,
    max_steps: int = 4096,
    **others,
) -> Trajectory:
    """Compute the motion of a model at given times, inside `jit`, `vmap`, `grad` and `jacfwd`.

    The start is projected onto the constraints, in the mass metric; the derivative is that of the
    projected start. For many calls compile the whole function by `zw.program(f)`.

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,), at the first of `times`.
        times: increasing sample times [s]; the first is the start.
        params: parameters that differ from the model's.
        rtol, atol, longest_step: error and length of one step, as in `zw.simulate`.
        step: a step of fixed length [s], shortened to end on samples, in place of error control.
            The program then has no data-dependent control flow, which suits accelerators, and
            `times` must be concrete when it is compiled.
        stop: conditions that end the motion early, as in `zw.simulate`; samples after that are NaN,
            and `end` is the state there. Not with `step`.
        gradient: "reverse" to differentiate one number with respect to many parameters
            (`jax.grad`): the steps are repeated with the same lengths, with memory for `2
            √max_steps` states, and the other states are recomputed; "forward" for few parameters
            (`jax.jacfwd`). Not needed with `step`, which allows both.
        integrator, drift, pseudoinverse: as in `zw.simulate`.
        start_tolerance: largest violation of the start [dimensionless]; `result` reports a larger
            one.
        max_steps: limit of attempted steps.
        others: arguments of `zw.simulate` that need the host (`ON_HOST`) are refused by name.

    Returns:
        A `Trajectory`. Compiled programs raise no errors and warn of nothing: read `.result`,
            `.reason` for the constraints and the instant that ended the motion, and `.warnings` for
            servo constraints that were not met. A step across a gap between two branches that
            almost meet is not detected: this needs the constraints at every step, which only
            `zw.simulate` keeps.

    Raises:
        ModelError: for a wrong argument, and where the motion is differentiated in a mode that
            `gradient` does not name.
    """
    instance(model, Model, "trajectory: model", "a zw.Model")
    refuse_switches(model, "a compiled program")
    choice(gradient, "gradient", ("forward", "reverse", None))
    check_methods(integrator, drift)
    refuse_others("zw.trajectory", others)
    stop = items(stop, Stop, "stop", "zw.Stop(function)")
    start_tolerance = number(start_tolerance, "start_tolerance", least=0, infinite=True)
    max_steps = count(max_steps, "max_steps", least=1, most=2**31)
    if integrator is not None and not integrator.estimates:
        raise ModelError(
            f"zw.trajectory takes no {written(type(integrator).__name__)}, whose steps have no "
            "error estimate: zw.simulate does."
        )
    instants = checked_times(times)
    if model.servo is not None:
        model.servo.refuse_continuous()
    given = model.state(q0, v0, instants[0])
    drift = Projection() if drift is None else drift
    integrator = Dopri8() if integrator is None else integrator
    # violation [dimensionless] at which a projection stops early; it also stops where round-off
    # prevents an improvement
    flow = ConstrainedVectorField(
        model.dynamics(params, pseudoinverse, implicit=integrator.implicit),
        drift,
        jnp.asarray(ROUND_OFF),
    )
    if stop and step is not None:
        raise ModelError(
            "zw.trajectory got stop= and step=: a fixed step cannot be shortened to end where a "
            "condition is met; leave step= out, or use zw.simulate."
        )
    events = Events(tuple(s.function for s in stop), ())
    for s in stop:
        what = f"Stop {s.name!r}: function(q, v, t, p)"
        check_condition(s.function, what, model, flow.dynamics.p)
    duration = instants[-1] - instants[0]
    tolerances = step_tolerances(model, rtol, atol, step, longest_step, duration, CONTRADICTED)
    accept = accepted_violation(jnp, flow, tolerances.rtol, step)
    tolerances = tolerances._replace(accept=jnp.asarray(accept))
    grid = None if step is None else step_grid(instants, step)
    numbers = jnp.asarray(instants), grid, tolerances, jnp.asarray(start_tolerance, jnp.float64)
    answer = _trajectory(flow, integrator, events, given, *numbers, gradient, max_steps)
    if pseudoinverse is None and is_nearly_parallel(answer.result):
        flow = dataclasses.replace(flow, dynamics=by_rank(flow.dynamics))
        answer = _trajectory(flow, integrator, events, given, *numbers, gradient, max_steps)
    # with a fixed step the number of steps is known, so that both derivative modes are possible
    backward = grid is not None or gradient == "reverse" or is_concrete(answer)
    return answer if backward else forward_only(answer)


def refuse_others(function: str, options: Iterable[str]) -> None:
    """Refuse arguments of `zw.simulate` that a compiled motion cannot take, with the reason.

    Raises:
        ModelError: if there are any; for an unknown name, with the most similar known one.
    """
    for name in options:
        if name in ON_HOST:
            raise ModelError(f"{function} takes no {name}=: {ON_HOST[name]}; zw.simulate does.")
        known(name, ("params", "gradient", *OPTIONS), f"{function} has no argument")


@model_program
def _trajectory(
    flow: ConstrainedVectorField,
    integrator: AbstractIntegrator,
    events: Events,
    given: State,
    times,
    grid,
    tolerances: Tolerances,
    start_tolerance,
    gradient: Gradient | None,
    limit,
) -> Trajectory:
    still, at = without_derivative((flow.dynamics, given))
    scales, massive, beyond = without_derivative(measured(still, at, times[-1] - times[0]))
    flow = dataclasses.replace(flow, dynamics=dataclasses.replace(flow.dynamics, scales=scales))
    start, before = placed(flow.dynamics, given, flow.target)
    # such a start cannot be projected, and its reason is determined at the state as given
    kept = massive & ~beyond
    start = select(kept, start, given)
    y0 = jnp.concatenate([start.q, start.v])
    result = jnp.where(before <= start_tolerance, int(Result.SUCCESS), int(Result.OFF_CONSTRAINTS))
    gone, between = judged(*without_derivative((flow.dynamics, start)))
    # a vanishing row is reported first, because it also causes accelerations of no motion
    result = jnp.where(between, int(Result.BETWEEN_BRANCHES), result)
    result = jnp.where(gone, int(Result.VANISHING), result)
    result = jnp.where(massive, result, int(Result.SINGULAR_MASS))
    result = jnp.where(beyond, int(Result.OUT_OF_RANGE), result)
    # far below any time scale of the motion: the controller lengthens it tenfold per step
    first = 1e-4 * tolerances.duration / max(len(times) - 1, 100)
    values = without_derivative(events(flow, (), times[0], y0))
    p = Progress.begun(times[0], y0, jnp.asarray(first), values, result=result)
    row = jnp.append(y0, position_violation(flow.dynamics, start))
    fixed = None if grid is None else FIXED_CORRECTIONS
    if gradient is not None or fixed is not None:
        flow = dataclasses.replace(flow, drift=Differentiable(flow.drift, fixed))
    run = Stepper(flow, integrator, events, tolerances, limit)
    if grid is None and gradient == "reverse":
        found = adaptive_steps(*without_derivative((run, p, times, row)), replayed=True)
        (p, end, rows), residual = replayed_steps(run, p, row, found), found.residual
        steps = p.accepted
    elif grid is None:
        found = adaptive_steps(run, p, times, row)
        p, rows, residual = found.progress, found.saved, found.residual
        steps, end = p.accepted, flow.state(p.t, p.y)
    else:
        p, end, rows, residual = fixed_steps(run, p, grid, row)
        steps = jnp.sum(grid[1] > 0)
    q, v = flow.split(rows[:, :-1].T)
    parallel = stays_nearly_parallel(flow.dynamics, residual, start, end)
    result = jnp.where(parallel, int(Result.NEARLY_PARALLEL), p.result)
    return Trajectory(
        times, q.T, v.T, rows[:, -1], before, residual, steps, p.rejected, result, end
    )


def violations(model: Model, q0, v0, params: PyTree, found: Trajectory) -> Float[Array, " samples"]:
    """Return the position violation of a trajectory's samples [dimensionless], with the row lengths
    at its start.
    """
    dynamics = model.dynamics(params)
    start = State(jnp.asarray(q0), jnp.asarray(v0), found.t[0])
    scaled = dataclasses.replace(
        dynamics, scales=measured(dynamics, start, found.t[-1] - found.t[0]).scales
    )
    of_sample = lambda q, v, t: position_violation(scaled, State(q, v, t))
    return over_rows(of_sample)(found.q, found.v, found.t)
