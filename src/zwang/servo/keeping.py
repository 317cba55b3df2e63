"""Servo constraints that are inequalities, and limits of the actuators, in one problem.

    minimize ‖G u − r‖, then ‖W^½ (u − u*)‖,  subject to  lower ≤ u ≤ upper,  C u ≥ d

The rows C u ≥ d belong to the gaps h ≥ 0. The gain of a gap gives the row `ḧ ≥ −c₁ ḣ − c₀ h`, whose
poles −k₁ and −k₂ are real. Then `(d/dt + k₂)(ḣ + k₁ h) ≥ 0`, and if h ≥ 0 and ḣ + k₁ h ≥ 0 at the
start, both hold at all times.

The active set of limits and rows is found by the active-set method of `limits.py` for

    ½‖G δ‖² + ½ε‖δ‖² + ½ρ‖C δ − y − m‖²,    y ≥ d − C u*,    δ = u − u*

y is the value of C δ for which the bound is enforced, and m the multiplier divided by ρ, found in a
few outer iterations. The control then follows exactly, with derivatives, from the equations of the
active set. Rows may be redundant. If no control satisfies them, their residual is the least-squares
minimum within the limits.

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
"""Outer iterations for the multipliers; each reduces the error by the factor 1/ROWS_FIRST."""
WEAKER = SMALL_PART**2
"""ε relative to ‖G‖²: the weight of a change of u compared with the servo constraints while the
active set is determined.
"""


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
    """The control that satisfies the rows within its limits. If no control does, the control within
    the limits with the least-squares residual of the rows, each at unit length.

    Args:
        G, r: the servo problem, rows at unit length.
        C, d: the rows `C u ≥ d`.
        wanted: u*, the control without limits and rows.
        weights: W, the weight of a change of each entry.
        box: lower and upper limits.
        method: for the pseudoinverses.
    """
    easy = 1 / jnp.sqrt(weights)
    low, high = ((x - wanted) / easy for x in box)
    G, C, r, d = G * easy, C * easy, r - G @ wanted, d - C @ wanted
    size = lambda rows: jnp.linalg.norm(jax.lax.stop_gradient(rows), axis=1)
    length = size(C)
    unit = 1 / jnp.where(length > 0, length, 1.0)
    # u has no influence on a row without authority
    C, d = unit[:, None] * C, jnp.where(length > 0, unit * d, 0.0)
    found, at_limit, rows = _acting(*jax.lax.stop_gradient((G, C, d, low, high)))
    fixed = jax.lax.stop_gradient(low)
    x = jnp.where(at_limit, jnp.where(found <= fixed, low, high), 0.0)
    free, acts = jnp.where(at_limit, 0.0, 1.0), jnp.any(at_limit) | jnp.any(rows)
    held = Pseudoinverse(method, rows[:, None] * C * free)
    x = x + held.solve_any(jnp.where(rows, d - C @ x, 0.0))
    # G restricted to changes of u that keep the active rows, without round-off
    left = jax.vmap(lambda g: g - held.solve(rows * (C @ g)))(G * free)
    left = jnp.where((size(left) > AUTHORITY_THRESHOLD * size(G))[:, None], left, 0.0)
    x = x + Pseudoinverse(method, left).solve_any(jnp.where(acts, r - G @ x, 0.0))
    within = BEYOND * jax.lax.stop_gradient(jnp.max(jnp.abs(x), initial=0.0))
    fits = jnp.all((x >= low - within) & (x <= high + within)) & jnp.all(C @ x >= d - within)
    # a row that cannot be satisfied is not used as an equation
    x = jnp.where(fits, x, x + jax.lax.stop_gradient(found - x))
    return jnp.where(acts, jnp.clip(wanted + easy * x, *box), wanted)


def _acting(G, C, d, low, high):
    """An approximation of δ, and masks of its entries at a limit and of the active rows."""
    nu, kept = len(low), len(d)
    gram = G.T @ G
    # without servo constraints only the change of u counts
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
    # multipliers of rows that cannot be satisfied grow without bound
    return jnp.where(met, z[:nu], first), bound[:nu], bound[nu:]
