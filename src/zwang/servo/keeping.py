"""Servo constraints that are inequalities, beside limits of the actuators, in one problem.

    minimize ‖G u − r‖, then ‖W^½ (u − u*)‖,  subject to  lower ≤ u ≤ upper,  C u ≥ d

C and d are what gaps that are to stay open see of u and ask for. Their gains make of a gap the row
`ḧ ≥ −c₁ ḣ − c₀ h`, whose poles −k₁ and −k₂ are real: then `(d/dt + k₂)(ḣ + k₁ h) ≥ 0`, and what
starts with h ≥ 0 and ḣ + k₁ h ≥ 0 keeps both.

Which of limits and rows act is found by the active-set method of limits for

    ½‖G δ‖² + ½ε‖δ‖² + ½ρ‖C δ − y − m‖²,    y ≥ d − C u*,    δ = u − u*

y is what a row gets, and m its multiplier over ρ, found in a few turns. The control then follows
from the equations that act, exactly and with their derivatives. Rows may repeat each other. Where
no control keeps them, they are missed by the least squares that the limits allow.

Reference: Nocedal and Wright (2006), Numerical Optimization, algorithm 17.4 (augmented
    Lagrangian); Nguyen and Sreenath (2016), Proc. American Control Conference (poles of a row).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Pseudoinverse
from zwang.servo.limits import BEYOND, active_set
from zwang.servo.null_space import AUTHORITY_THRESHOLD
from zwang.thresholds import ACCEPTED_VIOLATION, SMALL_PART

ROWS_FIRST = 1e4
"""ρ of rows of unit length, relative to ‖G‖²."""
TURNS = 4
"""Turns in which multipliers are found, each to the part 1/ROWS_FIRST of what the last one left."""
WEAKER = SMALL_PART**2
"""ε relative to ‖G‖²: how much less a change of u counts than the servo constraints while it is
found which limits and rows act."""


def keeping(
    G: Float[Array, "rows nu"],
    r: Float[Array, " rows"],
    C: Float[Array, "kept nu"],
    d: Float[Array, " kept"],
    wanted: Float[Array, " nu"],
    weights: Float[Array, " nu"],
    box: tuple[Float[Array, " nu"], Float[Array, " nu"]],
    method: AbstractPseudoinverse,
) -> Float[Array, " nu"]:
    """The control that keeps the rows within its limits; where none does, one within them that
    misses the rows by the least squares, each at unit length.

    Args:
        G, r: the servo problem, rows at unit length.
        C, d: the rows `C u ≥ d`.
        wanted: u*, which would be taken without limits and rows.
        weights: W, how much a change of each entry counts against others.
        box: lower and upper limits.
        method: of pseudoinverses.
    """
    easy = 1 / jnp.sqrt(weights)
    low, high = ((x - wanted) / easy for x in box)
    G, C, r, d = G * easy, C * easy, r - G @ wanted, d - C @ wanted
    size = lambda rows: jnp.linalg.norm(jax.lax.stop_gradient(rows), axis=1)
    length = size(C)
    unit = 1 / jnp.where(length > 0, length, 1.0)
    # a row without authority is met or missed whatever u is
    C, d = unit[:, None] * C, jnp.where(length > 0, unit * d, 0.0)
    found, at_limit, rows = _acting(*jax.lax.stop_gradient((G, C, d, low, high)))
    fixed = jax.lax.stop_gradient(low)
    x = jnp.where(at_limit, jnp.where(found <= fixed, low, high), 0.0)
    free, acts = jnp.where(at_limit, 0.0, 1.0), jnp.any(at_limit) | jnp.any(rows)
    held = Pseudoinverse(method, rows[:, None] * C * free)
    x = x + held.solve_any(jnp.where(rows, d - C @ x, 0.0))
    # what the rows leave free, without the round-off of what they do not
    left = jax.vmap(lambda g: g - held.solve(rows * (C @ g)))(G * free)
    left = jnp.where((size(left) > AUTHORITY_THRESHOLD * size(G))[:, None], left, 0.0)
    x = x + Pseudoinverse(method, left).solve_any(jnp.where(acts, r - G @ x, 0.0))
    within = BEYOND * jax.lax.stop_gradient(jnp.max(jnp.abs(x), initial=0.0))
    fits = jnp.all((x >= low - within) & (x <= high + within)) & jnp.all(C @ x >= d - within)
    # a row that cannot be kept is no equation
    x = jnp.where(fits, x, x + jax.lax.stop_gradient(found - x))
    return jnp.where(acts, jnp.clip(wanted + easy * x, *box), wanted)


def _acting(G, C, d, low, high):
    """δ nearly, which of its entries are at a limit, and which rows act."""
    nu, kept = len(low), len(d)
    gram = G.T @ G
    # without servo constraints a change of u is all there is
    size = jnp.where(jnp.trace(gram) > 0, jnp.trace(gram), 1.0)
    both = jnp.concatenate([C, -jnp.eye(kept)], axis=1)
    H = ROWS_FIRST * size * both.T @ both
    H = H.at[:nu, :nu].add(gram + WEAKER * size * jnp.eye(nu))
    lowest, highest = jnp.concatenate([low, d]), jnp.concatenate([high, jnp.full(kept, jnp.inf)])

    def turn(_, carry):
        m, first, _ = carry
        z = active_set(H, ROWS_FIRST * size * (both.T @ m), lowest, highest)
        missing = z.x[nu:] - C @ z.x[:nu]
        m = jnp.where(z.bound[nu:], jnp.maximum(m + missing, 0.0), 0.0)
        return m, jnp.where(jnp.all(first == 0), z.x[:nu], first), (z.x, z.bound)

    none = jnp.zeros(nu + kept), jnp.zeros(nu + kept, bool)
    _, first, (z, bound) = jax.lax.fori_loop(0, TURNS, turn, (jnp.zeros(kept), jnp.zeros(nu), none))
    met = jnp.all(C @ z[:nu] >= d - ACCEPTED_VIOLATION * jnp.max(jnp.abs(z), initial=0.0))
    # multipliers of what cannot be met grow without end
    return jnp.where(met, z[:nu], first), bound[:nu], bound[nu:]
