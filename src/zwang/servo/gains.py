"""Gains: how fast a servo constraint that is violated returns.

A residual y whose derivative of order r is the first that the actuators reach (r = 2 for φ, r = 1
for ψ, more for flexible joints) is made to obey

    y^(r) + c_{r−1} y^(r−1) + … + c_1 ẏ + c_0 y = 0

| class | characteristic polynomial | order r |
|---|---|---|
| `Rate(k)`, or the number k | (s + k)^r | any |
| `FirstOrder(rate)` | s + rate, also a matrix of rates | 1 |
| `SecondOrder(omega, zeta)` | s² + 2ζω s + ω² | 2 |
| `Poles(p_1 … p_r)` | (s + p_1) … (s + p_r) | number of poles |
| `Robust(k, bound, layer)` | (s + k)^r, and more where the model is wrong: y stays below a stated bound | any |

A gain makes the error decay if all roots of its characteristic polynomial (`error_poles`) have a
negative real part; `require_decay` refuses any other.
"""  # noqa: E501

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from zwang.arguments import instance, number, real_array
from zwang.arrays import is_concrete
from zwang.errors import ModelError

MARGINAL = 1e-12
"""A pole whose real part is smaller than this part of the largest pole counts as undamped: the
roots of a polynomial are known to round-off only.
"""


class AbstractGain(eqx.Module):
    """The coefficients of one servo constraint's error dynamics."""

    @abc.abstractmethod
    def coefficients(self, order: int) -> list[Array]:
        """`c_0 … c_{order−1}` [1/s^order … 1/s], each a number, one per row, or a matrix on the
        rows.

        Raises:
            ModelError: if the gain does not fit this order.
        """

    def pull(self, chain: list[Float[Array, " rows"]]) -> Float[Array, " rows"]:
        """`−(c_0 y + c_1 ẏ + …)` for the chain y, ẏ … y^(r−1), each of shape (rows,)."""
        terms = [
            c @ y if jnp.ndim(c) == 2 else c * y
            for c, y in zip(self.coefficients(len(chain)), chain, strict=True)
        ]
        return -sum(terms, jnp.zeros_like(chain[0]))

    def error_poles(self, order: int) -> Complex[np.ndarray, " poles"]:
        """Poles s of the error dynamics [1/s]: the roots of `det(s^r + c_{r−1} s^{r−1} + … + c_0)`.

        The error is a sum of `exp(s t)`. A gain whose `pull` is not this linear law returns an
        empty array, and nothing is concluded from it.

        Args:
            order: r, order of the error dynamics.

        Raises:
            ModelError: if the gain does not fit this order.
        """
        given = [np.asarray(c, float) for c in self.coefficients(order)]
        rows = max((c.shape[0] for c in given if c.ndim), default=1)
        blocks = [c if c.ndim == 2 else np.diag(np.broadcast_to(c, rows)) for c in given]
        if not blocks or not np.all(np.isfinite(blocks)):
            return np.full(rows * len(blocks), np.nan, complex)
        companion = np.eye(order * rows, k=rows)
        companion[-rows:] = -np.hstack(blocks)
        return np.linalg.eigvals(companion).astype(complex)


class Rate(AbstractGain):
    """All poles at −k: `(s + k)^r`, critically damped at any order.

    Attributes:
        k: rate [1/s], a number or one per row.
    """

    k: Float[Array, "..."]

    def __init__(self, k):
        self.k = _numbers(k, "Rate: k")

    def coefficients(self, order):
        return [math.comb(order, i) * self.k ** (order - i) for i in range(order)]

    def error_poles(self, order):
        # A companion matrix would know a pole of multiplicity r to the r-th root of round-off only.
        return np.repeat(-np.atleast_1d(np.asarray(self.k, complex)), order)


