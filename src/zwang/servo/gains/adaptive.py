"""A bounded error although the model is wrong by nobody knows how much."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.equations.constraint.nonideal import length
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import number
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import field, replace
from zwang.servo.gains.base import AbstractGain
from zwang.servo.gains.rate import Rate
from zwang.servo.gains.robust import Robust


class Adaptive(AbstractGain):
    """`Robust` with a bound α that the controller learns, and forgets by leakage:

        ż = −k z − α z/max(‖z‖, ε),    α̇ = growth ‖z‖ − leakage α,    z = (d/dt + k)^(r−1) y

    for the system that the controller believes; the plant's ż has d = d₀ + E w beside it, as of
    `Robust`. α is a state of the controller: `zw.servo.with_found_degrees(model, servo, q, v)`
    gives the model and the start with it.

    Assumption: ‖d₀‖ ≤ ρ, which the controller does not know, and ‖E‖ ≤ mismatch < 1; α ≥ 0 at the
    start. Of forces that no actuator can oppose only what they do to the rows counts.

    Then, with α* = ρ/(1 − mismatch) and V = ½‖z‖² + (1 − mismatch)(α − α*)²/(2 growth), the terms
    with α‖z‖ cancel outside the layer, inside they leave at most (1 − mismatch) α ε/4, and

        V̇ ≤ −c V + C,   c = min(2 k, leakage/2),
        C = (1 − mismatch)(leakage α*²/(2 growth) + ε α*/4 + ε² growth/(16 leakage))

    so that ‖z‖² ≤ 2 max(V(0), C/c) at all times (`error_bound`), and ≤ 2 C/c in the end
    (`ultimate_bound`). A larger growth makes it smaller, as does a smaller leakage and layer;
    without leakage noise would let α grow for ever.

    Attributes:
        k: rate [1/s].
        growth: of α [1/s], per size of z.
        leakage: of α [1/s].
        layer: ε [unit of y per s^(r−1)].
        mismatch: bound of ‖E‖ [1], which only the stated bounds depend on.
        estimate: α [unit of y per s^r], at the start and where the gain is looked at.

    Reference: Chen and Zhang (2010), Adaptive robust approximate constraint-following control for
        mechanical systems, J. Franklin Institute 347, 69-86 (constraint-following error, leakage);
        the bounds are derived above.
    """

    k: Float[Array, ""]
    growth: Float[Array, ""]
    leakage: Float[Array, ""]
    layer: Float[Array, ""]
    mismatch: Float[Array, ""]
    estimate: Float[Array, ""]
    place: int | None = field(static=True)

    def __init__(self, k, *, growth, leakage, layer, mismatch=0.0, estimate=0.0):
        self.k, self.growth, self.leakage, self.layer, self.mismatch, self.estimate = (
            jnp.asarray(number(x, f"Adaptive: {name}", above=above, least=least), jnp.float64)
            for name, x, above, least in (
                ("k", k, 0.0, None),
                ("growth", growth, 0.0, None),
                ("leakage", leakage, 0.0, None),
                ("layer", layer, 0.0, None),
                ("mismatch", mismatch, None, 0.0),
                ("estimate", estimate, None, 0.0),
            )
        )
        if is_concrete(self.mismatch) and float(self.mismatch) >= 1:
            raise ModelError(
                f"Adaptive: mismatch is {float(self.mismatch)}, expected less than 1, from which "
                "on the controller may push the wrong way."
            )
        self.place = None

    @classmethod
    def example(cls, order):
        return cls(2.0, growth=1.0, leakage=1.0, layer=0.1, estimate=1.0)

    def coefficients(self, order):
        return Rate(self.k).coefficients(order)

    def error_poles(self, order):
        return Rate(self.k).error_poles(order)

    @property
    def _robust(self) -> Robust:
        return Robust(self.k, bound=self.estimate, layer=self.layer)

    def pull(self, chain):
        return self._robust.pull(chain)

    def at(self, s: State) -> Adaptive:
        if self.place is None:
            raise ModelError(
                "gain Adaptive has a state, which the model lacks: give zw.simulate the model and "
                "the start of zw.servo.with_found_degrees(model, servo, q, v)."
            )
        return replace(self, estimate=s.v[self.place])

    def adaptation(self, chain: list[Float[Array, " rows"]]) -> Float[Array, ""]:
        """α̇ [unit of y per s^(r+1)]."""
        return self.growth * length(self._robust.filtered(chain)) - self.leakage * self.estimate

    def error_bound(self, rho, order: int = 2, start=0.0) -> Float[Array, ""]:
        """Bound of ‖y‖ at all times [unit of y], where y and its rates are zero at the start.

        Args:
            rho: ρ [unit of y per s^r].
            order: r.
            start: ‖z‖ at the start.
        """
        left, most = self._terms(rho)
        begin = 0.5 * jnp.asarray(start) ** 2
        begin += (1 - self.mismatch) * (self.estimate - most) ** 2 / (2 * self.growth)
        return jnp.sqrt(2 * jnp.maximum(begin, left)) / self.k ** (order - 1)

    def ultimate_bound(self, rho, order: int = 2) -> Float[Array, ""]:
        """The size below which ‖y‖ stays in the end [unit of y]."""
        return jnp.sqrt(2 * self._terms(rho)[0]) / self.k ** (order - 1)

    def _terms(self, rho):
        """C/c and α*."""
        most = jnp.asarray(rho) / (1 - self.mismatch)
        kept = self.leakage * most**2 / (2 * self.growth) + self.layer * most / 4
        kept += self.layer**2 * self.growth / (16 * self.leakage)
        return (1 - self.mismatch) * kept / jnp.minimum(2 * self.k, self.leakage / 2), most
