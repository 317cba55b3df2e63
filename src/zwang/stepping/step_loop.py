"""Loop over steps along the constraint manifold, one compiled program per model.

`advance` takes a chunk of steps and returns every accepted step; the host calls it again with the
progress at its end. State, sample times, tolerances, step and parameters are all traced, so that
other values need no compilation. Between chunks the host shows progress, collects the steps and may
stop without losing accepted steps.

Steps end on samples, which are not interpolated, and on the instants at which the flow changes (a
zero-order hold of a controller, `Progress.controller_state`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from zwang.compile import model_program
from zwang.errors import Result
from zwang.objects.record import Record
from zwang.stepping.base import AbstractIntegrator
from zwang.stepping.events import EventFunctions
from zwang.stepping.manifold import ManifoldFlow
from zwang.stepping.step import Attempt, Progress, attempt
from zwang.stepping.step_control import Tolerances

CHUNK = 256
"""Accepted steps per call: small enough for a progress bar, large enough that the 0.2 ms of a call
are negligible.
"""


class History(Record):
    """Accepted steps of one chunk.

    `target` is the index of the sample that the step ended on, or −1; `applied` is the input that
    the flow held during the step; `residual` is the residual of `A v̇ = b` at its start, `moved`
    the change of y by the projection at its end, and `events` the event functions there.
    """

    count: Int[Array, ""]
    t: Float[Array, " chunk"]
    y: Float[Array, "chunk n"]
    target: Int[Array, " chunk"]
    log_det: Float[Array, " chunk"]
    violation: Float[Array, " chunk"]
    residual: Float[Array, " chunk"]
    applied: Float[Array, "chunk k"]
    moved: Float[Array, "chunk n"]
    events: Float[Array, "chunk e"]

    @classmethod
    def empty(cls, n: int, k: int, e: int) -> History:
        """Return memory for a chunk of steps of n state variables, k held inputs and e events."""
        zero, table = jnp.zeros(CHUNK), lambda width: jnp.zeros((CHUNK, width))
        shapes = zero, table(n), jnp.full(CHUNK, -1), zero, zero, zero
        return cls(jnp.asarray(0), *shapes, table(k), table(n), table(e))

    def with_step(self, tried: Attempt, target) -> History:
        """Return the history with a step added if it was accepted; `target` is its sample."""
        # every attempt is written into the next free slot, and only an accepted step advances the
        # slot, so that the loop has no branch
        slot, p = self.count, tried.progress
        return History(
            slot + tried.kept,
            self.t.at[slot].set(jnp.where(tried.kept, p.t, self.t[slot])),
            self.y.at[slot].set(jnp.where(tried.kept, p.y, self.y[slot])),
            self.target.at[slot].set(jnp.where(tried.on_sample, target, -1)),
            self.log_det.at[slot].set(tried.log_det),
            self.violation.at[slot].set(tried.violation),
            self.residual.at[slot].set(tried.residual),
            self.applied.at[slot].set(tried.applied),
            self.moved.at[slot].set(tried.moved),
            self.events.at[slot].set(tried.events),
        )


@model_program
def advance(
    flow: ManifoldFlow,
    integrator: AbstractIntegrator,
    events: EventFunctions,
    tolerances: Tolerances,
    limit: Int[Array, ""],
    progress: Progress,
    targets: Float[Array, " chunk"],
) -> tuple[Progress, History]:
    """Take at most `CHUNK` accepted steps towards the times `targets` (padded with inf), and at
    most `limit` steps in all.
    """

    def running(carry):
        p, history, k = carry
        # inf pads the targets and marks the end of the samples of the chunk
        pending = jnp.isfinite(targets[jnp.minimum(k, CHUNK - 1)]) & (k < CHUNK)
        return (p.result == Result.SUCCESS) & (history.count < CHUNK) & pending

    def once(carry):
        p, history, k = carry
        tried = attempt(flow, integrator, events, p, targets[k], tolerances, limit)
        return tried.progress, history.with_step(tried, k), k + tried.on_sample

    held = flow.held_input(progress.controller_state)
    empty = History.empty(len(progress.y), len(held), len(progress.events))
    progress, history, _ = jax.lax.while_loop(running, once, (progress, empty, jnp.asarray(0)))
    return progress, history
