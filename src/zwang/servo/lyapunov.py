"""A row of A that prescribes the decay of a Lyapunov function: `V̇ = −w`.

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
    """A servo constraint of one row under which V decreases at a given rate:

        ∂V/∂v · v̇ = −w − ∂V/∂q · q̇ − ∂V/∂t,    so that V̇ = −w

    If V is positive definite in an error and its rate, both converge to zero, whatever the motion
    without control; V(t) = V(0) exp(−α t) if w = α V. At states where ∂V/∂v = 0 no actuator can
    change V, so w must equal the decrease of V without control there; otherwise the control grows
    without bound. For V = ½ a e² + b e ė + ½ c ė² with a c > b² this decrease is α V with α = 2
    b/c, and the error obeys ë + α ė + (a/c) e = 0. This error oscillates, so ∂V/∂v passes through
    zero. If one V contains several errors, ∂V/∂v passes close to zero without reaching it, and the
    control changes very fast there: give each error its own V.

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
        """w, the prescribed rate of decrease."""
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
