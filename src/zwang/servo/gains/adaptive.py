"""A gain with a bounded error for a model error of unknown size."""

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
    """`Robust` with a bound α that the controller estimates, with leakage:

        ż = −k z − α z/max(‖z‖, ε),    α̇ = growth ‖z‖ − leakage α,    z = (d/dt + k)^(r−1) y

    for the model of the controller; the plant's ż contains the additional term d = d₀ + E w, as in
    `Robust`. α is a state of the controller: `zw.servo.with_found_degrees(model, servo, q, v)`
    gives the model and the initial state that include it.

    Assumption: ‖d₀‖ ≤ ρ, where ρ is unknown to the controller, and ‖E‖ ≤ mismatch < 1; α ≥ 0 at the
    start. Forces that no actuator can oppose count only by their effect on the rows.

    Let α* = ρ/(1 − mismatch) and V = ½‖z‖² + (1 − mismatch)(α − α*)²/(2 growth). The terms with
    α‖z‖ in V̇ cancel outside the layer and add up to at most (1 − mismatch) α ε/4 inside it, and

        V̇ ≤ −c V + C,   c = min(2 k, leakage/2),
        C = (1 − mismatch)(leakage α*²/(2 growth) + ε α*/4 + ε² growth/(16 leakage))

    so that ‖z‖² ≤ 2 max(V(0), C/c) at all times (`error_bound`), and ultimately ‖z‖² ≤ 2 C/c
    (`ultimate_bound`). A larger growth, a smaller leakage and a smaller layer reduce this bound;
    without leakage, noise would make α grow without bound.

    Attributes:
        k: rate [1/s].
        growth: of α [1/s], per size of z.
        leakage: of α [1/s].
        layer: ε [unit of y per s^(r−1)].
        mismatch: bound of ‖E‖ [1]; only the stated bounds depend on it.
        estimate: α [unit of y per s^r], at the start or at the state of `at`.

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
                f"Adaptive: mismatch is {float(self.mismatch)}, expected less than 1; at 1 or "
                "more the control may act in the wrong direction."
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
        """Ultimate bound of ‖y‖ [unit of y]."""
        return jnp.sqrt(2 * self._terms(rho)[0]) / self.k ** (order - 1)

    def _terms(self, rho):
        """C/c and α*."""
        most = jnp.asarray(rho) / (1 - self.mismatch)
        kept = self.leakage * most**2 / (2 * self.growth) + self.layer * most / 4
        kept += self.layer**2 * self.growth / (16 * self.leakage)
        return (1 - self.mismatch) * kept / jnp.minimum(2 * self.k, self.leakage / 2), most
