"""A Lyapunov function that is to fall as a row of A: `V̇ = −w`.

Source: Udwadia and Koganti (2014), A new approach to stable optimal control of complex nonlinear
    dynamical systems, J. Applied Mechanics 81, 031001, doi 10.1115/1.4024874.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from zwang.equations.constraint import AbstractConstraint
from zwang.equations.constraint.level import ACCELERATION, AbstractLevel
from zwang.inputs.arguments import function, label, number
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned


class Lyapunov(AbstractConstraint):
    """V falls at a given rate, as a servo constraint of one row:

        ∂V/∂v · v̇ = −w − ∂V/∂q · q̇ − ∂V/∂t,    so that V̇ = −w

    A V that is positive definite in an error and its rate then brings both to zero, whatever the
    free system does; V(t) is V(0) exp(−α t) where w = α V. No actuator can change V where
    ∂V/∂v = 0: w has to be what V loses there by itself, or the control grows without bound.
    V = ½ a e² + b e ė + ½ c ė² with a c > b² loses α V there with α = 2 b/c, and gives
    ë + α ė + (a/c) e = 0. It swings, so that ∂V/∂v passes zero; of several errors in one V it
    passes by a hair, where the control turns in no time: give each a V of its own.

    Args:
        V: `(q, v, t, p)` → a number that is not negative.
        decay: `(q, v, t, p)` → w, or α [1/s] of w = α V.
        name: name in results.

    Example:
        >>> V = lambda q, v, t, p: 0.5 * (4 * q @ q + 2 * q @ v + v @ v)
        >>> servo = zw.Servo([zw.servo.Lyapunov(V, 2.0)], np.eye(2))
    """

    V: Callable
    decay: Callable | Float[Array, ""]
    name: str
    nonideal: None

    @misfits_named
    def __init__(self, V: Callable, decay: Callable | ArrayLike, *, name: str = "lyapunov"):
        self.name = label(name, "Lyapunov: name")
        self.V = function(V, f"constraint {name!r}: V", "(q, v, t, p) → a number")
        self.nonideal = None
        if callable(decay):
            self.decay = function(decay, f"constraint {name!r}: decay", "(q, v, t, p) → w")
        else:
            rate = number(decay, f"constraint {name!r}: decay", above=0.0, unit="1/s")
            self.decay = jnp.asarray(rate, jnp.float64)

    @property
    def level(self) -> AbstractLevel:
        return ACCELERATION

    def value(self, q, v, t, p) -> Float[Array, ""]:
        """V."""
        found = returned(self.V(q, v, t, p), f"constraint {self.name!r}: V(q, v, t, p)")
        return jnp.reshape(found, ())

    def loss(self, q, v, t, p) -> Float[Array, ""]:
        """w."""
        if not callable(self.decay):
            return self.decay * self.value(q, v, t, p)
        w = returned(self.decay(q, v, t, p), f"constraint {self.name!r}: decay(q, v, t, p)")
        return jnp.reshape(w, ())

    def acceleration_rows(self, system, q, v, t, p):
        slope = jax.grad(self.value, argnums=1)(q, v, t, p)
        drifting = jax.jvp(
            lambda q, t: self.value(q, v, t, p),
            (q, t),
            (system.rate(q, v, t, p), jnp.ones_like(t)),
        )[1]
        return slope[None], (-self.loss(q, v, t, p) - drifting)[None]
