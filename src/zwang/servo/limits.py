"""Limits on the control and on its rate, enforced by a small quadratic program.

Let u* be the control that the null-space choice gives without limits, and let G u = r be the servo
problem with rows of unit length. The control is the solution of

    minimize ‖G u − r‖, then ‖W^½ (u − u*)‖,  subject to  lower ≤ u ≤ upper

The servo constraints come first, and the choice among controls that meet them equally well comes
second (W: the weights of `WeightedNorm`, or 1). Passive constraints are not part of the compromise,
because they react to every u. If u* is within its limits, the result is bitwise identical to u*.

The active-set method for ½‖G δ‖² + ½ε‖W^½ δ‖², δ = u − u*, which starts at the projection of u*,
determines the entries at a limit. The other entries then follow from one pseudoinverse of their
columns, so the result does not depend on ε and has exact derivatives: entries at a limit change
with that limit, the others as without limits.

Reference: Stark and Parker (1995), Computational Statistics 10, 129-141; Nocedal and Wright (2006),
    Numerical Optimization, algorithm 16.3.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float

from zwang.algebra.lapack import LU
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Pseudoinverse
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.arrays import is_concrete
from zwang.objects.display import present
from zwang.objects.record import Record

STRONGER = 1e-9
"""ε relative to ‖G‖²: the weight of the null-space choice compared with the servo constraints while
the active set is determined.
"""
AT_LIMIT = 1e-12
"""Relative distance from a limit [1] up to which a control counts as being at it."""
MOST_SET_CHANGES = 10
"""Largest number of changes of the active set per actuator; one is usually enough. After that the
current control is used: it is within its limits, and its residual is reported as usual.
"""
MULTIPLIER_ROUND_OFF = 1e-14
"""An entry leaves its limit only if its gradient, relative to ‖G‖² and to the largest entry,
exceeds this value.
"""
BEYOND = 1e-9
"""A violation of a limit by less than this, relative to the size of the problem, is round-off; the
control is clipped.
"""


class Limits(Record):
    """Limits of the actuators, as arrays, so that other limits need no new compilation.

    Args:
        lower, upper: limits of u [N, N·m …], a number or one per actuator; none by default.
        rate: limit of `|u̇|` [N/s, N·m/s …], a number or one per actuator, infinite for none. It
            needs a controller that stores its last control: `zw.simulate(...,
            loop=zw.Loop(sample_time=...))`; the first control of a run is not limited in rate.

    Example:
        >>> servo = zw.Servo([path], B, gains=4.0, limits=zw.servo.Limits(lower=-20.0, upper=20.0))
    """

    lower: Float[Array, "..."]
    upper: Float[Array, "..."]
    rate: Float[Array, "..."] | None

    def __init__(
        self, lower: ArrayLike = -jnp.inf, upper: ArrayLike = jnp.inf, rate: ArrayLike | None = None
    ):
        self.lower, self.upper = _numbers("lower", lower), _numbers("upper", upper)
        self.rate = None if rate is None else _numbers("rate", rate)

    def __repr__(self) -> str:
        return present("text_of_values", self)

    def check(self, nu: int) -> None:
        """Raise if the limits do not fit `nu` actuators, or if a lower limit exceeds its upper
        limit.
        """
        for name, value in (("lower", self.lower), ("upper", self.upper), ("rate", self.rate)):
            if value is not None and value.shape not in ((), (nu,)):
                raise ModelError(
                    f"Limits: {name} has shape {value.shape}, expected a number or ({nu},), one "
                    "per actuator."
                )
            if (
                value is not None
                and is_concrete(value)
                and bool(np.any(np.isnan(np.asarray(value))))
            ):
                raise ModelError(f"Limits: {name} holds NaN; give inf for no limit.")
        # traced limits cannot be checked; if the lower one exceeds the upper one, u is clipped to a
        # limit
        known = is_concrete((self.lower, self.upper, self.rate))
        if known and bool(np.any(np.asarray(self.lower) > np.asarray(self.upper))):
            raise ModelError(
                f"Limits: lower {self.lower} exceeds upper {self.upper}; nothing is left "
                "between them."
            )
        if known and self.rate is not None and not bool(np.all(np.asarray(self.rate) > 0)):
            raise ModelError(f"Limits: rate is {self.rate}, expected positive numbers.")

    def reached(self, u: np.ndarray) -> np.ndarray:
        """Mask of the controls at their lower or upper limit, up to round-off, shape (..., nu)."""
        at = np.zeros(np.shape(u), bool)
        for limit in (np.asarray(self.lower), np.asarray(self.upper)):
            finite = np.isfinite(limit)
            close = np.abs(u - np.where(finite, limit, 0.0)) <= AT_LIMIT * np.abs(limit)
            at |= finite & close
        return at

    def box(
        self, nu: int, before: Float[Array, " nu"] | None, elapsed
    ) -> tuple[Float[Array, " nu"], Float[Array, " nu"]]:
        """Least and largest u, shape (nu,), `elapsed` seconds after the control `before` (None if
        unknown).
        """
        lower, upper = jnp.broadcast_to(self.lower, nu), jnp.broadcast_to(self.upper, nu)
        if before is None or self.rate is None:
            return lower, upper
        # NaN means that there is no previous control, so the rate is not limited
        reach = jnp.where(jnp.all(jnp.isfinite(before)), self.rate * elapsed, jnp.inf)
        before = jnp.where(jnp.isfinite(before), before, 0.0)
        return jnp.maximum(lower, before - reach), jnp.minimum(upper, before + reach)


def _numbers(name: str, value) -> Array:
    array = real_array(value, f"Limits: {name}", "a number or one per actuator")
    return jnp.asarray(array, jnp.float64)


def limited(
    G: Float[Array, "rows nu"],
    r: Float[Array, " rows"],
    wanted: Float[Array, " nu"],
    weights: Float[Array, " nu"],
    lower: Float[Array, " nu"],
    upper: Float[Array, " nu"],
    method: AbstractPseudoinverse,
) -> Float[Array, " nu"]:
    """The control within its limits.

    Args:
        G, r: the servo problem, rows at unit length.
        wanted: u*, the control without limits.
        weights: W, the weight of a change of each entry.
        lower, upper: limits.
        method: for the pseudoinverse of the columns that are not at a limit.
    """
    easy = 1 / jnp.sqrt(weights)
    scaled = G * easy  # in x = (u − u*)/easy, so that all entries have the same weight
    low, high = (lower - wanted) / easy, (upper - wanted) / easy
    # the active set is constant almost everywhere, so the derivative is that of the equations on
    # it, which follow
    gram = scaled.T @ scaled
    # strictly convex, so that the minimum is unique even with fewer servo rows than actuators
    H = gram + STRONGER * jnp.maximum(jnp.trace(gram), 1e-300) * jnp.eye(len(wanted))
    found = active_set(*jax.lax.stop_gradient((H, jnp.zeros(len(wanted)), low, high)))
    bound = found.bound
    x = jnp.where(bound, jnp.where(found.x <= jax.lax.stop_gradient(low), low, high), 0.0)
    free = jnp.where(bound, 0.0, 1.0) * scaled
    any_bound = jnp.any(bound)
    # the part of r that the free actuators must provide
    rest = jnp.where(any_bound, r - G @ wanted - scaled @ x, 0.0)
    x = jnp.where(bound, x, Pseudoinverse(method, free).solve_any(rest))
    size = jnp.max(jnp.abs(jax.lax.stop_gradient(x)), initial=0.0)
    fits = jnp.all((x >= low - BEYOND * size) & (x <= high + BEYOND * size))
    # the pseudoinverse treats a small σ as 0, the program with ε does not
    x = jnp.where(fits, x, x + jax.lax.stop_gradient(found.x - x))
    return jnp.where(any_bound, jnp.clip(wanted + easy * x, lower, upper), wanted)


class _Found(Record):
    """x, a mask of its entries at a limit, and whether it is the minimum."""

    x: Float[Array, " nu"]
    bound: Bool[Array, " nu"]
    steps: Array
    done: Bool[Array, ""]


def active_set(H, g, low, high) -> _Found:
    """`min ½ xᵀH x − gᵀx` over low ≤ x ≤ high, by the primal active-set method; H is positive
    definite.
    """
    n, size = len(g), jnp.trace(H)

    def step(f: _Found) -> _Found:
        free = jnp.where(f.bound, 0.0, 1.0)
        fixed = (1 - free) * f.x
        held = LU(free[:, None] * H * free + jnp.diag(1 - free))
        y = held.solve(fixed + free * (g - H @ fixed))
        # the first limit between x and y, if there is one
        wall = jnp.where(y > f.x, high, low)
        beyond = ~f.bound & ((y > high) | (y < low))
        share = jnp.where(beyond, (wall - f.x) / jnp.where(beyond, y - f.x, 1.0), jnp.inf)
        first = jnp.argmin(share)
        # limits are added one at a time, so that the objective decreases with every step and no set
        # recurs
        stopped = share[first] < jnp.inf
        onward = jnp.where(beyond & (share <= share[first]), wall, f.x + share[first] * (y - f.x))

        # at the minimum over these entries: find an entry that should leave its limit
        pull = H @ y - g
        wish = jnp.where(f.bound, jnp.where(f.x <= low, -pull, pull), -jnp.inf)
        # an entry with equal limits cannot leave and would be chosen again and again
        wish = jnp.where(f.bound & (low == high), -jnp.inf, wish)
        leaver = jnp.argmax(wish)
        done = ~stopped & (
            wish[leaver] <= MULTIPLIER_ROUND_OFF * size * jnp.max(jnp.abs(y), initial=0.0)
        )
        bound = jnp.where(
            stopped,
            f.bound | (beyond & (share <= share[first])),
            f.bound & (done | (jnp.arange(n) != leaver)),
        )
        return _Found(jnp.where(stopped, onward, y), bound, f.steps + 1, done)

    x = jnp.clip(jnp.zeros(n), low, high)
    start = _Found(x, x != 0, jnp.asarray(0), jnp.all(x == 0) & jnp.all(g == 0))
    return jax.lax.while_loop(lambda f: ~f.done & (f.steps < MOST_SET_CHANGES * n), step, start)