class FirstOrder(AbstractGain):
    """`ψ̇ + rate ψ = 0`, for a residual at velocity level.

    Attributes:
        rate: [1/s], a number, one per row (rows,), or a matrix (rows, rows), the P⁻¹ of the review
            paper, eq. (72).
    """

    rate: Float[Array, "..."]

    def __init__(self, rate):
        self.rate = _numbers(rate, "FirstOrder: rate")

    def coefficients(self, order):
        _fits(self, 1, order)
        return [self.rate]


class SecondOrder(AbstractGain):
    """`φ̈ + 2ζω φ̇ + ω² φ = 0`, for a residual at position level.

    Attributes:
        omega: ω, natural frequency [rad/s], a number or one per row.
        zeta: ζ, damping ratio, a number or one per row.
    """

    omega: Float[Array, "..."]
    zeta: Float[Array, "..."]

    def __init__(self, omega, zeta=1.0):
        self.omega = _numbers(omega, "SecondOrder: omega")
        self.zeta = _numbers(zeta, "SecondOrder: zeta")

    def coefficients(self, order):
        _fits(self, 2, order)
        return [self.omega**2, 2 * self.zeta * self.omega]


class Poles(AbstractGain):
    """`(s + p_1) … (s + p_r)`: the error is a sum of `exp(−p_i t)`.

    Attributes:
        rates: p_1 … p_r [1/s], shape (r,), real.
    """

    rates: Float[Array, " r"]

    def __init__(self, *rates):
        self.rates = _numbers(rates, "Poles: rates")

    def coefficients(self, order):
        _fits(self, len(self.rates), order)
        polynomial = jnp.ones(1)
        for i in range(order):  # times (s + p), highest power first
            polynomial = jnp.append(polynomial, 0.0) + self.rates[i] * jnp.append(
                jnp.zeros(1), polynomial
            )
        return list(polynomial[:0:-1])

    def error_poles(self, order):
        _fits(self, len(self.rates), order)
        return -np.asarray(self.rates, complex)


class Robust(AbstractGain):
    """`Rate(k)` with a term that holds the error below a stated bound although the model is wrong.

    For the residual y of order r, z = (d/dt + k)^(r−1) y is made to obey

        ż = −k z − ρ z/max(‖z‖, ε),    ρ = bound/(1 − mismatch)

    for the system that the controller believes. The plant then obeys `ż = −k z − ρ z/max(‖z‖, ε) +
    d`.

    Assumption: d = d₀ + E w, where ‖d₀‖ ≤ bound is what parameters, friction and loads that the
        controller does not know leave in
    y^(r) under the control without the robust term, and ‖E‖ ≤ mismatch < 1 is how wrongly the
    controller judges what its actuators do to these rows, w being the robust term. The control is
    continuous in time and the rows are within reach of the actuators.

    Then, with V = ½‖z‖², V̇ ≤ −k‖z‖² outside the layer ‖z‖ ≤ ε, which is reached from any start and
    not left; inside it V̇ ≤ −(k + bound/ε)‖z‖² + bound ‖z‖, so that ultimately

        ‖z‖ ≤ bound·ε/(k ε + bound) < ε,    ‖y‖ ≤ ‖z‖/k^(r−1)

    (`ultimate_bound`), where `Rate(k)` alone leaves up to ‖y‖ ≤ bound/k^r. The smaller ε, the
    smaller the error and the stiffer the loop: its fastest pole is −(k + ρ/ε), which a sampled
    controller must resolve.

    Attributes:
        k: rate [1/s].
        bound: of d₀ [unit of y per s^r].
        layer: ε, width of the boundary layer in z [unit of y per s^(r−1)].
        mismatch: bound of ‖E‖ [1].

    Reference: the problem of Udwadia and Wanichanon (2014), J. Appl. Mech. 81, 041020 (nominal
        control and compensation of bounded uncertainty, with a boundary layer); the bound as in
        Khalil (2002), Nonlinear Systems, 3rd ed., section 14.2.
    """

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

    def coefficients(self, order):
        return Rate(self.k).coefficients(order)

    def error_poles(self, order):
        # The robust term only adds to the decay: outside its layer V̇ ≤ −k‖z‖², inside it more.
        return Rate(self.k).error_poles(order)

    def pull(self, chain):
        z = self.filtered(chain)
        strength = self.bound / (1 - self.mismatch)
        return Rate(self.k).pull(chain) - strength * z / jnp.maximum(_length(z), self.layer)

    def filtered(self, chain: list[Float[Array, " rows"]]) -> Float[Array, " rows"]:
        """`z = (d/dt + k)^(r−1) y`."""
        order = len(chain) - 1
        return sum(
            (math.comb(order, i) * self.k ** (order - i) * y for i, y in enumerate(chain)),
            jnp.zeros_like(chain[0]),
        )

    def ultimate_bound(self, order: int) -> Float[Array, ""]:
        """The size below which ‖y‖ stays in the end, for a residual of this order [unit of y]."""
        return self.bound * self.layer / (self.k * self.layer + self.bound) / self.k ** (order - 1)


