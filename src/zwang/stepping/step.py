"""One step of a motion towards its next sample.

The compiled loop, the host, `zw.trajectory` with its derivatives, and batches all take their steps
by `attempt`. The state of a step is differentiated; the length of the step, which depends on the
error of earlier steps, is not.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.errors import Result
from zwang.inputs.arrays import host_array, without_derivative
from zwang.stepping.base import AbstractIntegrator, Step
from zwang.stepping.events import Crossed, EventFunctions, crossed_events
from zwang.stepping.manifold import Landing, ManifoldFlow
from zwang.stepping.step_control import (
    FARTHEST,
    SMALLEST,
    Tolerances,
    acceptable,
    error_ratio,
    step_growth,
)
from zwang.thresholds import RESOLVED, ROUND_OFF


class Progress(NamedTuple):
    """State of a run between two chunks; `controller_state` belongs to the flow.

    `events` are the values of the event functions. The value is inf for an event that has taken
    effect and whose function is therefore zero up to round-off; the event is active again after its
    function has been below a band about zero. `largest` are the largest values so far.
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

    @classmethod
    def begun(
        cls, t, y, h, events, controller_state=(), result: Array | Result = Result.SUCCESS
    ) -> Progress:
        """Return the progress before the first step, with the trial length h; `events` are the
        values there.

        Numbers are NumPy arrays: they are traced like JAX arrays, but each JAX array would compile
        a program to create it.
        """
        one, zero = host_array(1.0), host_array(0, int)
        return cls(
            t=t,
            y=y,
            h=h,
            ratio=one,
            ceiling=one * np.inf,
            events=events,
            largest=abs(events),
            accepted=zero,
            rejected=zero,
            refused=zero,
            result=result if isinstance(result, jax.Array) else host_array(int(result), int),
            fired=events > np.inf,
            controller_state=controller_state,
        )


class Attempt(NamedTuple):
    """Attempted step, with the progress after it and the values to record.

    Attributes:
        progress: state of the run after the attempt.
        kept: whether the step was accepted.
        on_sample: whether it ended on the sample that is the target.
        moved: change of y by the projection at the end of the step.
        violation, log_det, residual, applied, events: as in `History`.
    """

    progress: Progress
    kept: Bool[Array, ""]
    on_sample: Bool[Array, ""]
    moved: Float[Array, " n"]
    violation: Float[Array, ""]
    log_det: Float[Array, ""]
    residual: Float[Array, ""]
    applied: Float[Array, " k"]
    events: Float[Array, " e"]


def attempt(
    flow: ManifoldFlow,
    integrator: AbstractIntegrator,
    events: EventFunctions,
    p: Progress,
    sample: Float[Array, ""],
    tolerances: Tolerances,
    limit: Int[Array, ""] | int,
) -> Attempt:
    """Attempt one step towards the time `sample`.

    The step is accepted if its error is small enough, its equations were solved, it is finite, the
    residuals after the projection are acceptable, the constraints are consistent, and no event lies
    within it. An event is approached by shorter steps until it lies at the end of one.
    """
    # a change at the instant of the state applies to the step that begins there
    due = flow.next_sample_time(p.controller_state) <= p.t
    controller_state = flow.update_sample(due, p.t, p.y, p.controller_state)
    target = jnp.minimum(sample, flow.next_sample_time(controller_state))
    applied = flow.held_input(controller_state)
    held = flow.with_input(applied)
    reach = held.longest_step(without_derivative(p.t), without_derivative(p.y))
    h, t, hit = _aimed(p, target, tolerances, reach)

    weight = tolerances.atol + tolerances.rtol * jnp.abs(without_derivative(p.y))
    step = integrator.step(held, p.t, p.y, h, weight)
    landing = held.project_step(t, step.y, without_derivative(step.error))

    judged = _judged(flow, p, step, landing, tolerances)
    clear = _clear(p, step, judged, tolerances)
    y = without_derivative(landing.y)
    ends = (p.t, without_derivative(p.y)), (t, y)
    found = crossed_events(events, flow, controller_state, *ends, p.events, p.largest)
    decided = _decided(p, h, judged, found, clear, tolerances)
    h_next, ceiling = _ahead(integrator.order, p, h, hit, judged, found, decided, tolerances)
    if clear is not None:
        h_next, ceiling = _steered(p, h, clear, decided, h_next, ceiling)
    stuck = decided.refused & (
        (h_next <= _resolution(p, tolerances, SMALLEST)) | _is_fixed(tolerances)
    )
    result = _result(p, stuck, step, judged, decided, limit)

    keep = lambda new, old: jnp.where(decided.kept, new, old)
    progress = Progress(
        t=keep(t, p.t),
        y=keep(landing.y, p.y),
        h=h_next,
        # the small error of a step shortened to end on a sample would make the next step shorter
        ratio=keep(jnp.where(hit, p.ratio, jnp.maximum(judged.ratio, RESOLVED)), p.ratio),
        ceiling=ceiling,
        events=keep(found.values, p.events),
        largest=keep(found.largest, p.largest),
        accepted=p.accepted + decided.kept,
        rejected=p.rejected + decided.refused,
        # a product keeps the type; with another type the compiled loop would be another program
        refused=(p.refused + 1) * decided.refused,
        result=jnp.asarray(result, p.result.dtype),
        fired=jnp.where(decided.at_event, found.crossed, p.fired),
        controller_state=controller_state,
    )
    on_sample = decided.kept & hit & (target == sample)
    violation, residual = without_derivative((landing.violation, step.residual))
    moved = without_derivative(landing.y - step.y)
    log_det, values = landing.log_det, found.values
    return Attempt(
        progress, decided.kept, on_sample, moved, violation, log_det, residual, applied, values
    )


