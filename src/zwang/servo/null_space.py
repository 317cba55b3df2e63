"""The choice among all controls that meet the servo constraints, for redundant actuators.

With a₀ the acceleration of the passive system without control, P = I − A⊕A its projector, A_s v̇ =
b_s the servo rows, and

    G = A_s P M⁻¹ B     effect of u on the servo rows, with reactions of passive constraints
    K = A_s M⁻¹ B       effect of u on them without these reactions
    r = b_s − A_s a₀    required effect

Every control that meets the servo rows satisfies `G u = r`. In the notation of the servo paper, G
is `C B̄` with `B̄` projected onto the accelerations that the passive constraints admit.

| class | u | meaning |
|---|---|---|
| `LeastNorm()` | G⁺ r | the least ‖u‖, eq. (35) with s = 0 and the hinge force eliminated |
| `WeightedNorm(w)` | W⁻¹ᐟ²(G W⁻¹ᐟ²)⁺ r | the least uᵀW u, or Σ wᵢuᵢ²: effort in proportion to 1/w |
| `Preferred(s)` | s + G⁺(r − G s) | nearest to s, eq. (35): preload, a rest torque |
| `PaperLeastNorm()` | (G K⁺K)⁺ r | eq. (35) as printed: the hinge force does not react |

`PaperLeastNorm` follows eq. (35) literally, `u = (C B̄)⁺ b̄`, where the passive force Q^c inside b̄
is treated as given. The true passive force depends on u, and both are computed together. This
choice reproduces the ranges printed in the servo paper and meets servo and passive constraints as
accurately as the others, but ‖u‖ is not the least.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.algebra.pseudoinverse.base import Pseudoinverse
from zwang.algebra.spectrum import principal
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.arrays import is_concrete
from zwang.objects.display import present
from zwang.objects.record import Record, replace

AUTHORITY_THRESHOLD = 1e-9
"""Relative tolerance for linear dependence of servo rows; also the smallest cosine between a row
and the acceleration by an actuator that counts as authority.
"""


class ReducedServoSystem(Record):
    """The servo problem `G u = r` at one state, its rows at unit length.

    Attributes:
        G, K: effect of u on the servo rows, with and without reactions of passive constraints,
            shape (rows, nu).
        r: required effect, shape (rows,).
        method: the method for pseudoinverses.
    """

    G: Float[Array, "rows nu"]
    K: Float[Array, "rows nu"]
    r: Float[Array, " rows"]
    method: AbstractPseudoinverse

    def rank(self) -> Int[Array, ""]:
        """Rank of G."""
        return self.method.factor(self.G).rank()


class AbstractNullSpace(Record):
    """A choice of u among all controls that meet the servo constraints; the least-squares u if none
    does.
    """

    def __repr__(self) -> str:
        return present("text_of_values", self)

    @abc.abstractmethod
    def choose(self, reduced: ReducedServoSystem, state: State, p) -> Float[Array, " nu"]:
        """u, shape (nu,)."""

    def with_functions(self, change: Callable[[Callable], Callable]) -> AbstractNullSpace:
        """The same choice with other functions in place of its own."""
        own = {x.name: getattr(self, x.name) for x in dataclasses.fields(self)}
        return replace(self, **{key: change(f) for key, f in own.items() if callable(f)})

    def weights(self, nu: int, state: State, p) -> Float[Array, " nu"]:
        """The weight of a change of each entry of u if limits make one necessary, shape (nu,)."""
        return jnp.ones(nu)


class LeastNorm(AbstractNullSpace):
    """`u = G⁺ r`: the least ‖u‖ of all controls that meet the servo constraints. The default."""

    def choose(self, reduced, state, p):
        return Pseudoinverse(reduced.method, reduced.G).solve(reduced.r)


class WeightedNorm(AbstractNullSpace):
    """Least `Σ wᵢ uᵢ²`, or `uᵀ W u` in a metric that may depend on the state.

    Attributes:
        weight: w > 0, shape (nu,), or a positive definite W, shape (nu, nu), or `(q, v, t, p)` → w
            or W; an actuator with a large weight contributes little. With w = 1/(largest force)²
            every actuator is used in proportion to its strength; W = BᵀM⁻¹B changes the
            acceleration least. If limits make a change necessary, the diagonal of W is used.

    Reference: Udwadia (2008), Optimal tracking control of nonlinear dynamical systems, Proc. R.
        Soc. A 464, 2341-2363 (control cost Q_cᵀ N(q, t) Q_c).
    """

    weight: ArrayLike | Callable

    def __post_init__(self):
        self.weight = _positive(_given(self.weight))

    def choose(self, reduced, state, p):
        # y = W^½ u has least norm, like an acceleration in the metric of a mass matrix
        metric = factor_mass(self._weight(reduced.G.shape[1], state, p))
        y = Pseudoinverse(reduced.method, metric.weigh(reduced.G)).solve(reduced.r)
        return metric.unweigh(y)

    def weights(self, nu, state, p):
        weight = self._weight(nu, state, p)
        return jnp.diag(weight) if weight.ndim == 2 else weight

    def _weight(self, nu, state, p) -> Array:
        weight = _value(self.weight, state, p, nu, "zw.servo.WeightedNorm(weight)", matrix=True)
        return weight if weight.ndim == 2 else jnp.broadcast_to(weight, nu)


class Preferred(AbstractNullSpace):
    """`u = s + G⁺ (r − G s) = G⁺ r + (I − G⁺G) s`: as near to s as the servo constraints allow,
    equation (35) of the servo paper.

    Attributes:
        s: preferred control [N, N·m …], shape (nu,), or `(q, v, t, p)` → s.
    """

    s: ArrayLike | Callable

    def __post_init__(self):
        self.s = _given(self.s)

    def choose(self, reduced, state, p):
        s = _value(self.s, state, p, reduced.G.shape[1], "zw.servo.Preferred(s)")
        s = jnp.broadcast_to(s, reduced.G.shape[1])
        return s + Pseudoinverse(reduced.method, reduced.G).solve(reduced.r - reduced.G @ s)


class PaperLeastNorm(AbstractNullSpace):
    """`u = K⁺ y` with `G u = r`: equation (35) of the servo paper with s = 0, taken literally, with
    the true hinge force.

    u = K⁺ y means that u is in the range of Kᵀ; u is computed as `(G K⁺K)⁺ r`, which does not
    square a condition number.
    """

    def choose(self, reduced, state, p):
        blind = Pseudoinverse(reduced.method, reduced.K)
        seen = jax.vmap(lambda row: blind.solve(reduced.K @ row))(reduced.G)
        return Pseudoinverse(reduced.method, seen).solve(reduced.r)


def _given(value):
    if callable(value) and not isinstance(value, type):
        return value
    given = real_array(value, "null_space", "numbers, one per actuator, or a function (q, v, t, p)")
    return jnp.asarray(given, jnp.float64)


def _positive(weight):
    if callable(weight) or not is_concrete(weight):
        return weight
    if np.ndim(weight) == 2:
        W = np.asarray(weight)
        if W.shape[0] != W.shape[1] or not (np.allclose(W, W.T) and principal(W)[0][0] > 0):
            raise ModelError(
                f"zw.servo.WeightedNorm(weight) is a matrix of shape {W.shape}, expected a "
                "symmetric positive definite one of shape (nu, nu)."
            )
    elif not np.all(np.asarray(weight) > 0):
        raise ModelError(
            f"zw.servo.WeightedNorm(weight) is {np.asarray(weight)}, expected numbers above 0."
        )
    return weight


def _value(given, state: State, p, nu: int, what: str, matrix: bool = False) -> Array:
    """A number for each of nu actuators, or one number for all; a matrix if `matrix` permits it."""
    value = given(state.q, state.v, state.t, p) if callable(given) else given
    value = jnp.asarray(value, jnp.float64)
    if value.shape not in ((), (nu,), *([(nu, nu)] if matrix else [])):
        raise ModelError(
            f"{what} has shape {value.shape}, expected ({nu},), a number for each actuator."
        )
    return value
