"""Linear state feedback about a state, and along a trajectory, as functions for `Feedback`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from zwang.objects.record import Record

if TYPE_CHECKING:
    from scipy.interpolate import BSpline, PPoly

SPLINE_DEGREE = 9
"""Degree of the splines between samples of a trajectory, chosen so that the error of the splines is
as small as the error of the integration steps.
"""


class LinearFeedback(Record):
    """Controls `u − K_q (q − q₀) − K_v (v − v₀)`, stored as arrays, so that other gains need no new
    compilation.
    """

    u: Array
    K_q: Array
    K_v: Array
    q: Array
    v: Array

    def __call__(self, q, v, t, p):
        return self.u - self.K_q @ (q - self.q) - self.K_v @ (v - self.v)


class Tracking(Record):
    """Linear feedback along a trajectory, interpolated between samples by polynomials.

    Attributes:
        t: times of the samples.
        reference: coefficients of u, q and v over (t − t_k), the highest power first, shape
            (samples − 1, degree + 1, nu + nq + nv).
        t_gains, gains: the same for K_q and K_v, flattened.
    """

    t: Float[Array, " samples"]
    reference: Float[Array, "pieces powers values"]
    t_gains: Float[Array, " times"]
    gains: Float[Array, "steps powers gains"]

    def __call__(self, q, v, t, p):
        along, gains = _at(self.t, self.reference, t), _at(self.t_gains, self.gains, t)
        nu = len(along) - len(q) - len(v)
        away = jnp.concatenate([q, v]) - along[nu:]
        return along[:nu] - gains.reshape(nu, -1) @ away


def _at(samples, pieces: Float[Array, "pieces powers values"], t) -> Float[Array, " values"]:
    """Piecewise polynomials at a time, constant before the first and after the last sample."""
    time = jnp.clip(t, samples[0], samples[-1])
    k = jnp.clip(jnp.sum(time >= samples) - 1, 0, len(samples) - 2)
    coefficients, x = pieces[k], time - samples[k]
    found = coefficients[0]
    for c in coefficients[1:]:
        found = found * x + c
    return found


def piecewise(
    t: np.ndarray, y: np.ndarray, degree: int, joints: Sequence[float]
) -> Float[np.ndarray, "pieces powers values"]:
    """Polynomials between samples, from splines that are smooth except at the joints.

    Args:
        t: samples, shape (samples,).
        y: values, shape (samples, values).
        degree: of the splines, an odd number.
        joints: some of the samples.
    """
    from scipy.interpolate import make_interp_spline

    ends = [0, *sorted({int(np.argmin(np.abs(t - x))) for x in joints} - {0, len(t) - 1})]
    made = []
    for first, last in zip(ends, [*ends[1:], len(t) - 1], strict=True):
        x, values = t[first : last + 1], y[first : last + 1]
        of_degree = min(degree, len(x) - 1 if len(x) % 2 == 0 else len(x) - 2) if degree > 1 else 1
        spline = make_interp_spline(x, values, k=max(of_degree, 1))
        made.append(powers(spline, x[:-1], degree))
    return np.concatenate(made)


def powers(
    spline: BSpline | PPoly, t: np.ndarray, degree: int
) -> Float[np.ndarray, "pieces powers values"]:
    """Taylor coefficients of a spline at given times, the highest power first."""
    each = [spline(t, k) / math.factorial(k) for k in range(degree + 1)]
    return np.stack(each[::-1], axis=1)
