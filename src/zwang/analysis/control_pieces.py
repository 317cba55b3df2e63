"""A control over time as polynomials over intervals, given by Bernstein coefficients."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.objects.record import Record
from zwang.thresholds import RESOLVED


class ControlPieces(Record):
    """A control law u(t): a polynomial over each interval, constant before the first and after the
    last.

    A polynomial stays within the range of its Bernstein coefficients, so limits of the coefficients
    are limits of the control at every instant.

    Attributes:
        t: ends of the intervals [s], shape (intervals + 1,).
        c: Bernstein coefficients, shape (intervals, degree + 1, nu).
    """

    t: Float[Array, " nodes"]
    c: Float[Array, "intervals coefficients nu"]

    def __call__(self, q, v, t, p):
        k = jnp.clip(jnp.sum(t >= self.t) - 1, 0, len(self.c) - 1)
        # the clip leaves a margin, so that derivatives at the ends of an interval are those of the
        # polynomial
        s = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
        return weights(self.c.shape[1] - 1, jnp.clip(s, -RESOLVED, 1 + RESOLVED)) @ self.c[k]


def weights(degree: int, s) -> Array:
    """Bernstein polynomials at s, 0 to 1, shape (degree + 1,)."""
    factors = [math.comb(degree, i) for i in range(degree + 1)]
    return jnp.stack([b * s**i * (1 - s) ** (degree - i) for i, b in enumerate(factors)])


def halves(c: np.ndarray) -> list[np.ndarray]:
    """Coefficients of the same polynomial over the two halves, by de Casteljau's rule."""
    left, right, level = [c[0]], [c[-1]], c
    while len(level) > 1:
        level = 0.5 * (level[:-1] + level[1:])
        left.append(level[0])
        right.append(level[-1])
    return [np.array(left), np.array(right[::-1])]
