"""The interface of every gain: the coefficients of the error dynamics of one servo constraint."""

from __future__ import annotations

import abc

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from zwang.algebra.spectrum import eigenvalues
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.arrays import is_concrete
from zwang.objects.display import present
from zwang.objects.record import Record


class AbstractGain(Record):
    """The coefficients of one servo constraint's error dynamics.

    Attributes:
        keeps_layer: True if the attributes k [1/s] and layer, ε [unit of y per s], of a gain for
            error dynamics of order 2 guarantee that `‖ẏ + k y‖ ≤ ε` remains true once it is
            reached, so that `‖y‖ ≤ ε/k`.
    """

    keeps_layer = False

    def __repr__(self) -> str:
        return present("text_of_values", self)

    @abc.abstractmethod
    def coefficients(self, order: int) -> list[Array]:
        """`c_0 … c_{order−1}` [1/s^order … 1/s], each a number, one per row, or a matrix on the
        rows.

        Raises:
            ModelError: if the gain does not fit this order.
        """

    @classmethod
    def example(cls, order: int) -> AbstractGain | None:
        """A gain of this class for error dynamics of this order, under which an error decays, or
        None if the class does not fit the order. The compliance tests check it.
        """
        return cls()

    def pull(self, chain: list[Float[Array, " rows"]]) -> Float[Array, " rows"]:
        """`−(c_0 y + c_1 ẏ + …)` for the chain y, ẏ … y^(r−1), each of shape (rows,)."""
        terms = [
            c @ y if jnp.ndim(c) == 2 else c * y
            for c, y in zip(self.coefficients(len(chain)), chain, strict=True)
        ]
        return -sum(terms, jnp.zeros_like(chain[0]))

    def at(self, s: State) -> AbstractGain:
        """The gain at a state; it depends on the state if the controller adapts it."""
        return self

    def error_poles(self, order: int) -> Complex[np.ndarray, " poles"]:
        """Poles s of the error dynamics [1/s]: the roots of `det(s^r + c_{r−1} s^{r−1} + … + c_0)`.

        The error is a linear combination of `exp(s t)`. A gain whose `pull` is not this linear law
        returns an empty array, and its decay is not checked.

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
        return eigenvalues(companion)


def numbers(value, name: str) -> Array:
    """Check that a value consists of finite real numbers [1/s] and return it as an array. Traced
    values are not checked.
    """
    array = real_array(value, name, "numbers [1/s]")
    if is_concrete(array) and not np.all(np.isfinite(np.asarray(array))):
        raise ModelError(f"{name} is {value!r:.60}, expected finite numbers [1/s].")
    return jnp.asarray(array, jnp.float64)


def require_order(gain: AbstractGain, own: int, order: int) -> None:
    """Refuse a gain of order `own` for error dynamics of another order.

    Raises:
        ModelError: if the two orders differ.
    """
    if own != order:
        raise ModelError(
            f"gain {type(gain).__name__} is of order {own}, but the error dynamics of its "
            f"constraint are of order {order} (2 at position level, 1 at velocity level, the "
            "relative degree if it is higher); use Rate(k) or Poles(...)."
        )
