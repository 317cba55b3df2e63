"""Velocities in a singular configuration that belong to none of its branches of motion.

Where rows lose rank, a velocity may belong to no motion although all rows admit it: two cranks in
line rotate at equal or opposite rates, and not one at half the rate of the other.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.dynamics.tangent_cone import evaluated, kernels, may_branch
from zwang.equations.state import State
from zwang.thresholds import AGREEMENT, MARGIN, ROOT_OF_ROUND_OFF


def between_branches(model: Model, dynamics: Dynamics, state: State) -> str:
    """Describe a velocity in a singular configuration that belongs to no motion, or return ""."""
    if dynamics.structure.sparse:
        return ""
    near = velocity_on_branch(dynamics, state.q, state.v, state.t)
    if near is None:
        return ""
    size = np.max(np.abs(near))
    # relative to the largest velocity, the size below which one is not named
    shown = [
        f"{name} {x:+.6g}"
        for name, x in zip(model.system.velocities, near, strict=True)
        if abs(x) > AGREEMENT * size
    ]
    more = " …" if len(shown) > 6 else ""
    return (
        "; the configuration is singular, and the velocity lies between the branches of motion "
        f"that meet in it: one nearby on a branch is {', '.join(shown[:6])}{more}"
    )


def velocity_on_branch(dynamics: Dynamics, q, v, t) -> np.ndarray | None:
    """Return the velocity nearest to v that admits accelerations and gives the rows the same rates.

    It is v + K u with `Lᵀ b(v + K u) = 0`, where the rows may depend on time. The result is None if
    every solution found is much larger than v.
    """
    import scipy.optimize  # a slow import, needed for a refusal only

    v = np.asarray(v, float)
    if not may_branch(dynamics) or not np.any(v):
        return None
    metric, _, kernel, left = kernels(dynamics, q, t)
    if not kernel.shape[1] or not left.shape[1]:
        return None
    speed, random = metric.speed(v), np.random.default_rng(1873)

    def missed(u):
        b = np.asarray(evaluated(dynamics, q, v + kernel @ u, t).b)
        return left.T @ b / speed**2

    best, least = None, np.inf
    for _ in range(8):
        first = speed * random.standard_normal(kernel.shape[1])
        # up to round-off: with a gradient tolerance the search would end where a run still refuses
        # v
        exact = {"xtol": 1e-14, "ftol": 1e-14, "gtol": None}
        found = scipy.optimize.least_squares(missed, first, x_scale=speed, **exact)
        there = v + kernel @ found.x
        off = metric.speed(there - v)
        # tolerance of `Lᵀ b` relative to the square of the speed: double zeros are found to the
        # square root of round-off
        met = np.max(np.abs(found.fun)) < ROOT_OF_ROUND_OFF
        if met and off < least and MARGIN * metric.speed(there) > speed:
            best, least = there, off
    return best
