"""Gallery members and their runs, each built and run once per process."""

from __future__ import annotations

import functools

import jax
import numpy as np

import zwang as zw


@functools.cache
def example(name: str, **settings):
    """A member with these settings."""
    return zw.gallery.load(name, **settings)


@functools.cache
def run(name: str, *, rtol: float = 1e-10, end_only: bool = False, duration: float | None = None, **settings):
    """Its run at the default samples, or with the end as the only one; never raises for a run that stops early."""
    member = example(name, **settings)
    duration = member.duration if duration is None else duration
    when = {"times": [duration]} if end_only else {"duration": duration}
    atol = rtol * np.where([u == "mm" for u in member.model.system.units], 1e3, 1.0)
    return member.run(rtol=rtol, atol=None if np.all(atol == rtol) else atol, throw=False, **when)


def worst_violation(run) -> float:
    """Largest |φ| over every accepted step, in the constraint's own unit."""
    model = run.model
    phi = jax.vmap(lambda q, t: model.constraints.position_residual(q, t, model.params))
    return float(np.abs(phi(run.steps.y[:, : model.system.nq], run.steps.t)).max(initial=0.0))


def energy_drift(run) -> float:
    """Largest minus smallest energy over every accepted step, in the model's unit."""
    system, p = run.model.system, run.model.params
    energy = jax.vmap(lambda q, v, t: sum(system.energy(q, v, t, p)))
    return float(np.ptp(energy(run.steps.y[:, : system.nq], run.steps.y[:, system.nq :], run.steps.t)))


def largest_error(member, run) -> float:
    """Largest deviation from the exact solution over every accepted step, samples or not."""
    index = member.model.system.coordinates.index
    return max(float(np.abs(run.steps.y[:, index(name)] - values).max()) for name, values in member.exact(run.steps.t).items())


def steps(run) -> int:
    """Accepted and rejected steps."""
    return run.attrs["steps_accepted"] + run.attrs["steps_rejected"]
