"""A trajectory as a pure function of start, times and parameters: it passes through `jit`, `vmap`,
`grad` and `jacfwd`.

`zwang.simulate` runs one motion from the host, shows progress and keeps every step; here nothing
leaves the compiled program, so that a thousand motions can run side by side (`zwang.batch`) and a
motion can be differentiated (`zwang.fit`).

A step is differentiated as it was taken, its length held fixed. Its projection, an iteration, is
differentiated as what it converges to: one more correction at the state found, `q ⊖ A⊕φ`, `v −
A⊕ψ`, moves nothing and carries the derivative, because φ and ψ are zero there and only their change
counts.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.arguments import choice, count, instance, number, strategy
from zwang.arrays import is_concrete
from zwang.compile import program
from zwang.compile.hints import set_row, while_loop
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.drift.base import corrections
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.initial_conditions import START_TOLERANCE
from zwang.dynamics.model import Model
from zwang.dynamics.placement import directions_of, extent_of, scales_of, size_of
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.simulation.reverse import FORWARD, forward_only
from zwang.simulation.sample_times import checked_times, step_grid
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.stepping.step_loop import (
    FIXED_STEP_ACCEPT,
    SMALLEST,
    Landing,
    acceptable,
    error_ratio,
    step_growth,
)

Gradient = Literal["forward", "reverse"]
CONTRADICTED = 1e-5
"""Residual of `A v̇ = b` at the start of a step, relative to the accelerations in it, that ends a
trajectory: the damping of the sweeps leaves up to 3e-6 of an acceleration along a singular value of
5e-6, and nothing above. `zw.simulate` looks closer, on the host."""
FIXED_CORRECTIONS = 2
"""Projections after a step of fixed length; the second leaves round-off, as Newton's iteration
squares the violation.
"""


TARGET = 1e-14
"""Violation [dimensionless] at which a projection stops early; it also stops where round-off keeps
it from improving.
"""


class Trajectory(eqx.Module):
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
        steps, rejected: number of steps, and of those repeated.
        result: a `Result` code.
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


class _Progress(eqx.Module):
    """Where the loop is: state, next step, ratio of the last error, counts, next sample, and the
    samples so far.
    """

    t: Float[Array, ""]
    y: Float[Array, " n"]
    h: Float[Array, ""]
    ratio: Float[Array, ""]
    residual: Float[Array, ""]
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    k: Int[Array, ""]
    result: Int[Array, ""]
    saved: Float[Array, "samples n1"]


def trajectory(
    model: Model,
    q0,
    v0,
    times,
    *,
    params: PyTree = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    step: float | None = None,
    gradient: Gradient | None = None,
    integrator: AbstractIntegrator | None = None,
    drift: AbstractDrift | None = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    start_tolerance: float = START_TOLERANCE,
    max_steps: int = 4096,
) -> Trajectory:
    """The motion of a model at given times, inside `jit`, `vmap`, `grad` and `jacfwd`.

    The start is moved onto the constraints, least in the mass metric; the derivative is that of the
    moved start. For many calls compile it whole by `zw.program(f, compiler=zw.Fused())`, or where
    `jax.jit` is needed by `jax.jit(f, compiler_options=zw.compiler_options())`.

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,), at the first of `times`.
        times: increasing sample times [s]; the first is the start.
        params: parameters that differ from the model's.
        rtol, atol: error of one step, as in `zw.simulate`; `atol` is `rtol` unless given.
        step: a step of fixed length [s], shortened to end on samples, in place of error control:
            then the program has no data-dependent control flow, as accelerators like it, and
            `times` must be known when it is compiled.
        gradient: "reverse" to differentiate a number by many parameters (`jax.grad`), with memory
            for `√max_steps` steps and the rest computed again; "forward" for few (`jax.jacfwd`).
            Not needed with `step`, which allows both.
        integrator, drift, pseudoinverse: as in `zw.simulate`.
        start_tolerance: largest violation of the start [dimensionless]; beyond it `result` says so.
        max_steps: limit of attempted steps.

    Returns:
        A `Trajectory`. Nothing is raised inside compiled programs: read `.result`.

    Raises:
        ModelError: for a wrong argument, and where the motion is differentiated in a mode that
            `gradient` does not name.
    """
    instance(model, Model, "trajectory: model", "a zw.Model")
    choice(gradient, "gradient", ("forward", "reverse", None))
    strategy(integrator, AbstractIntegrator, "integrator", "zw.Dopri8(), zw.Tsit5() ...")
    strategy(drift, AbstractDrift, "drift", "zw.Projection(), zw.Baumgarte(alpha, beta) ...")
    rtol = number(rtol, "rtol", above=0)
    atol = rtol if atol is None else number(atol, "atol", above=0)
    start_tolerance = number(start_tolerance, "start_tolerance", least=0, infinite=True)
    max_steps = count(max_steps, "max_steps", least=1, most=2**31)
    if integrator is not None and not integrator.estimates:
        raise ModelError(
            f"zw.trajectory takes no zw.{type(integrator).__name__}, whose steps have no error "
            "estimate: zw.simulate does."
        )
    instants = checked_times(times)
    if model.servo is not None:
        model.servo.refuse_continuous()
    given = model.state(q0, v0, instants[0])
    drift = Projection() if drift is None else drift
    integrator = Dopri8() if integrator is None else integrator
    flow = ConstrainedVectorField(
        model.dynamics(params, pseudoinverse, implicit=integrator.implicit),
        drift,
        jnp.asarray(TARGET),
    )
    tolerances = tuple(jnp.asarray(x, jnp.float64) for x in (rtol, atol, start_tolerance))
    grid = None if step is None else step_grid(instants, step)
    try:
        answer = _trajectory(
            flow, integrator, given, jnp.asarray(instants), grid, tolerances, gradient, max_steps
        )
    except TypeError as error:
        if gradient == "reverse" and "custom_vjp" in str(error):
            raise ModelError(FORWARD) from error
        raise
    # of a step of fixed length the number is known, so that both modes are possible
    backward = grid is not None or gradient == "reverse" or is_concrete(answer)
    return answer if backward else forward_only(answer)


@program
def _trajectory(
    flow: ConstrainedVectorField,
    integrator,
    given: State,
    times,
    grid,
    tolerances,
    gradient,
    max_steps,
) -> Trajectory:
    dynamics = dataclasses.replace(
        flow.dynamics,
        scales=jax.lax.stop_gradient(_scales(flow.dynamics, given, times[-1] - times[0])),
    )
    flow = dataclasses.replace(flow, dynamics=dynamics)
    start, before = _placed(dynamics, given)
    if grid is not None:
        return _fixed(flow, integrator, start, before, times, grid, tolerances)
    return _adaptive(flow, integrator, start, before, times, tolerances, gradient, max_steps)


def _adaptive(
    flow, integrator, start, before, times, tolerances, gradient, max_steps
) -> Trajectory:
    dynamics, n = flow.dynamics, len(times)
    rtol, atol, start_tolerance = tolerances
    duration = times[-1] - times[0]
    accept = jnp.maximum(0.01 * rtol, 100 * flow.target)

    def running(p: _Progress):
        return (p.result == Result.SUCCESS) & (p.k < n)

    def attempt(p: _Progress) -> _Progress:
        target = times[jnp.minimum(p.k, n - 1)]
        hit = p.t + p.h * (1 + 1e-9) >= target
        h = jnp.where(hit, target - p.t, p.h)
        t = jnp.where(hit, target, p.t + h)
        trial = integrator.step(flow, p.t, p.y, h, _held(atol + rtol * jnp.abs(p.y)))
        y, landing = _settled(flow, t, trial.y, _held(trial.error), gradient)
        ratio = error_ratio(landing.error, _held(p.y), _held(y), rtol, atol)
        finite = jnp.all(jnp.isfinite(y)) & jnp.isfinite(ratio) & landing.converged
        kept = finite & trial.solved & acceptable(landing, accept)
        ok = kept & (ratio <= 1)
        growth = step_growth(integrator.order, ratio, p.ratio, kept, ratio <= 1)
        h_next = jnp.where(ok & hit, jnp.maximum(p.h, h * growth), h * growth)
        stuck = ~ok & (h_next <= SMALLEST * (jnp.abs(p.t) + duration))
        residual = _held(trial.residual)
        contradicted = residual > CONTRADICTED
        reason = jnp.where(
            finite, jnp.where(kept, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED), Result.NON_FINITE
        )
        result = jnp.where(stuck, reason, Result.SUCCESS)
        result = jnp.where(contradicted, Result.INCONSISTENT, result)
        ok = ok & ~contradicted
        full = p.steps + p.rejected + 1 >= max_steps
        sampled = ok & hit
        result = jnp.where(
            full & ~(sampled & (p.k + 1 >= n)) & ~stuck, Result.TOO_MANY_STEPS, result
        )
        row = jnp.append(y, _held(landing.violation))
        return _Progress(
            jnp.where(ok, t, p.t),
            jnp.where(ok, y, p.y),
            _held(h_next),
            jnp.where(ok, jnp.maximum(ratio, 1e-10), p.ratio),
            jnp.maximum(p.residual, residual),
            p.steps + ok,
            p.rejected + ~ok,
            p.k + sampled,
            jnp.asarray(result, p.result.dtype),
            set_row(p.saved, p.k, row, sampled),
        )

    y0 = jnp.concatenate([start.q, start.v])
    first = 1e-4 * duration / max(n - 1, 100)
    result = jnp.where(before <= start_tolerance, Result.SUCCESS, Result.OFF_CONSTRAINTS)
    zero = jnp.asarray(0)
    saved = (
        jnp.full((n, len(y0) + 1), jnp.nan).at[0].set(jnp.append(y0, _violation(dynamics, start)))
    )
    one, still = jnp.ones(()), jnp.zeros(())
    p = _Progress(
        times[0], y0, first, one, still, zero, zero, jnp.asarray(1), jnp.asarray(result), saved
    )
    kind = "checkpointed" if gradient == "reverse" else "lax"
    p = while_loop(running, attempt, p, max_steps=max_steps, buffer=lambda p: p.saved, kind=kind)
    q, v = flow.split(p.saved[:, :-1].T)
    return Trajectory(
        times, q.T, v.T, p.saved[:, -1], before, p.residual, p.steps, p.rejected, p.result
    )


def _fixed(flow, integrator, start, before, times, grid, tolerances) -> Trajectory:
    """Steps of one length, `FIXED_CORRECTIONS` projections after each, and no decision that depends
    on data.
    """
    weight = jnp.ones(len(start.q) + len(start.v))

    def one(y, at):
        t, h = at
        trial = integrator.step(flow, t, y, h, weight)
        s = flow.state(t + h, trial.y)
        for _ in range(FIXED_CORRECTIONS):
            s = corrected(flow.dynamics, s)
        return jnp.concatenate([s.q, s.v]), _held(trial.residual)

    def sample(y, at):
        t, h = at
        y, residuals = jax.lax.scan(jax.checkpoint(one), y, (t, h))
        s = flow.state(t[-1] + h[-1], y)
        return y, (jnp.append(y, _violation(flow.dynamics, s)), jnp.max(residuals))

    y0 = jnp.concatenate([start.q, start.v])
    _, (rows, residuals) = jax.lax.scan(sample, y0, grid)
    rows = jnp.concatenate([jnp.append(y0, _violation(flow.dynamics, start))[None], rows])
    q, v = flow.split(rows[:, :-1].T)
    residual = jnp.max(residuals)
    kept = jnp.max(rows[:, -1]) <= FIXED_STEP_ACCEPT
    kept = kept | (not isinstance(flow.drift, Projection))
    result = jnp.where(kept, Result.SUCCESS, Result.NOT_CONVERGED)
    result = jnp.where(residual <= CONTRADICTED, result, Result.INCONSISTENT)
    result = jnp.where(jnp.all(jnp.isfinite(rows)), result, Result.NON_FINITE)
    result = jnp.where(before <= tolerances[2], result, Result.OFF_CONSTRAINTS)
    return Trajectory(
        times,
        q.T,
        v.T,
        rows[:, -1],
        before,
        residual,
        jnp.sum(grid[1] > 0),
        jnp.asarray(0),
        result,
    )


def _settled(flow: ConstrainedVectorField, t, y, error, gradient) -> tuple[Array, Landing]:
    """The step after its projection, which carries the derivative, and how it landed."""
    if gradient is None:
        landing = flow.project_step(t, y, error)
        return landing.y, landing
    landing = _held(flow).project_step(t, _held(y), error)
    y = y + _held(landing.y - y)
    s = flow.state(t, y)
    s = corrected(flow.dynamics, s) if isinstance(flow.drift, Projection) else s
    return jnp.concatenate([s.q, s.v]), landing


def corrected(dynamics: Dynamics, s: State) -> State:
    """One correction of a state, `q ← q ⊖ A⊕φ`, `v ← v − A⊕ψ`, both with A at the state as it
    is.
    """
    if not dynamics.constraints.m:
        return s
    A = dynamics.matrix(s)
    moving = dynamics.weighted(dynamics.mass(s, A), A, dynamics.constraints.velocity_rows)
    (dv,), (dq,) = corrections(
        dynamics, moving, A, [dynamics.velocity_residual(s)], [dynamics.position_residual(s)]
    )
    return State(dynamics.system.move(s.q, -dq, s.t, dynamics.p), s.v - dv, s.t)


def _placed(dynamics: Dynamics, given: State) -> tuple[State, Float[Array, ""]]:
    """The start on its constraints, and the violation that it had: of position, or of velocity
    relative to the speed.
    """
    if not dynamics.constraints.m:
        return given, jnp.zeros(())
    fixed, at = _held(dynamics), _held(given)
    A = fixed.matrix(at)
    moving = fixed.weighted(fixed.mass(at, A), A, fixed.constraints.velocity_rows)
    slip, speed = (
        jnp.linalg.norm(moving.scale * fixed.velocity_residual(at)),
        jnp.sqrt(jnp.abs(at.v @ moving.mass.apply(at.v))),
    )
    before = jnp.maximum(
        _violation(fixed, at),
        jnp.where(slip > 0, slip / jnp.maximum(speed, 1e-300), 0.0),
    )
    nothing = (jnp.zeros_like(at.q), jnp.zeros_like(at.v))
    found = Projection().project_step(fixed, at, nothing, jnp.asarray(TARGET)).state
    s = State(given.q + _held(found.q - given.q), given.v + _held(found.v - given.v), given.t)
    return corrected(dynamics, s), before


def violations(model: Model, q0, v0, params: PyTree, found: Trajectory) -> Float[Array, " samples"]:
    """Position violation of a trajectory's samples [dimensionless], with the rows' lengths at its
    start.
    """
    dynamics = model.dynamics(params)
    start = State(jnp.asarray(q0), jnp.asarray(v0), found.t[0])
    scaled = dataclasses.replace(
        dynamics, scales=_scales(dynamics, start, found.t[-1] - found.t[0])
    )
    return jax.vmap(lambda q, v, t: _violation(scaled, State(q, v, t)))(found.q, found.v, found.t)


def _violation(dynamics: Dynamics, s: State) -> Float[Array, ""]:
    """Position violation [dimensionless]; without a derivative, which it has not where it is
    zero.
    """
    return _held(dynamics.violation(dynamics.position_residual(s)))


def _scales(dynamics: Dynamics, s: State, span: Float[Array, ""]) -> Scales:
    """`zwang.dynamics.drift.measure` inside a program."""
    A = dynamics.matrix(s)
    mass = dynamics.mass(s, A)
    length = dynamics.row_lengths(mass, A)
    speed = lambda w: jnp.sqrt(jnp.abs(w @ mass.apply(w)))
    unit = jnp.sqrt(jnp.mean(jnp.abs(mass.diag())))
    place = speed(s.q) if len(s.q) == len(s.v) else size_of(jnp, s.q, unit)
    free = mass.solve(jnp.asarray(dynamics.system.force(s.q, s.v, s.t, dynamics.p)))
    extent = extent_of(jnp, place, speed(s.v), speed(free), unit, span)
    directions = jax.vmap(mass.unweigh)(jnp.asarray(directions_of(dynamics.system.nv)))
    still = 0 * directions[:1]
    b = jax.vmap(lambda w: dynamics.rhs(State(s.q, w, s.t)))(
        jnp.concatenate([directions, -directions, still])
    )
    half = len(directions)
    return scales_of(jnp, length, 0.5 * (b[:half] + b[half:-1]) - b[-1], extent)


def _held(tree):
    """The same without a derivative."""
    return jax.tree_util.tree_map(
        lambda x: jax.lax.stop_gradient(x) if eqx.is_array(x) else x, tree
    )