def _length(z: Float[Array, " rows"]) -> Float[Array, ""]:
    """‖z‖, with a derivative that is 0 at zero."""
    square = z @ z
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def as_gain(value, name: str = "the constraint") -> AbstractGain:
    """A gain as it is, a number as `Rate`; `name` is the constraint's."""
    what = f"Servo: gain of {name!r}"
    if isinstance(value, type):
        instance(value, AbstractGain, what, "a number [1/s], zw.Poles(...) or another gain")
    return value if isinstance(value, AbstractGain) else Rate(_numbers(value, what))


def _numbers(value, name: str) -> Array:
    """Finite real numbers [1/s] as an array; traced ones as they are."""
    array = real_array(value, name, "numbers [1/s]")
    if is_concrete(array) and not bool(jnp.all(jnp.isfinite(jnp.asarray(array)))):
        raise ModelError(f"{name} is {value!r:.60}, expected finite numbers [1/s].")
    return jnp.asarray(array, jnp.float64)


def require_decay(name: str, gain: AbstractGain, order: int) -> None:
    """Refuse a gain under which the error of a servo constraint does not decay.

    Args:
        name: of the servo constraint.
        gain: its gain; nothing is concluded from one whose numbers are being traced.
        order: of its error dynamics.

    Raises:
        ModelError: if the gain does not fit the order, is not finite, or has a pole whose real part
            is not negative.
    """
    gain.coefficients(order)
    if not is_concrete(gain):
        return
    poles = gain.error_poles(order)
    real, size = np.real(poles), float(np.max(np.abs(poles), initial=0.0))
    of = f"Servo: the gain of {name!r}, {type(gain).__name__},"
    if not np.all(np.isfinite(poles)):
        raise ModelError(f"{of} holds NaN or inf, expected finite numbers.")
    if not len(poles) or np.max(real) < -MARGINAL * size:
        return
    if size == 0:
        raise ModelError(
            f"{of} has all poles at 0: an error would stay, or grow if it has a rate. Give a "
            "positive gain, or leave the gain out for a start without error."
        )
    grows = np.max(real) > MARGINAL * size
    listed = ", ".join(_shown(s) for s in poles[np.argsort(-real)][:6])
    behavior = "grow without bound" if grows else "oscillate or stay and never decay"
    raise ModelError(
        f"{of} makes an error {behavior}: the poles of the error dynamics are {listed} 1/s, "
        "expected negative real parts; zw.Rate(k) and zw.Poles(p1, ...) take the decay rates "
        "as positive numbers."
    )


def _shown(pole: complex) -> str:
    """A pole in few digits, a real one without an imaginary part."""
    if abs(pole.imag) <= MARGINAL * abs(pole):
        return f"{pole.real:.4g}"
    return f"{pole.real:.4g}{pole.imag:+.4g}i"


def _fits(gain: AbstractGain, own: int, order: int) -> None:
    if own != order:
        raise ModelError(
            f"gain {type(gain).__name__} is of order {own}, but the error dynamics of its "
            f"constraint are of order {order} (2 at position level, 1 at velocity level, the "
            "relative degree if it is higher); use Rate(k) or Poles(...)."
        )
