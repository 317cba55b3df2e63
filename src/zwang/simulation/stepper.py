"""Steps of a motion inside a compiled program: of variable and of fixed length, and the repetition
of the steps of a run for reverse mode.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import Result
from zwang.inputs.arguments import strategy
from zwang.stepping import AbstractIntegrator
from zwang.stepping.step import Progress, attempt
from zwang.stepping.step_control import Tolerances
from zwang.thresholds import SINGULAR_ROWS

CONTRADICTED = SINGULAR_ROWS
"""Residual of `A v̇ = b` at the start of a step, relative to the accelerations in it, that ends a
motion. The damping of the sweeps leaves up to 3e-6 of an acceleration along a singular value of
5e-6, and nothing above. `zw.simulate` examines such states on the host."""
FIXED_CORRECTIONS = 2
"""Number of corrections after a step of fixed length. The second leaves round-off, because Newton's
iteration squares the violation."""


def check_methods(integrator: object, drift: object = None) -> None:
    """Refuse arguments of a run that are not an integrator or a drift treatment."""
    integrators = "zw.methods.Dopri8(), zw.methods.Tsit5() ..."
    strategy(integrator, AbstractIntegrator, "integrator", integrators)
    drifts = "zw.methods.Projection(), zw.methods.Baumgarte(alpha, beta) ..."
    strategy(drift, AbstractDrift, "drift", drifts)


class Stepper(NamedTuple):
    """Arguments that all steps have in common."""

    flow: ConstrainedVectorField
    integrator: AbstractIntegrator
    events: Events
    tolerances: Tolerances
    limit: Array | int

    def attempt(self, p: Progress, sample):
        steps = self.integrator, self.events, p, sample, self.tolerances, self.limit
        return attempt(self.flow, *steps)


def fixed_step(run: Stepper, carry: tuple[Progress, State], at) -> tuple[tuple, tuple]:
    """Take one step of fixed length, for `jax.lax.scan`. No decision depends on data, so that a run
    that fails continues as NaN.

    Args:
        run: arguments of all steps; its `drift` has `corrections`.
        carry: progress of the run, and the last state before it failed.
        at: start and length of the step [s].

    Returns:
        The carry after the step, and violation and residual of the step.
    """
    (p, last), (t, h) = carry, at
    tried = run.attempt(p._replace(t=t, h=h), t + h)
    result = jnp.where(p.result == Result.SUCCESS, tried.progress.result, p.result)
    good = result == Result.SUCCESS
    y = jnp.where(good, tried.progress.y, jnp.nan)
    last = jax.tree_util.tree_map(
        lambda new, old: jnp.where(good, new, old), run.flow.state(t + h, y), last
    )
    p = tried.progress._replace(t=t + h, y=y, result=result, rejected=p.rejected)
    return (p, last), (tried.violation, tried.residual)


class Recorded(NamedTuple):
    """State of the loop: the run, the index of the next sample, the largest residual, the samples
    so far, and for a replay begin and length of each step and the step that ended on each sample.
    """

    progress: Progress
    k: Int[Array, ""]
    residual: Float[Array, ""]
    saved: Float[Array, "samples n1"]
    steps: Float[Array, "steps 2"] | None
    ending: Int[Array, " samples"] | None


def adaptive_steps(run: Stepper, p: Progress, times, row, replayed: bool = False) -> Recorded:
    """Take steps of variable length. Return the end of the run, its samples, and the data for a
    replay.
    """
    n = len(times)

    def running(r: Recorded):
        return (r.progress.result == Result.SUCCESS) & (r.k < n)

    def once(r: Recorded) -> Recorded:
        tried = run.attempt(r.progress, times[jnp.minimum(r.k, n - 1)])
        p, k = tried.progress, r.k + tried.on_sample
        # the last permitted step may end on the last sample
        in_time = (p.result == Result.TOO_MANY_STEPS) & (k >= n)
        p = p._replace(result=jnp.where(in_time, int(Result.SUCCESS), p.result))
        # an entry that is not kept gets an index beyond the end, and is dropped
        at = jnp.where(tried.on_sample, r.k, n)
        saved = r.saved.at[at].set(jnp.append(p.y, tried.violation), mode="drop")
        steps, ending = r.steps, r.ending
        if steps is not None and ending is not None:
            before = r.progress
            step = jnp.stack([before.t, p.t - before.t])
            steps = steps.at[jnp.where(tried.kept, before.accepted, run.limit)].set(
                step, mode="drop"
            )
            ending = ending.at[at].set(before.accepted, mode="drop")
        residual = jnp.maximum(r.residual, tried.residual)
        return Recorded(p, k, residual, saved, steps, ending)

    saved = jnp.full((n, len(row)), jnp.nan).at[0].set(row)
    kept = (jnp.zeros((run.limit, 2)), jnp.full(n, -1)) if replayed else (None, None)
    begun = Recorded(p, jnp.asarray(1), jnp.zeros(()), saved, *kept)
    return jax.lax.while_loop(running, once, begun)


def replayed_steps(
    run: Stepper, p: Progress, row, found: Recorded
) -> tuple[Progress, State, Array]:
    """Repeat the steps of a run with the same lengths. Return the end of the run, its state, and
    the samples, all differentiable in reverse mode.

    Reverse mode computes steps again. Their lengths must not be chosen again: where the error
    estimate is round-off, as at a start from rest, the next length is arbitrary, and a part of the
    motion would be counted twice or not at all. The steps form √steps parts of √steps steps each;
    one state of each part is stored, and the states of one part at a time.
    """
    assert found.steps is not None and found.ending is not None
    length = math.isqrt(max(run.limit - 1, 0)) + 1
    parts = jnp.pad(found.steps, ((0, length**2 - run.limit), (0, 0))).reshape(length, length, 2)
    tolerances = run.tolerances._replace(
        accept=jnp.asarray(jnp.inf), residual=jnp.asarray(jnp.inf), growth=(1.0, 1.0)
    )
    run = run._replace(tolerances=tolerances, events=Events((), ()), limit=2**31)
    none = jnp.zeros(0)
    begun = p._replace(events=none, largest=none, fired=none > 0)

    def step(carry, at):
        carry, (violation, _) = fixed_step(run, carry, at)
        return carry, jnp.append(carry[0].y, violation)

    nothing = lambda carry, at: (carry, jnp.full(at.shape[:-1] + row.shape, jnp.nan))
    taken = lambda do, at: (
        lambda carry: jax.lax.cond(jnp.max(at[..., 1]) > 0, do, nothing, carry, at)
    )
    once = lambda carry, at: taken(step, at)(carry)
    part = jax.checkpoint(lambda carry, at: jax.lax.scan(once, carry, at))
    carry = begun, run.flow.state(p.t, p.y)
    (last, end), rows = jax.lax.scan(lambda carry, at: taken(part, at)(carry), carry, parts)
    rows = rows.reshape(-1, len(row))[found.ending]
    rows = jnp.where((found.ending >= 0)[:, None], rows, jnp.nan).at[0].set(row)
    return found.progress._replace(y=last.y), end, rows


def fixed_steps(run: Stepper, p: Progress, grid, row) -> tuple[Progress, State, Array, Array]:
    """Take steps of one length to each sample. Return the progress, the state where the run ended,
    its samples, and the largest residual.
    """
    one = jax.checkpoint(functools.partial(fixed_step, run))

    def sample(carry, at):
        carry, (violation, residual) = jax.lax.scan(one, carry, at)
        return carry, (jnp.append(carry[0].y, violation[-1]), jnp.max(residual))

    begun = p, run.flow.state(p.t, p.y)
    (p, last), (rows, residual) = jax.lax.scan(sample, begun, grid)
    return p, last, jnp.concatenate([row[None], rows]), jnp.max(residual)