def _aimed(p: Progress, target, tolerances: Tolerances, reach) -> tuple:
    """Return the length and end of the step to attempt, and whether it ends on the target.

    A step that would end within a billionth of its length before the target is lengthened, so that
    no tiny step remains.
    """
    wanted = jnp.minimum(jnp.minimum(p.h, tolerances.longest), p.ceiling)
    wanted = wanted if reach is None else jnp.minimum(wanted, reach)
    hit = p.t + wanted * (1 + 1e-9) >= target
    return jnp.where(hit, target - p.t, wanted), jnp.where(hit, target, p.t + wanted), hit


class _Judged(NamedTuple):
    """Assessment of a step.

    Attributes:
        ratio: error of the step, divided by the tolerance.
        finite: whether it is finite and its equations were solved.
        acceptable: whether it is finite, the remaining φ and ψ are small enough to continue, and
            the projection has moved q no farther than drift explains.
        close: whether the error is small enough; always, for a fixed step.
        contradicted: whether the constraints contradict each other at the start of the step.
    """

    ratio: Float[Array, ""]
    finite: Bool[Array, ""]
    acceptable: Bool[Array, ""]
    close: Bool[Array, ""]
    contradicted: Bool[Array, ""]

    @property
    def good(self) -> Bool[Array, ""]:
        """True if the step may be accepted, apart from events and singular configurations."""
        return self.acceptable & self.close & ~self.contradicted


def _judged(
    flow: ManifoldFlow, p: Progress, step: Step, landing: Landing, tolerances: Tolerances
) -> _Judged:
    before, after, error = without_derivative((p.y, landing.y, landing.error))
    ratio = error_ratio(error, before, after, tolerances.rtol, tolerances.atol)
    finite = jnp.all(jnp.isfinite(after)) & jnp.isfinite(ratio) & step.solved & landing.converged
    # the projection may move velocities far: at an impact, and where a row is about to vanish
    moved = flow.split(after - without_derivative(step.y))[0]
    allowed = flow.split(tolerances.atol + tolerances.rtol * jnp.abs(after))[0]
    near = jnp.all(jnp.abs(moved) <= FARTHEST * allowed)
    return _Judged(
        ratio,
        finite,
        finite & acceptable(landing, tolerances) & (near | _is_fixed(tolerances)),
        (ratio <= 1) | _is_fixed(tolerances),
        step.residual > tolerances.residual,  # NaN is no contradiction: it is not finite either
    )


class _Decided(NamedTuple):
    """Decision about a step: kept, shortened towards an event, or refused; `at_event` means that
    the step is kept because its event lies at its end.
    """

    kept: Bool[Array, ""]
    approach: Bool[Array, ""]
    refused: Bool[Array, ""]
    at_event: Bool[Array, ""]


