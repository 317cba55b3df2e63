"""One rate for all poles."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Array, Float

from zwang.servo.gains.base import AbstractGain, numbers


class Rate(AbstractGain):
    """All poles at −k: `(s + k)^r`, critically damped at any order.

    Attributes:
        k: rate [1/s], a number or one per row.
    """

    k: Float[Array, "..."]

    def __init__(self, k):
        self.k = numbers(k, "Rate: k")

    @classmethod
    def example(cls, order):
        return cls(2.0)

    def coefficients(self, order):
        return [math.comb(order, i) * self.k ** (order - i) for i in range(order)]

    def error_poles(self, order):
        # A companion matrix would give a pole of multiplicity r only to the r-th root of round-off.
        return np.repeat(-np.atleast_1d(np.asarray(self.k, complex)), order)
