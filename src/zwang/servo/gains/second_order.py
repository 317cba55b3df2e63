"""Error dynamics of order two, by natural frequency and damping ratio."""

from __future__ import annotations

from jaxtyping import Array, Float

from zwang.servo.gains.base import AbstractGain, numbers, require_order


class SecondOrder(AbstractGain):
    """`φ̈ + 2ζω φ̇ + ω² φ = 0`, for a residual at position level.

    Attributes:
        omega: ω, natural frequency [rad/s], a number or one per row.
        zeta: ζ, damping ratio, a number or one per row.
    """

    omega: Float[Array, "..."]
    zeta: Float[Array, "..."]

    def __init__(self, omega, zeta=1.0):
        self.omega = numbers(omega, "SecondOrder: omega")
        self.zeta = numbers(zeta, "SecondOrder: zeta")

    @classmethod
    def example(cls, order):
        return cls(4.0, 0.25) if order == 2 else None

    def coefficients(self, order):
        require_order(self, 2, order)
        return [self.omega**2, 2 * self.zeta * self.omega]
