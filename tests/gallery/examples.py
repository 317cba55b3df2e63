"""Models of the gallery and their runs, each built and run once per process."""

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
def run(
    name: str,
    *,
    rtol: float = 1e-10,
    end_only: bool = False,
    duration: float | None = None,
    **settings,
):
    """Its run at the default samples, or with the end as the only one; never raises for a run that
    stops early.
    """
    member = example(name, **settings)
    duration = member.duration if duration is None else duration
    when = {"times": [duration]} if end_only else {"duration": duration}
    atol = rtol * np.where([u == "mm" for u in member.model.system.units], 1e3, 1.0)
    return member.run(rtol=rtol, atol=None if np.all(atol == rtol) else atol, throw=False, **when)


BLOCK = 1024
"""States per evaluation; the last block is padded, so that another number of steps compiles
nothing.
"""
_evaluators: dict = {}


def at_every_step(run):
    """max |φ| in the constraint's own unit and energy in the model's, at every accepted step."""
    model = run.model
    if id(model) not in _evaluators:

        def one(y, t):
            q, v = y[: model.system.nq], y[model.system.nq :]
            phi = model.constraints.position_residual(q, t, model.params)
            return jax.numpy.max(jax.numpy.abs(phi), initial=0.0), sum(
                model.system.energy(q, v, t, model.params)
            )

        _evaluators[id(model)] = (
            model,
            jax.jit(jax.vmap(one)),
        )  # the model is kept, so that its id stays its own
    evaluate, n = _evaluators[id(model)][1], len(run.steps.t)
    index = [np.minimum(np.arange(i, i + BLOCK), n - 1) for i in range(0, n, BLOCK)]
    parts = [evaluate(run.steps.y[i], run.steps.t[i]) for i in index]
    return tuple(np.concatenate(x)[:n] for x in zip(*parts, strict=True))


def worst_violation(run) -> float:
    """Largest |φ| over every accepted step, in the constraint's own unit."""
    return float(at_every_step(run)[0].max())


def energy_drift(run) -> float:
    """Largest minus smallest energy over every accepted step, in the model's unit."""
    return float(np.ptp(at_every_step(run)[1]))


def largest_error(member, run) -> float:
    """Largest deviation from the exact solution over every accepted step, samples or not."""
    index = member.model.system.coordinates.index
    return max(
        float(np.abs(run.steps.y[:, index(name)] - values).max())
        for name, values in member.exact(run.steps.t).items()
    )


def steps(run) -> int:
    """Accepted and rejected steps."""
    return run.attrs["steps_accepted"] + run.attrs["steps_rejected"]
