"""A gain with a bounded error although the controller's model is wrong."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.equations.constraint.nonideal import length
from zwang.errors import ModelError
from zwang.inputs.arguments import number
from zwang.inputs.arrays import is_concrete
from zwang.servo.gains.base import AbstractGain
from zwang.servo.gains.rate import Rate


class Robust(AbstractGain):
    """`Rate(k)` with a term that keeps the error below a stated bound although the model is wrong.

    For the residual y of order r, z = (d/dt + k)^(r−1) y is made to obey

        ż = −k z − ρ z/max(‖z‖, ε),    ρ = bound/(1 − mismatch)

    for the model of the controller. The plant then obeys `ż = −k z − ρ z/max(‖z‖, ε) + d`.

    Assumption: d = d₀ + E w, where w is the robust term. The disturbance d₀, with ‖d₀‖ ≤ bound, is
    the error of y^(r) under the control without the robust term; it comes from parameters, friction
    and loads that the controller does not know. E, with ‖E‖ ≤ mismatch < 1, is the relative error
    of the actuators' effect on these rows in the controller's model. The control is continuous in
    time, and the actuators reach all rows.

    Then, with V = ½‖z‖², V̇ ≤ −k‖z‖² outside the layer ‖z‖ ≤ ε. This layer is reached from any
    initial state and is not left; inside it V̇ ≤ −(k + bound/ε)‖z‖² + bound ‖z‖, so that ultimately

        ‖z‖ ≤ bound·ε/(k ε + bound) < ε,    ‖y‖ ≤ ‖z‖/k^(r−1)

    (`ultimate_bound`). For comparison, `Rate(k)` alone guarantees only ‖y‖ ≤ bound/k^r. A smaller ε
    gives a smaller error and a stiffer loop: its fastest pole is −(k + ρ/ε), which a sampled
    controller must resolve.

    Attributes:
        k: rate [1/s].
        bound: of d₀ [unit of y per s^r].
        layer: ε, width of the boundary layer in z [unit of y per s^(r−1)].
        mismatch: bound of ‖E‖ [1].

    Reference: Udwadia and Wanichanon (2014), J. Appl. Mech. 81, 041020 (the problem: nominal
        control and compensation of bounded uncertainty, with a boundary layer); Khalil (2002),
        Nonlinear Systems, 3rd ed., section 14.2 (the bound).
    """

    keeps_layer = True
    k: Float[Array, ""]
    bound: Float[Array, ""]
    layer: Float[Array, ""]
    mismatch: Float[Array, ""]

    def __init__(self, k, *, bound, layer, mismatch=0.0):
        self.k, self.bound, self.layer, self.mismatch = (
            jnp.asarray(number(x, f"Robust: {name}"), jnp.float64)
            for name, x in (("k", k), ("bound", bound), ("layer", layer), ("mismatch", mismatch))
        )
        for name, least in (
            ("k", "positive"),
            ("bound", "0 or more"),
            ("layer", "positive"),
            ("mismatch", "between 0 and 1"),
        ):
            value = getattr(self, name)
            if value.shape != ():
                raise ModelError(f"Robust: {name} has shape {value.shape}, expected a number.")
            wrong = is_concrete(value) and not (
                value > 0
                if least == "positive"
                else 0 <= value < (1 if name == "mismatch" else jnp.inf)
            )
            if wrong:
                raise ModelError(f"Robust: {name} is {float(value)}, expected {least}.")

    @classmethod
    def example(cls, order):
        return cls(2.0, bound=1.0, layer=0.1)

    def coefficients(self, order):
        return Rate(self.k).coefficients(order)

    def error_poles(self, order):
        # The robust term only adds to the decay of V, inside and outside its layer.
        return Rate(self.k).error_poles(order)

    def pull(self, chain):
        z = self.filtered(chain)
        strength = self.bound / (1 - self.mismatch)
        return Rate(self.k).pull(chain) - strength * z / jnp.maximum(length(z), self.layer)

    def filtered(self, chain: list[Float[Array, " rows"]]) -> Float[Array, " rows"]:
        """`z = (d/dt + k)^(r−1) y`."""
        order = len(chain) - 1
        return sum(
            (math.comb(order, i) * self.k ** (order - i) * y for i, y in enumerate(chain)),
            jnp.zeros_like(chain[0]),
        )

    def ultimate_bound(self, order: int) -> Float[Array, ""]:
        """Ultimate bound of ‖y‖ for a residual of this order [unit of y]."""
        return self.bound * self.layer / (self.k * self.layer + self.bound) / self.k ** (order - 1)
