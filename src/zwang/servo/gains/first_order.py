"""Error dynamics of order one."""

from __future__ import annotations

from jaxtyping import Array, Float

from zwang.servo.gains.base import AbstractGain, numbers, require_order


class FirstOrder(AbstractGain):
    """`ψ̇ + rate ψ = 0`, for a residual at velocity level.

    Attributes:
        rate: [1/s], a number, one per row (rows,), or a matrix (rows, rows), the P⁻¹ of the review
            paper, eq. (72).
    """

    rate: Float[Array, "..."]

    def __init__(self, rate):
        self.rate = numbers(rate, "FirstOrder: rate")

    @classmethod
    def example(cls, order):
        return cls([[1.0, 2.0], [0.0, 3.0]]) if order == 1 else None

    def coefficients(self, order):
        require_order(self, 1, order)
        return [self.rate]
