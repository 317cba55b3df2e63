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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.arithmetic import choose, on_host, xp
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


class Landing(NamedTuple):
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


class Progress(NamedTuple):
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

    @classmethod
    def empty(cls, n: int, k: int) -> History:
        """Room for a chunk of steps of n state variables and k held inputs."""
        zero = jnp.zeros(CHUNK)
        shapes = zero, jnp.zeros((CHUNK, n)), jnp.full(CHUNK, -1), zero, zero, zero
        return cls(jnp.asarray(0), *shapes, jnp.zeros((CHUNK, k)))

    def with_step(self, tried: Attempt, target) -> History:
        """The same with a step added if it was kept; `target` is the sample it aimed at."""
        slot, p = self.count, tried.progress
        return History(
            slot + tried.kept,
            self.t.at[slot].set(jnp.where(tried.kept, p.t, self.t[slot])),
            self.y.at[slot].set(jnp.where(tried.kept, p.y, self.y[slot])),
            self.target.at[slot].set(jnp.where(tried.on_sample, target, -1)),
            self.volume.at[slot].set(tried.volume),
            self.violation.at[slot].set(tried.violation),
            self.residual.at[slot].set(tried.residual),
            self.applied.at[slot].set(tried.applied),
        )

    @classmethod
    def of(cls, steps: Sequence[tuple[Attempt, int]], n: int, k: int) -> History:
        """Steps that were kept, each with its sample or −1."""
        tried, target = [x for x, _ in steps], [i for _, i in steps]
        column: Any = lambda name: np.array([getattr(x, name) for x in tried], float)
        at: Any = lambda name: np.array([getattr(x.progress, name) for x in tried], float)
        count: Any = len(steps)
        return cls(
            count,
            at("t"),
            at("y").reshape(count, n),
            cast(Any, np.array(target, int)),
            column("volume"),
            column("violation"),
            column("residual"),
            column("applied").reshape(count, k),
        )


def error_ratio(error, before, after, rtol, atol) -> Float[Array, ""]:
    """Root mean square of the entries' errors, each over the one it may have; a step is close
    enough up to 1.
    """
    weight = atol + rtol * xp.maximum(xp.abs(after), xp.abs(before))
    return xp.sqrt(xp.mean((error / weight) ** 2)) + 1e-30


def acceptable(landing: Landing, accept) -> Bool[Array, ""]:
    """Whether what a step leaves of φ and ψ is small enough to go on from."""
    return (landing.violation <= accept) & (landing.slip <= xp.maximum(accept, LEAST_SLIP))


def step_growth(order: int, ratio, before, kept, close, limits=(SHRINK, GROW)) -> Float[Array, ""]:
    """Next step over this one: PI control on the error ratios of this step and the last, no growth
    where the error is too large,
    a quarter where the step cannot be kept.
    """
    low, high = limits
    growth = xp.clip(SAFETY * ratio ** (-0.7 / order) * before ** (0.4 / order), low, high)
    return xp.where(kept, xp.where(close, growth, xp.minimum(growth, 1.0)), xp.minimum(0.25, high))


class Attempt(NamedTuple):
    """One attempted step: where the run is after it, and what there is to keep of it.

    Attributes:
        progress: where the run is.
        kept: whether the step was accepted.
        on_sample: whether it ended on the sample that was aimed at.
        violation, volume, residual, applied: as in `History`.
    """

    progress: Progress
    kept: Bool[Array, ""]
    on_sample: Bool[Array, ""]
    violation: Float[Array, ""]
    volume: Float[Array, ""]
    residual: Float[Array, ""]
    applied: Float[Array, " k"]


