"""Newton's iteration for configurations that meet rows, inside programs.

    q ← q ⊕ (−A⊕ r),    r(q) = 0 to be met, A its derivative by velocities

A⊕ is that of equal masses: an analysis asks for a configuration near another one, not for the one
that is least moved by forces. With A held, the last step has the exact first derivatives by what r
depends on.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.gauss import Gauss
from zwang.algebra.lapack import LU
from zwang.algebra.mass_matrix import DiagonalMass
from zwang.algebra.pseudoinverse import SVD
from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.thresholds import ROUND_OFF

Rows = Callable[[Array], tuple[Array, Array]]
"""`q → A, r`: rows and their residual."""
FAR_DAMPING = 1e-3
"""Damping of rows at unit length, beside the square of their residual."""


def unweighted(A: Float[Array, "m nv"]) -> Gauss:
    """Rows of a system of equal masses, by singular values."""
    return Gauss(DiagonalMass(jnp.ones(A.shape[1], A.dtype)), A, SVD(DEPENDENT_ROWS))


def least(A: Float[Array, "m nv"], r: Float[Array, " m"]) -> Float[Array, " nv"]:
    """`A⊕ r`."""
    return unweighted(A).correct(r)


def damped(A: Float[Array, "m nv"], r: Float[Array, " m"]) -> Float[Array, " nv"]:
    """The same of rows at unit length with the damping of Levenberg and Marquardt, which vanishes
    with the residual: for starts far from where rows are met, by the thousand.
    """
    damping = FAR_DAMPING * (r @ r) + ROUND_OFF
    return A.T @ LU(A @ A.T + damping * jnp.eye(len(r))).solve(r)


def rows_at(dynamics: Dynamics, t: Array, held: Callable[[Array], Array] | None = None) -> Rows:
    """All rows of holonomic constraints and their residual, those of `held(q) = 0` last."""
    c, p, system = dynamics.constraints, dynamics.p, dynamics.system
    still = jnp.zeros(system.nv)

    own = lambda q: (c.matrix(q, still, t, p), c.position_residual(q, t, p))
    if held is None:
        return own

    def rows(q):
        A, r = own(q)
        along = jax.jacfwd(lambda s: held(system.move(q, s, t, p)))(still)
        return jnp.concatenate([A, along]), jnp.concatenate([r, held(q)])

    return rows


def newton(
    dynamics: Dynamics,
    rows: Rows,
    q: Array,
    t: Array,
    steps: int,
    *,
    longest: float = jnp.inf,
    solve: Callable[[Array, Array], Array] = least,
) -> Array:
    """The configuration after a number of steps; the last one carries first derivatives.

    Args:
        dynamics, t: what moves q, and the time.
        rows: q → A, r, shapes (m, nv) and (m,), as `rows_at` makes them.
        q: to begin with.
        steps: how many, at least one.
        longest: length of a step, which is shortened to it.
        solve: A, r → the change of q that r asks for.
    """

    def step(q):
        A, r = rows(q)
        dv = -solve(jax.lax.stop_gradient(A), r)
        size = jnp.linalg.norm(jax.lax.stop_gradient(dv))
        dv = dv * jnp.minimum(1.0, longest / jnp.maximum(size, 1e-300))
        return dynamics.system.move(q, dv, t, dynamics.p)

    if steps > 1:
        begun = jax.lax.stop_gradient(q)
        q = jax.lax.fori_loop(0, steps - 1, lambda _, q: jax.lax.stop_gradient(step(q)), begun)
    return step(q)
