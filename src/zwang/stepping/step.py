"""One step of a motion, from where a run is towards its next sample: the only text of it.

The compiled loop and the host, `zw.trajectory` with its derivatives and batches of it all take
their steps by `attempt`. The state carries a derivative through a step; the step's length, being
chosen by what happened, does not.
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
from zwang.thresholds import RESOLVED


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

    @classmethod
    def begun(
        cls, t, y, h, events, controller_state=(), result: Array | Result = Result.SUCCESS
    ) -> Progress:
        """Before the first step, of which h is the length to try; `events` are the values there.

        Numbers are NumPy's: they are traced like JAX's, each of which would compile a program of
        its own.
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
    """One attempted step: where the run is after it, and what there is to keep of it.

    Attributes:
        progress: where the run is.
        kept: whether the step was accepted.
        on_sample: whether it ended on the sample that was aimed at.
        moved: change of y by the projection at its end.
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
    """Try one step from where a run is towards the time `sample`.

    It is kept if its error is close enough, its equations were solved, it is finite, what the
    projection left is acceptable, the constraints agree, and no event lies within it; an event is
    approached by shorter steps until it lies at the end of one.
    """
    # a change at the very instant of the state belongs to the step that begins there
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
    stuck = decided.refused & ((h_next <= _resolution(p, tolerances)) | _is_fixed(tolerances))
    result = _result(p, stuck, step, judged, decided, limit)

    keep = lambda new, old: jnp.where(decided.kept, new, old)
    progress = Progress(
        t=keep(t, p.t),
        y=keep(landing.y, p.y),
        h=h_next,
        # a step shortened to end on a sample has a small error, beside which the next would shrink
        ratio=keep(jnp.where(hit, p.ratio, jnp.maximum(judged.ratio, RESOLVED)), p.ratio),
        ceiling=ceiling,
        events=keep(found.values, p.events),
        largest=keep(found.largest, p.largest),
        accepted=p.accepted + decided.kept,
        rejected=p.rejected + decided.refused,
        # a product keeps the type: of another one the compiled loop is another program
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
    """Length and end of the step that is tried, and whether it ends on the target.

    A step that would end within a billionth of its length before the target is lengthened, so that
    no sliver is left.
    """
    wanted = jnp.minimum(jnp.minimum(p.h, tolerances.longest), p.ceiling)
    wanted = wanted if reach is None else jnp.minimum(wanted, reach)
    hit = p.t + wanted * (1 + 1e-9) >= target
    return jnp.where(hit, target - p.t, wanted), jnp.where(hit, target, p.t + wanted), hit


class _Judged(NamedTuple):
    """What a step is worth.

    Attributes:
        ratio: its error over the one that it may have.
        finite: whether it is finite and its equations were solved.
        acceptable: whether it is, what it leaves of φ and ψ is small enough to go on from, and the
            projection has moved q no farther than drift explains.
        close: whether its error is small enough; always, for a fixed step.
        contradicted: whether the constraints contradict each other at its start.
    """

    ratio: Float[Array, ""]
    finite: Bool[Array, ""]
    acceptable: Bool[Array, ""]
    close: Bool[Array, ""]
    contradicted: Bool[Array, ""]

    @property
    def good(self) -> Bool[Array, ""]:
        """Whether the step may be kept, as far as its end says."""
        return self.acceptable & self.close & ~self.contradicted


def _judged(
    flow: ManifoldFlow, p: Progress, step: Step, landing: Landing, tolerances: Tolerances
) -> _Judged:
    before, after, error = without_derivative((p.y, landing.y, landing.error))
    ratio = error_ratio(error, before, after, tolerances.rtol, tolerances.atol)
    finite = jnp.all(jnp.isfinite(after)) & jnp.isfinite(ratio) & step.solved & landing.converged
    # velocities may be moved far: at an impact, and where a row is about to vanish
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
    """What becomes of a step: kept, shortened towards an event, or refused; `at_event` is a step
    that is kept because its event lies at its end.
    """

    kept: Bool[Array, ""]
    approach: Bool[Array, ""]
    refused: Bool[Array, ""]
    at_event: Bool[Array, ""]


def _clear(p: Progress, step: Step, judged: _Judged, tolerances: Tolerances):
    """Lengths that keep the stages of a good step clear of a singular configuration, infinite if it
    is to be kept; None if nobody asks (`Step.clear`).

    Where four steps in turn have not come clear, as a run may end or stay there, the next is kept.
    """
    if step.clear is None:
        return None
    free = judged.good & ~_is_fixed(tolerances) & (p.refused < 4)
    return without_derivative(jnp.where(free, step.clear, jnp.inf))


def _steered(p: Progress, h, clear, decided: _Decided, h_next, ceiling):
    """`_ahead` where stages keep clear of singular configurations: a step that is shortened for the
    sake of the next one says nothing about the length of that.
    """
    beside = clear[0] < jnp.inf
    shortened = decided.kept & (h >= p.ceiling)
    h_next = jnp.where(beside, h * clear[0], jnp.where(shortened, p.h, h_next))
    return h_next, jnp.where(beside, h * clear[1], jnp.where(shortened, jnp.inf, ceiling))


def _decided(
    p: Progress, h, judged: _Judged, found: Crossed, clear, tolerances: Tolerances
) -> _Decided:
    # a step that is refused anyway says nothing about events: its end may be far off
    crossed = jnp.any(found.crossed)
    good = judged.good if clear is None else judged.good & (clear[0] == jnp.inf)
    at_event = crossed & good & ((h <= _resolution(p, tolerances)) | found.located)
    kept = good & (~crossed | at_event)
    approach = crossed & good & ~at_event
    return _Decided(kept, approach, ~kept & ~approach, at_event)


def _ahead(order: int, p, h, hit, judged: _Judged, found: Crossed, decided: _Decided, tolerances):
    """The next step to try, and the ceiling that an event within this one sets to it.

    A step that was shortened to end on a sample says nothing about the length of the next one, but
    that it may be at least as long as the one that was wanted.
    """
    resolution, fixed = _resolution(p, tolerances), _is_fixed(tolerances)
    kept, approach = decided.kept, decided.approach
    limits = tolerances.growth
    growth = step_growth(order, judged.ratio, p.ratio, judged.acceptable, judged.close, limits)
    h_next = jnp.where(approach, h * found.secant + 0.1 * resolution, h * growth)
    h_next = jnp.where(hit & kept, jnp.maximum(p.h, h * growth), h_next)
    h_next = jnp.where(fixed & kept, p.h, h_next)
    # an event lies within the step that was tried last, less what has been stepped since
    ceiling = jnp.where(approach, h, jnp.where(kept, p.ceiling - h, p.ceiling))
    # it may lie a little later than the longer step has said; where a step of many instants has not
    # met it there is none
    later = jnp.where(h > 100 * resolution, jnp.inf, jnp.maximum(resolution, 2 * h))
    beyond = jnp.where(approach, h, later)
    ceiling = jnp.where(ceiling <= 0.1 * resolution, beyond, ceiling)
    return without_derivative((h_next, ceiling))


def _result(p: Progress, stuck, step: Step, judged: _Judged, decided: _Decided, limit):
    """Whether the run goes on, and otherwise why not."""
    result = jnp.where(decided.at_event, Result.STOPPED, Result.SUCCESS)
    result = jnp.where(stuck, _reason(judged.finite, judged.acceptable, step.solved, p.y), result)
    result = jnp.where(judged.contradicted, Result.INCONSISTENT, result)
    spent = (p.accepted + p.rejected + 1 >= limit) & (result == Result.SUCCESS)
    return jnp.where(spent, Result.TOO_MANY_STEPS, result)


def _reason(finite, kept, solved, y):
    """Why no smaller step can be tried."""
    reason = jnp.where(
        finite, jnp.where(kept, Result.STEP_TOO_SMALL, Result.NOT_CONVERGED), Result.NON_FINITE
    )
    return jnp.where(solved | ~jnp.all(jnp.isfinite(y)), reason, Result.STEP_TOO_SMALL)


def _resolution(p: Progress, tolerances: Tolerances):
    """The shortest step that time can resolve here."""
    return SMALLEST * (jnp.abs(p.t) + tolerances.duration)


def _is_fixed(tolerances: Tolerances):
    return tolerances.growth[1] == 1
