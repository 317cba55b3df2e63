"""Sensitivities: results defined by equations, as differentiable functions of parameters.

For r(x, p) = 0 with a known solution x* at p*,

    x(p) = x* − J⁺ r(x*, p),    dx = −J⁺ r_p dp,    J = ∂r/∂x at x*, p*, held

has the exact value and first derivatives at p* if p changes r within the range of J; rows may be
redundant. Components in the null space of J, such as the position along a symmetry, change as
little as possible. Each analysis states its equations, and all derivatives of results by parameters
follow in this way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from zwang.algebra.decomposition import Decomposition
from zwang.compile.compatibility import outside_of_programs
from zwang.inputs.arrays import AnyArray
from zwang.thresholds import DERIVED, ROOT_OF_ROUND_OFF

LEFT_FREE = ROOT_OF_ROUND_OFF**0.5
"""Threshold for zero, the fourth root of round-off: for entries of the null space of J at an
unknown that J determines, and for singular values of J, relative to the largest, at a special
point, which is known only to the square root of round-off.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Root:
    """A solution of equations, and its dependence on parameters.

    Attributes:
        x: the solution, to round-off.
        inverse: J⁺.
        free: an orthonormal basis of the null space of J, in rows.
    """

    x: np.ndarray
    inverse: np.ndarray
    free: np.ndarray

    def near(self, residual: AnyArray) -> Array:
        """x at other parameters, from r(x*, p)."""
        return jnp.asarray(self.x) - jnp.asarray(self.inverse) @ residual

    def determines(self, i: int) -> bool:
        """True if the equations determine an unknown."""
        return bool(np.all(np.abs(self.free[:, i]) < LEFT_FREE))


def with_slope(residual: Callable) -> Callable:
    """r and J in one program; otherwise each operation would be a program."""
    return jax.jit(lambda x, *given: (residual(x, *given), jax.jacfwd(residual)(x, *given)))


def root(both: Callable, x, *given, steps: int = 2) -> Root:
    """The solution near x, corrected to round-off by steps of Newton's iteration.

    Args:
        both: (x, *given) → r, J, as returned by `with_slope`.
        given: arrays that r depends on.
    """
    found, x = None, np.asarray(x, float)
    unit = row_units(lambda x: np.asarray(both(x, *given)[1]), x)
    for _ in range(steps + 1):
        r, J = (np.asarray(a) for a in both(x, *given))
        found = held(x, J, unit)
        x = x - found.inverse @ r
    assert found is not None
    return found


def held(x, J: np.ndarray, unit: np.ndarray, threshold: float = DERIVED) -> Root:
    """A solution with its matrix J, with rows scaled by `unit`."""
    rows = Decomposition(unit[:, None] * J, threshold)
    return Root(x, rows.inverse * unit, rows.kernel.conj().T)


def row_units(jacobian: Callable, x: np.ndarray) -> np.ndarray:
    """The inverse of the greatest length of each row of J here and nearby. At a special point a row
    may vanish, and must not be scaled to unit length.
    """
    own = np.linalg.norm(jacobian(x), axis=1)
    nearby = lengths_nearby(lambda away: jacobian(x + away), len(x))
    length = np.fmax(nearby, np.where(np.isfinite(own), own, 0.0))
    return 1 / np.where(length > 0, length, np.inf)


def lengths_nearby(jacobian: Callable, n: int) -> np.ndarray | float:
    """Greatest length of each row of J at two random points; `jacobian` takes the displacement."""
    random, length = np.random.default_rng(1839), 0.0
    for _ in range(2):
        # rows that almost vanish are measured at a distance of 0.1 [units of the unknowns]
        own = np.linalg.norm(jacobian(0.1 * random.standard_normal(n)), axis=1)
        length = np.fmax(length, np.where(np.isfinite(own), own, 0.0))
    return length


def fold(equations: Callable) -> Callable:
    """The equations of a fold, at which solutions y of r(y, s) = 0 turn back over s,

        r(y, s) = 0,    r_y n = 0,    n·n* = 1,

    as a function of z = (s, y, n), of n*, and of the other arguments of r. Examples are a limit
    position of a mechanism (over its input), a dead point of an output (over that output), the
    boundary of a workspace (over inputs along a line), and a fold or branch point of equilibria
    (over a parameter).
    """

    def residual(z, null, *given):
        s, (y, n) = z[0], jnp.split(z[1:], 2)
        r, turned = jax.jvp(lambda y: equations(y, s, *given), (y,), (n,))
        return jnp.concatenate([r, turned, jnp.stack([null @ n - 1.0])])

    return residual


def near_fold(equations: Callable, here, there, s, y, null) -> tuple[Root, Any]:
    """A fold at the parameters of a result, and its z = (s, y, n) at other parameters.

    Args:
        equations: dynamics → the function r(y, s).
        here, there: the dynamics at the parameters of the result, and at other parameters.
        s, y, null: the fold that was found, and the null direction of y.
    """
    with outside_of_programs():
        found = root(
            with_slope(fold(equations(here))), np.concatenate([[s], y, null]), np.asarray(null)
        )
    left = fold(equations(there))(jnp.asarray(found.x), jnp.asarray(null))
    return found, found.near(left)


def last_direction(A: np.ndarray) -> np.ndarray:
    """The direction that rows constrain least."""
    return Decomposition(A).right[:, -1]
