"""The run whose steps are printed as code, and forces that are added to it."""

from __future__ import annotations

import numpy as np

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.objects.record import replace
from zwang.simulation.piecewise import AppliedForce
from zwang.simulation.run_setup import RunRequest
from zwang.thresholds import DEFAULT_RTOL

FRAMES_A_SECOND = 60
"""Number of samples per second of the run; the first samples determine its first step."""


def typical_run(
    model: Model,
    q0,
    v0,
    *,
    duration: float = 10.0,
    rtol: float = DEFAULT_RTOL,
    t0: float = 0.0,
    pseudoinverse: AbstractPseudoinverse | None = None,
) -> RunRequest:
    """Return a run with the defaults of `zw.simulate`."""
    return RunRequest(
        model=model,
        state=model.state(q0, v0, t0),
        instants=np.linspace(t0, t0 + duration, max(2, 1 + round(FRAMES_A_SECOND * duration))),
        span=duration,
        rtol=rtol,
        start_tolerance=1e-3,
        max_steps=2**31,
        pseudoinverse=pseudoinverse,
    )


def with_pull(flow: ConstrainedVectorField, pull) -> ConstrainedVectorField:
    """Return the flow with a further force, shape (nv,)."""
    system = replace(flow.dynamics.system, force=AppliedForce(flow.dynamics.system.force, pull))
    return replace(flow, dynamics=replace(flow.dynamics, system=system))