def attempt(
    flow: ManifoldFlow,
    integrator: AbstractIntegrator,
    events: EventFunctions,
    p: Progress,
    sample: Float[Array, ""],
    tolerances: Tolerances,
    limit: Int[Array, ""],
) -> Attempt:
    """Try one step from where a run is towards the time `sample`: one text for the compiled loop
    and for the host.
    """
    due = flow.next_sample_time(p.controller_state) <= p.t
    controller_state = flow.update_sample(due, p.t, p.y, p.controller_state)
    target = xp.minimum(sample, flow.next_sample_time(controller_state))
    applied = flow.held_input(controller_state)
    held = flow.with_input(applied)
    wanted = xp.minimum(xp.minimum(p.h, tolerances.longest), p.ceiling)
    hit = p.t + wanted * (1 + 1e-9) >= target
    h = xp.where(hit, target - p.t, wanted)
    t = xp.where(hit, target, p.t + h)

    weight = tolerances.atol + tolerances.rtol * xp.abs(p.y)
    step = integrator.step(held, p.t, p.y, h, weight)
    landing = held.project_step(t, step.y, step.error)
    y = landing.y
    ratio = error_ratio(landing.error, p.y, y, tolerances.rtol, tolerances.atol)
    finite = xp.all(xp.isfinite(y)) & xp.isfinite(ratio) & step.solved & landing.converged
    kept = finite & acceptable(landing, tolerances.accept)
    fixed = tolerances.growth[1] == 1
    close = (ratio <= 1) | fixed
    resolution = SMALLEST * (xp.abs(p.t) + tolerances.duration)

    found = _crossed(events, flow, p, controller_state, t, y)
    at_event = xp.any(found.crossed) & kept & close & (h <= 10 * resolution)
    ok = kept & close & (~xp.any(found.crossed) | at_event)
    approach = xp.any(found.crossed) & kept & close & ~at_event

    growth = step_growth(integrator.order, ratio, p.ratio, kept, close, tolerances.growth)
    h_next = xp.where(approach, h * found.secant + resolution, h * growth)
    h_next = xp.where(hit & ok, xp.maximum(p.h, h * growth), h_next)
    h_next = xp.where(fixed & ok, p.h, h_next)
    ceiling = xp.where(approach, h, xp.where(ok, p.ceiling - h, p.ceiling))
    ceiling = xp.where(ceiling <= resolution, xp.where(approach, h, 10 * resolution), ceiling)

    stuck = ~ok & ~approach & ((h_next <= resolution) | fixed)
    result = xp.where(at_event, Result.STOPPED, Result.SUCCESS)
    result = xp.where(stuck, _reason(finite, kept, step.solved, p.y), result)
    spent = (p.accepted + p.rejected + 1 >= limit) & (result == Result.SUCCESS)
    result = xp.where(spent, Result.TOO_MANY_STEPS, result)

    def keep(new, old):
        return choose(ok, new, old)

    progress = Progress(
        keep(t, p.t),
        keep(y, p.y),
        h_next,
        keep(xp.maximum(ratio, 1e-10), p.ratio),
        ceiling,
        keep(found.values, p.events),
        keep(found.largest, p.largest),
        p.accepted + ok,
        p.rejected + (~ok & ~approach),
        xp.where(ok | approach, 0, p.refused + 1),
        xp.asarray(result, p.result.dtype),
        xp.where(at_event, found.crossed, p.fired),
        controller_state,
    )
    on_sample = ok & hit & (target == sample)
    return Attempt(
        progress, ok, on_sample, landing.violation, landing.volume, step.residual, applied
    )


class _Crossed(NamedTuple):
    """What the event functions did along a step.

    Attributes:
        values, largest: as in `Progress`, at the end of the step.
        crossed: which of them crossed zero, shape (e,).
        secant: where the first of them did, as a part of the step that is tried next.
    """

    values: Float[Array, " e"]
    largest: Float[Array, " e"]
    crossed: Bool[Array, " e"]
    secant: Float[Array, ""]


def _crossed(events: EventFunctions, flow, p: Progress, controller_state, t, y) -> _Crossed:
    """Evaluate the event functions; a crossing is bracketed by `ceiling` and approached by the
    secant rule.
    """
    values = events(flow, controller_state, t, y)
    largest = xp.maximum(p.largest, xp.abs(values))
    crossed = xp.where(
        events.rising, (p.events <= 0) & (values > 0), xp.sign(values) * xp.sign(p.events) < 0
    )
    values = xp.where(xp.isinf(p.events) & (values > -EVENT_BAND * largest), xp.inf, values)
    change = xp.where(crossed, p.events - values, 1.0)
    secant = xp.min(xp.where(crossed, p.events / change, 1.0), initial=1.0)
    return _Crossed(values, largest, crossed, xp.clip(secant * (1 - 1e-3), 1e-3, 0.8))


def _reason(finite, kept, solved, y):
    """Why no smaller step can be tried."""
    reason = xp.where(
        finite, xp.where(kept, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED), Result.NON_FINITE
    )
    return xp.where(solved | ~xp.all(xp.isfinite(y)), reason, Result.STEP_TOO_SMALL)


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

    def once(carry):
        p, history, k = carry
        tried = attempt(flow, integrator, events, p, targets[k], tolerances, limit)
        return tried.progress, history.with_step(tried, k), k + tried.on_sample

    held = flow.held_input(progress.controller_state)
    empty = History.empty(len(progress.y), len(held))
    progress, history, _ = jax.lax.while_loop(running, once, (progress, empty, jnp.asarray(0)))
    return progress, history


def advance_on_host(
    flow: ManifoldFlow,
    integrator: AbstractIntegrator,
    events: EventFunctions,
    progress: Progress,
    targets: np.ndarray,
    tolerances: Tolerances,
    limit: Any,
    until: Callable[[], bool],
) -> tuple[Progress, History]:
    """`advance` by NumPy around one compiled evaluation of the model; it also ends where `until()`
    says so after a step.
    """
    p, k, steps = jax.tree_util.tree_map(np.asarray, progress), 0, []
    with on_host(), np.errstate(all="ignore"):
        while (
            int(p.result) == Result.SUCCESS
            and len(steps) < CHUNK
            and k < CHUNK
            and np.isfinite(targets[k])
            and not until()
        ):
            tried = attempt(flow, integrator, events, p, targets[k], tolerances, limit)
            p = tried.progress
            if tried.kept:
                steps.append((tried, k if tried.on_sample else -1))
            k += int(tried.on_sample)
    held = len(flow.held_input(p.controller_state))
    return p, History.of(steps, len(p.y), held)
