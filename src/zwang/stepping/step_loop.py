"""Stepping along the constraint manifold: one compiled program per model.

`advance` runs a chunk of steps and gives every accepted step back; the host calls it again with
where it ended. State, sample times, tolerances, step and parameters are all traced, so that none of
them compiles anything anew; between chunks the host shows progress, collects the steps and may stop
without losing what was reached.

Samples are stepped to, not interpolated, and so are the instants at which the flow changes (a
controller that holds its last control, `Progress.controller_state`). The step is chosen by a PI
controller, which rejects next to nothing on smooth motion. A step is rejected if its error is too
large, if its equations were not solved, if it is not finite, or if the violation left after the
projection exceeds `accept`.
"""

from __future__ import annotations

from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.compile import program
from zwang.errors import Result
from zwang.stepping.base import AbstractIntegrator, Flow

CHUNK = 256
"""Accepted steps per call: small enough for a progress bar, large enough that the call's 0.2 ms do
not count.
"""
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""Step controller: fraction of the step that would just be acceptable, and the limits of one
change.
"""
EVENT_BAND = 1e-9
"""A rising event that has had its effect must fall below this before it can have it again, relative
to the largest value of its
function so far: on its own constraint it is zero up to round-off.
"""
FIXED_STEP_ACCEPT = 1e-6
"""Largest violation [dimensionless] that a step of fixed length may leave after its projection."""
LEAST_SLIP = 1e-9
"""Velocity residual that a step may always leave, relative to the velocities in it: damping near a
rank drop leaves up to 1e-10. Velocity constraints that contradict each other leave their own
disagreement."""
SMALLEST = 1e-13
"""A step below this times |t| + duration cannot be resolved by time in float64."""


class Landing(eqx.Module):
    """A step brought back to its constraints.

    Attributes:
        y, error: state and error estimate.
        violation: dimensionless position violation left.
        slip: velocity residual left, relative to the velocities in it.
        converged: whether the projection came to an end.
        volume: log-determinant of the rows at unit length, which dips where they lose rank.
    """

    y: Float[Array, " n"]
    error: Float[Array, " n"]
    violation: Float[Array, ""]
    slip: Float[Array, ""]
    converged: Bool[Array, ""]
    volume: Float[Array, ""]


class ManifoldFlow(Flow, Protocol):
    """A flow whose steps can be brought back to its constraints, and which may change at
    instants.
    """

    def project_step(self, t, y, error) -> Landing:
        """The step after the drift treatment."""
        raise NotImplementedError

    def held_input(self, controller_state) -> Float[Array, " k"]:
        """What acts between two changes, according to the controller state; empty if the flow
        never changes.
        """
        raise NotImplementedError

    def with_input(self, u: Float[Array, " k"]) -> ManifoldFlow:
        """The flow while u acts."""
        raise NotImplementedError

    def next_sample_time(self, controller_state) -> Float[Array, ""]:
        """Time of the next change."""
        raise NotImplementedError

    def update_sample(self, due, t, y, controller_state):
        """The controller state from (t, y) on, if a change is due."""
        raise NotImplementedError


class EventFunctions(Protocol):
    """Functions whose zeros end the loop: those that are `rising` where they leave zero or what is
    below it upward, the others
    wherever they cross it.
    """

    @property
    def rising(self) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, flow, controller_state, t, y) -> Float[Array, " e"]:
        raise NotImplementedError


class Tolerances(eqx.Module):
    """Attributes: rtol; atol, shape (n,); accept, the violation that a step may leave; growth, (1,
    1) for a fixed step.
    """

    rtol: Float[Array, ""]
    atol: Float[Array, " n"]
    accept: Float[Array, ""]
    growth: tuple[Float[Array, ""], Float[Array, ""]]
    longest: Float[Array, ""]
    duration: Float[Array, ""]


class Progress(eqx.Module):
    """Where a run is between two chunks; `controller_state` is the flow's own.

    `events` are the values of the event functions, inf for one that is spent: it has had its
    effect, which keeps it at zero up to round-off, and counts again once it has been below a band
    about zero; `largest` are the largest of them so far.
    """

    t: Float[Array, ""]
    y: Float[Array, " n"]
    h: Float[Array, ""]
    ratio: Float[Array, ""]
    ceiling: Float[Array, ""]
    events: Float[Array, " e"]
    largest: Float[Array, " e"]
    accepted: Int[Array, ""]
    rejected: Int[Array, ""]
    refused: Int[Array, ""]
    result: Int[Array, ""]
    fired: Bool[Array, " e"]
    controller_state: PyTree = ()


class History(eqx.Module):
    """The accepted steps of one chunk; `target` is the index of the sample that the step ended on,
    or −1; `applied` is
    what the flow held during the step,
    `residual` what was left of `A v̇ = b` at its start.
    """

    count: Int[Array, ""]
    t: Float[Array, " chunk"]
    y: Float[Array, "chunk n"]
    target: Int[Array, " chunk"]
    volume: Float[Array, " chunk"]
    violation: Float[Array, " chunk"]
    residual: Float[Array, " chunk"]
    applied: Float[Array, "chunk k"]


def error_ratio(error, before, after, rtol, atol) -> Float[Array, ""]:
    """Root mean square of the entries' errors, each over the one it may have; a step is close
    enough up to 1.
    """
    weight = atol + rtol * jnp.maximum(jnp.abs(after), jnp.abs(before))
    return jnp.sqrt(jnp.mean((error / weight) ** 2)) + 1e-30


def acceptable(landing: Landing, accept) -> Bool[Array, ""]:
    """Whether what a step leaves of φ and ψ is small enough to go on from."""
    return (landing.violation <= accept) & (landing.slip <= jnp.maximum(accept, LEAST_SLIP))


def step_growth(order: int, ratio, before, kept, close, limits=(SHRINK, GROW)) -> Float[Array, ""]:
    """Next step over this one: PI control on the error ratios of this step and the last, no growth
    where the error is too large,
    a quarter where the step cannot be kept.
    """
    low, high = limits
    growth = jnp.clip(SAFETY * ratio ** (-0.7 / order) * before ** (0.4 / order), low, high)
    return jnp.where(
        kept, jnp.where(close, growth, jnp.minimum(growth, 1.0)), jnp.minimum(0.25, high)
    )


@program
def advance(
    flow: ManifoldFlow,
    integrator: AbstractIntegrator,
    events: EventFunctions,
    progress: Progress,
    targets: Float[Array, " chunk"],
    tolerances: Tolerances,
    limit: Int[Array, ""],
) -> tuple[Progress, History]:
    """At most `CHUNK` accepted steps towards the times `targets` (padded with inf), at most `limit`
    steps in all.
    """

    def running(carry):
        p, history, k = carry
        pending = jnp.isfinite(targets[jnp.minimum(k, CHUNK - 1)]) & (k < CHUNK)
        return (p.result == Result.SUCCESS) & (history.count < CHUNK) & pending

    def attempt(carry):
        p, history, k = carry
        controller_state = flow.update_sample(
            flow.next_sample_time(p.controller_state) <= p.t, p.t, p.y, p.controller_state
        )
        target = jnp.minimum(targets[k], flow.next_sample_time(controller_state))
        held = flow.with_input(flow.held_input(controller_state))
        wanted = jnp.minimum(jnp.minimum(p.h, tolerances.longest), p.ceiling)
        hit = p.t + wanted * (1 + 1e-9) >= target
        h = jnp.where(hit, target - p.t, wanted)
        weight = tolerances.atol + tolerances.rtol * jnp.abs(p.y)
        step = integrator.step(held, p.t, p.y, h, weight)
        t = jnp.where(hit, target, p.t + h)
        landing = held.project_step(t, step.y, step.error)
        y, error, violation = landing.y, landing.error, landing.violation
        ratio = error_ratio(error, p.y, y, tolerances.rtol, tolerances.atol)
        finite = jnp.all(jnp.isfinite(y)) & jnp.isfinite(ratio) & step.solved & landing.converged
        kept = finite & acceptable(landing, tolerances.accept)
        fixed = tolerances.growth[1] == 1
        close = (ratio <= 1) | fixed
        values = events(flow, controller_state, t, y)
        largest = jnp.maximum(p.largest, jnp.abs(values))
        crossed = jnp.where(
            events.rising, (p.events <= 0) & (values > 0), jnp.sign(values) * jnp.sign(p.events) < 0
        )
        values = jnp.where(jnp.isinf(p.events) & (values > -EVENT_BAND * largest), jnp.inf, values)
        resolution = SMALLEST * (jnp.abs(p.t) + tolerances.duration)
        found = jnp.any(crossed) & kept & close & (h <= 10 * resolution)
        ok = kept & close & (~jnp.any(crossed) | found)

        # step control: PI on the error, which also remembers steps that a sample has cut short
        # (without them steps enter singular
        # configurations too long and are rejected there: a fifth fewer of them, and a thousand
        # times the error);
        # a crossing event is bracketed by `ceiling` and approached by the secant rule
        growth = step_growth(integrator.order, ratio, p.ratio, kept, close, tolerances.growth)
        secant = jnp.min(
            jnp.where(crossed, p.events / jnp.where(crossed, p.events - values, 1.0), 1.0),
            initial=1.0,
        )
        approach = jnp.any(crossed) & kept & close & ~found
        h_next = jnp.where(
            approach, h * jnp.clip(secant * (1 - 1e-3), 1e-3, 0.8) + resolution, h * growth
        )
        h_next = jnp.where(hit & ok, jnp.maximum(p.h, h * growth), h_next)
        h_next = jnp.where(fixed & ok, p.h, h_next)
        ceiling = jnp.where(approach, h, jnp.where(ok, p.ceiling - h, p.ceiling))
        ceiling = jnp.where(ceiling <= resolution, jnp.where(approach, h, 10 * resolution), ceiling)

        refused = jnp.where(ok | approach, 0, p.refused + 1)
        result = jnp.where(found, Result.STOPPED, Result.SUCCESS)
        stuck = ~ok & ~approach & ((h_next <= resolution) | fixed)
        reason = jnp.where(
            finite, jnp.where(kept, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED), Result.NON_FINITE
        )
        reason = jnp.where(step.solved | ~jnp.all(jnp.isfinite(p.y)), reason, Result.STEP_TOO_SMALL)
        result = jnp.where(stuck, reason, result)
        result = jnp.where(
            (p.accepted + p.rejected + 1 >= limit) & (result == Result.SUCCESS),
            Result.TOO_MANY_STEPS,
            result,
        )

        on_sample = ok & hit & (target == targets[k])

        def keep(new, old):
            return jnp.where(ok, new, old)

        slot = history.count
        history = History(
            history.count + ok,
            history.t.at[slot].set(keep(t, history.t[slot])),
            history.y.at[slot].set(keep(y, history.y[slot])),
            history.target.at[slot].set(jnp.where(on_sample, k, -1)),
            history.volume.at[slot].set(landing.volume),
            history.violation.at[slot].set(violation),
            history.residual.at[slot].set(step.residual),
            history.applied.at[slot].set(flow.held_input(controller_state)),
        )
        progress = Progress(
            keep(t, p.t),
            keep(y, p.y),
            h_next,
            keep(jnp.maximum(ratio, 1e-10), p.ratio),
            ceiling,
            keep(values, p.events),
            keep(largest, p.largest),
            p.accepted + ok,
            p.rejected + (~ok & ~approach),
            refused,
            jnp.asarray(result, p.result.dtype),
            jnp.where(found, crossed, p.fired),
            controller_state,
        )
        return progress, history, k + on_sample

    n = len(progress.y)
    empty = History(
        jnp.asarray(0),
        jnp.zeros(CHUNK),
        jnp.zeros((CHUNK, n)),
        jnp.full(CHUNK, -1),
        jnp.zeros(CHUNK),
        jnp.zeros(CHUNK),
        jnp.zeros(CHUNK),
        jnp.zeros((CHUNK, len(flow.held_input(progress.controller_state)))),
    )
    progress, history, _ = jax.lax.while_loop(running, attempt, (progress, empty, jnp.asarray(0)))
    return progress, history
