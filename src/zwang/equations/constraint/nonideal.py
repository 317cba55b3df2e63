"""Forces of nonideal constraints, for `nonideal=` of any constraint."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import ArrayLike


def coulomb(
    mu: float | str,
    *,
    particle: slice | ArrayLike | None = None,
    rest_speed: float = 0.0,
) -> Callable:
    """Sliding friction of a particle on the curve or surface given by the constraint:

        c = −μ |Q_id| v / |v|

    Q_id is the force `Aᵢᵀλᵢ` of that constraint alone in the presence of c, so that friction
    follows the normal force even if it changes this force. A particle exactly at rest has no
    friction, and there is no sticking. End a run where the particle comes to rest by a `zw.Stop` on
    its velocity along the path, or give a `rest_speed`.

    Args:
        mu: coefficient of friction μ [1], or the name of a parameter that holds it.
        particle: index of the Cartesian coordinates of the particle in q [m], for example
            `slice(0, 3)`; all by default.
        rest_speed: speed ε [m/s] below which friction decreases: v/√(|v|² + ε²) replaces v/|v|.
            With 0 the direction jumps where the velocity changes its sign.

    Returns:
        The function `(q, v, t, p, ideal_force)` → c [N], shape (nv,).

    Reference: servo paper, eq. (12)-(13); Udwadia and Kalaba (2002), Int. J. Non-Linear Mech. 37,
        1079-1090.

    Example:
        >>> incline = zw.Holonomic(
        ...     lambda q, t, p: q[0] + 2 * q[1], name="incline", nonideal=coulomb("mu"))
    """
    own = slice(None) if particle is None else particle

    def friction(q, v, t, p, ideal_force):
        coefficient = p[mu] if isinstance(mu, str) else mu
        load = coefficient * length(ideal_force[own])
        return jnp.zeros_like(v).at[own].set(-load * sliding(v[own], rest_speed))

    return friction


def sliding(velocity, rest_speed):
    """Return the direction of sliding, `v/√(|v|² + ε²)`, which is zero at rest."""
    square = velocity @ velocity + rest_speed**2
    moving = square > 0
    return jnp.where(moving, velocity / jnp.sqrt(jnp.where(moving, square, 1.0)), 0.0)


def length(x):
    """Return the length along the last axis, with a derivative that is 0 at zero."""
    square = x @ x if jnp.ndim(x) == 1 else jnp.sum(x * x, axis=-1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
