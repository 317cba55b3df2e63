"""A smooth gain that keeps the error within stated bounds although the controller's model is
wrong.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.errors import ModelError
from zwang.inputs.arguments import number
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import field
from zwang.servo.gains.base import AbstractGain, require_order


class SlidingSurface(AbstractGain):
    """The generalized sliding surface `s = ẏ + k y` of each row, with a smooth function of it:

        ÿ = −k ẏ − β (s/ε)^n,    β = bound/(1 − mismatch)

    for the model of the controller. The plant then obeys `ṡ = −(1 + e) β (s/ε)^n + d`.

    Assumption, for each row: d, with `|d| ≤ bound`, is the contribution to ÿ of the other rows and
    of parameters, friction and loads that the controller does not know, without this row's own last
    term; e, with `|e| ≤ mismatch < 1`, is the relative error of the actuators' effect on the row in
    the controller's model. The actuators reach all rows, and the control is continuous in time.

    Then `s ṡ < 0` for `|s| > ε`, so that the layer `|s| ≤ ε` is reached from any initial state and
    is not left, and `|y| ≤ ε/k` (`error_bound`), `|ẏ| ≤ 2 ε` (`rate_bound`). These bounds hold from
    the start if y = ẏ = 0 there (on the nominal motion), and otherwise ultimately. With n = 1 the
    function is linear; the larger n is, the smaller is the control for small s, and the longer s
    takes to decay. In contrast to `Robust`, the control has n − 1 derivatives everywhere.

    Attributes:
        k: rate [1/s].
        bound: of d without mismatch [unit of y per s²].
        layer: ε, in s [unit of y per s].
        mismatch: bound of e, the relative error of the actuators' effect [1].
        power: n, an odd whole number.

    Reference: Udwadia, Wanichanon and Cho (2014), Methodology for satellite formation-keeping in
        the presence of system uncertainties, J. Guidance, Control, and Dynamics 37, doi
        10.2514/1.G000317 (surface, function and bounds, there for full actuation).
    """

    keeps_layer = True
    k: Float[Array, ""]
    bound: Float[Array, ""]
    layer: Float[Array, ""]
    mismatch: Float[Array, ""]
    power: int = field(static=True)

    def __init__(self, k, *, bound, layer, mismatch=0.0, power=3):
        self.k, self.bound, self.layer, self.mismatch = (
            jnp.asarray(number(x, f"SlidingSurface: {name}", above=above), jnp.float64)
            for name, x, above in (
                ("k", k, 0.0),
                ("bound", bound, 0.0),
                ("layer", layer, 0.0),
                ("mismatch", mismatch, None),
            )
        )
        if is_concrete(self.mismatch) and not 0 <= float(self.mismatch) < 1:
            raise ModelError(
                f"SlidingSurface: mismatch is {float(self.mismatch)}, expected 0 or more, and "
                "less than 1; at 1 or more the control may act in the wrong direction."
            )
        if not isinstance(power, int) or power < 1 or power % 2 == 0:
            raise ModelError(f"SlidingSurface: power is {power!r}, expected an odd whole number.")
        self.power = power

    @classmethod
    def example(cls, order):
        return cls(2.0, bound=1.0, layer=0.5, power=1) if order == 2 else None

    def coefficients(self, order):
        require_order(self, 2, order)
        # the term of the surface has slope zero at s = 0 unless n is 1
        slope = self._strength / self.layer if self.power == 1 else jnp.zeros(())
        return [slope * self.k, self.k + slope]

    def error_poles(self, order):
        require_order(self, 2, order)
        # with n > 1 the law is not linear in s; the proof that |s| decreases does not use poles
        return super().error_poles(order) if self.power == 1 else np.zeros(0, complex)

    def pull(self, chain):
        y, rate = chain
        return -self.k * rate - self._strength * ((rate + self.k * y) / self.layer) ** self.power

    @property
    def _strength(self) -> Float[Array, ""]:
        """β."""
        return self.bound / (1 - self.mismatch)

    @property
    def error_bound(self) -> Float[Array, ""]:
        """Bound of `|y|` [unit of y]."""
        return self.layer / self.k

    @property
    def rate_bound(self) -> Float[Array, ""]:
        """Bound of `|ẏ|` [unit of y per s]."""
        return 2 * self.layer
