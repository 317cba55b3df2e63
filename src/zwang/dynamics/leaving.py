"""Check that a motion leaves a state with the acceleration that its rows and forces determine
there.

Where rows are dependent in one configuration only, an acceleration that satisfies `A v̇ = b` need
not belong to any motion: branches of motion meet, and the acceleration lies between them. Along a
motion, `A v̇ − b` vanishes with all its derivatives. With a basis L of the left null space of A,
its first derivative requires of the acceleration w

    Lᵀ d/dt (A w − b) = 0       along (q̇, w), with w constant

At zero velocity every w satisfies this, and the second derivative requires

    Lᵀ b(w) = 0                 b's quadratic part, with w in place of the velocity

Rows that are redundant all along the motion satisfy both identically.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from zwang.compile import model_program
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.thresholds import ALL_BUT_ZERO

DRAWN = 3
"""Number of random directions along which the size of a quadratic form is measured."""


@model_program
def leaves_no_branch(dynamics: Dynamics, s: State, w) -> Bool[Array, ""]:
    """Return whether no motion has acceleration w at a state, at rest or moving."""
    gauss, rows, system = dynamics.gauss_at(s), dynamics.constraints, dynamics.system
    mass, A = gauss.mass, gauss.A

    def drawn(w):
        """Return random directions as long as w in the mass metric."""
        random = jnp.asarray(np.random.default_rng(1829).standard_normal((DRAWN, len(w))))
        random = over_rows(mass.unweigh)(random)
        return random * (mass.size(w) / jnp.maximum(jax.vmap(mass.size)(random), 1e-300))[:, None]

    def leaves(r, sizes):
        """Return whether some of r lies outside the range of A, relative to values of its size."""
        # the right-hand side of acceleration rows is given independently
        known = np.isin(np.arange(rows.m), rows.velocity_rows)
        rest = gauss.units() * jnp.where(known, r - A @ gauss.correct(r), 0.0)
        size = jnp.max(jnp.abs(gauss.units() * jnp.where(known, sizes, 0.0)), initial=0.0)
        return jnp.max(jnp.abs(rest), initial=0.0) > ALL_BUT_ZERO * size

    def rate(v, w):
        """d/dt (A w − b) of the velocity rows, with w constant."""
        psi = lambda q, v, t: rows.velocity_residual(q, v, t, dynamics.p)
        along = lambda q, v, t: (system.rate(q, v, t, dynamics.p), w, jnp.ones_like(t))
        once = lambda q, v, t: jax.jvp(psi, (q, v, t), along(q, v, t))[1]
        twice = jax.jvp(once, (s.q, v, s.t), along(s.q, v, s.t))[1]
        return jnp.zeros(rows.m).at[rows.velocity_rows].set(twice)

    moving = leaves(rate(s.v, w), over_rows(rate)(drawn(s.v), drawn(w)[::-1]))
    asked = jnp.concatenate([w[None], drawn(w)])
    b = over_rows(lambda v: dynamics.rhs(State(s.q, v, s.t)))
    form = 0.5 * (b(asked) + b(-asked)) - b(0 * w[None])
    return jnp.where(jnp.any(s.v != 0), moving, leaves(form[0], form[1:]))
