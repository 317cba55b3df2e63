"""Steps of a motion inside a program: what they are taken with, and one of fixed length."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp

from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import Result
from zwang.stepping import AbstractIntegrator
from zwang.stepping.step import Progress, attempt
from zwang.stepping.step_control import Tolerances

CONTRADICTED = 1e-5
"""Residual of `A v̇ = b` at the start of a step, relative to the accelerations in it, that ends a
motion: the damping of the sweeps leaves up to 3e-6 of an acceleration along a singular value of
5e-6, and nothing above. `zw.simulate` looks closer, on the host."""
FIXED_CORRECTIONS = 2
"""Corrections after a step of fixed length; the second leaves round-off, as Newton's iteration
squares the violation.
"""


class Stepper(NamedTuple):
    """What every step is taken with."""

    flow: ConstrainedVectorField
    integrator: AbstractIntegrator
    events: Any
    tolerances: Tolerances
    limit: int

    def attempt(self, p: Progress, sample):
        flow, limit = cast(tuple[Any, Any], (self.flow, self.limit))
        return attempt(flow, self.integrator, self.events, p, sample, self.tolerances, limit)


def fixed_step(run: Stepper, carry: tuple[Progress, State], at) -> tuple[tuple, tuple]:
    """One step of a fixed length, for `jax.lax.scan`; no decision depends on data, so that a run
    that fails goes on as NaN.

    Args:
        run: what steps are taken with; its `drift` has `corrections`.
        carry: where the run is, and the last state before it failed.
        at: start and length of the step [s].

    Returns:
        The same after it, and violation and residual of the step.
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