def _clear(p: Progress, step: Step, judged: _Judged, tolerances: Tolerances):
    """Return the lengths that keep the stages of a good step away from a singular configuration,
    infinite if the step may be kept; None if not requested (`Step.clear`).

    After four consecutive attempts that did not succeed, because a run may end or remain there, the
    next step is kept.
    """
    if step.clear is None:
        return None
    free = judged.good & ~_is_fixed(tolerances) & (p.refused < 4)
    return without_derivative(jnp.where(free, step.clear, jnp.inf))


def _steered(p: Progress, h, clear, decided: _Decided, h_next, ceiling):
    """Adapt the result of `_ahead` if stages keep away from singular configurations: the error of a
    step that was shortened for the next one does not determine the length of the next.
    """
    beside = clear[0] < jnp.inf
    shortened = decided.kept & (h >= p.ceiling)
    h_next = jnp.where(beside, h * clear[0], jnp.where(shortened, p.h, h_next))
    return h_next, jnp.where(beside, h * clear[1], jnp.where(shortened, jnp.inf, ceiling))


def _decided(
    p: Progress, h, judged: _Judged, found: Crossed, clear, tolerances: Tolerances
) -> _Decided:
    # events are ignored in a step that is refused anyway, because its end may be far off
    crossed = jnp.any(found.crossed)
    good = judged.good if clear is None else judged.good & (clear[0] == jnp.inf)
    at_event = crossed & good & ((h <= _resolution(p, tolerances, ROUND_OFF)) | found.located)
    kept = good & (~crossed | at_event)
    approach = crossed & good & ~at_event
    return _Decided(kept, approach, ~kept & ~approach, at_event)


def _ahead(order: int, p, h, hit, judged: _Judged, found: Crossed, decided: _Decided, tolerances):
    """Return the next step to attempt, and the upper limit that an event within this step sets to
    it.

    After a step that was shortened to end on a sample, the next step may be at least as long as the
    step that was intended.
    """
    resolution, fixed = _resolution(p, tolerances, ROUND_OFF), _is_fixed(tolerances)
    kept, approach = decided.kept, decided.approach
    limits = tolerances.growth
    growth = step_growth(order, judged.ratio, p.ratio, judged.acceptable, judged.close, limits)
    h_next = jnp.where(approach, h * found.secant + 0.1 * resolution, h * growth)
    h_next = jnp.where(hit & kept, jnp.maximum(p.h, h * growth), h_next)
    h_next = jnp.where(fixed & kept, p.h, h_next)
    # an event lies within the last attempted step, less the distance stepped since
    ceiling = jnp.where(approach, h, jnp.where(kept, p.ceiling - h, p.ceiling))
    # it may lie a little later than the longer step indicated; a step of many instants that has not
    # met it shows that there is none
    later = jnp.where(h > 100 * resolution, jnp.inf, jnp.maximum(resolution, 2 * h))
    beyond = jnp.where(approach, h, later)
    ceiling = jnp.where(ceiling <= 0.1 * resolution, beyond, ceiling)
    return without_derivative((h_next, ceiling))


def _result(p: Progress, stuck, step: Step, judged: _Judged, decided: _Decided, limit):
    """Return `SUCCESS` if the run continues, otherwise the reason why it ends."""
    result = jnp.where(decided.at_event, Result.STOPPED, Result.SUCCESS)
    result = jnp.where(stuck, _reason(judged.finite, judged.acceptable, step.solved, p.y), result)
    result = jnp.where(judged.contradicted, Result.INCONSISTENT, result)
    spent = (p.accepted + p.rejected + 1 >= limit) & (result == Result.SUCCESS)
    return jnp.where(spent, Result.TOO_MANY_STEPS, result)


def _reason(finite, kept, solved, y):
    """Return the reason why no smaller step can be attempted."""
    reason = jnp.where(
        finite, jnp.where(kept, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED), Result.NON_FINITE
    )
    return jnp.where(solved | ~jnp.all(jnp.isfinite(y)), reason, Result.STEP_TOO_SMALL)


def _resolution(p: Progress, tolerances: Tolerances, share: float):
    """Return a share of the time that float64 represents: `SMALLEST` of it is the shortest step,
    and `ROUND_OFF` the longest at whose end an event counts as located, where a gap that closes is
    deeper than zero by up to this length times its speed.
    """
    return share * (jnp.abs(p.t) + tolerances.duration)


def _is_fixed(tolerances: Tolerances):
    return tolerances.growth[1] == 1
