"""Poles on a circle: the gain that is optimal for a weighting of error against control."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Array, Float

from zwang.servo.gains.base import AbstractGain, numbers


class Butterworth(AbstractGain):
    """Poles evenly spread on the left half of a circle of radius ω: least ∫ (y² + (y^(r)/ω^r)²) dt.

    This is the linear-quadratic regulator of a chain of r integrators from y^(r), which the
    actuators determine, to y. It weighs the error against the y^(r) that removes it; a larger ω
    gives a faster return and larger forces. Order two is `SecondOrder(ω, 1/√2)`, order one
    `Rate(ω)`. In the coefficients

        c_i = ω^(r−i) ∏_{k=1…i} cos((k − 1) γ)/sin(k γ),    γ = π/(2r)

    the product is that of the normalized Butterworth polynomial.

    Attributes:
        omega: ω, radius of the circle [rad/s], a number or one per row.

    Reference: Butterworth (1930), Wireless Engineer 7, 536-541; Kwakernaak and Sivan (1972),
        Linear Optimal Control Systems, section 3.8 (asymptotic poles of the regulator).
    """

    omega: Float[Array, "..."]

    def __init__(self, omega):
        self.omega = numbers(omega, "Butterworth: omega")

    @classmethod
    def example(cls, order):
        return cls(2.0)

    def coefficients(self, order):
        gamma = math.pi / (2 * order)
        product, normalized = 1.0, []
        for k in range(order):
            normalized.append(product)
            product *= math.cos(k * gamma) / math.sin((k + 1) * gamma)
        return [b * self.omega ** (order - i) for i, b in enumerate(normalized)]

    def error_poles(self, order):
        # in closed form, because roots computed from coefficients are less accurate
        angles = np.pi * (2 * np.arange(order) + 1 + order) / (2 * order)
        return np.outer(np.atleast_1d(np.asarray(self.omega)), np.exp(1j * angles)).ravel()
