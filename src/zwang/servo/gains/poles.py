"""Real poles, one by one."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.servo.gains.base import AbstractGain, numbers, require_order


class Poles(AbstractGain):
    """`(s + p_1) … (s + p_r)`: the error is a sum of `exp(−p_i t)`.

    Attributes:
        rates: p_1 … p_r [1/s], shape (r,), real.
    """

    rates: Float[Array, " r"]

    def __init__(self, *rates):
        self.rates = numbers(rates, "Poles: rates")

    @classmethod
    def example(cls, order):
        return cls(*range(1, order + 1))

    def coefficients(self, order):
        require_order(self, len(self.rates), order)
        polynomial = jnp.ones(1)
        for i in range(order):  # times (s + p), highest power first
            polynomial = jnp.append(polynomial, 0.0) + self.rates[i] * jnp.append(
                jnp.zeros(1), polynomial
            )
        return list(polynomial[:0:-1])

    def error_poles(self, order):
        require_order(self, len(self.rates), order)
        return -np.asarray(self.rates, complex)
