"""Reactions of constraints whose friction depends on them: Coulomb's law.

    λ = λ(c) = λ₀ − (A M⁻¹Aᵀ)⁺ A M⁻¹ c,    c = c(λ)

λ₀ is the reaction without friction. While a contact slides, Coulomb's c is linear in the absolute
values of the normal forces. For one contact, N = N₀ + k |N| has one solution if |k| < 1, and none
or two otherwise (Painlevé's paradox).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra import lapack
from zwang.compile.hints import over_rows, traced_once
from zwang.thresholds import AGREEMENT, ROUND_OFF

MOST_STEPS = 12
"""Maximum number of Newton steps: one for each change of sign of a normal force, and a few if c is
not piecewise linear.
"""


class Reaction(NamedTuple):
    """Reactions in the presence of friction.

    Attributes:
        multipliers: λ in the presence of friction, shape (m,).
        certain: the smallest determinant of `∂(λ − λ(c(λ)))/∂λ` over the signs of the normal
            forces, 1 without friction; if it is not positive there are no or two reactions.
        solved: whether λ = λ(c(λ)) holds.
    """

    multipliers: Float[Array, " m"]
    certain: Float[Array, ""]
    solved: Bool[Array, ""]

    @property
    def unique(self) -> Bool[Array, ""]:
        """True if the reaction is unique and was found."""
        return self.solved & (self.certain > 0)


def acting_reaction(
    ideal: Float[Array, " m"],
    gains: Callable[[np.ndarray], Array],
    reaction: Callable[[Array], Array],
    impressed: Callable[[Array], Array],
    parts: Sequence[slice],
) -> Reaction:
    """Compute the reaction in the presence of friction by Newton's method from the ideal reaction.

    Args:
        ideal: λ₀, shape (m,).
        gains: rows ↦ these rows of `(A M⁻¹Aᵀ)⁺ A M⁻¹`, shape (rows, nv).
        reaction: c [N, N·m …], shape (nv,) ↦ λ(c), affine, `λ(0) = λ₀`.
        impressed: λ ↦ c, which depends on the rows of `parts` only.
        parts: rows of each part with friction; its c depends on these rows only.
    """
    if not parts:  # forces that do not depend on any reaction
        return Reaction(reaction(impressed(ideal)), jnp.ones(()), jnp.asarray(True))
    rows = np.concatenate([np.arange(len(ideal))[own] for own in parts])
    # computed once, and not at each step of the iteration and for each of its derivatives
    gain = gains(rows)
    impressed = traced_once(impressed)
    # reverse mode where there are more reactions than components of c
    rate = jax.jacrev if _is_tall(gain) else jax.jacfwd

    def applied(x):
        return impressed(ideal.at[rows].set(x))

    def left(x):
        return x - ideal[rows] + gain @ applied(x)

    def size(x):
        return jnp.max(jnp.abs(x)) + jnp.max(jnp.abs(ideal[rows]))

    def solve(left, start):
        def step(carry):
            x, r, i = carry
            x = x - _solved(gain, rate(applied)(x), r)
            return x, left(x), i + 1

        # residual of a reaction, relative to its size, below which Newton's method ends
        going = lambda carry: (
            (jnp.max(jnp.abs(carry[1])) > ROUND_OFF * size(carry[0])) & (carry[2] < MOST_STEPS)
        )
        return jax.lax.while_loop(going, step, (start, left(start), 0))[0]

    tangent_solve = lambda g, y: lapack.solve(jax.jacfwd(g)(jnp.zeros_like(y)), y)
    x = jax.lax.custom_root(left, jax.lax.stop_gradient(ideal[rows]), solve, tangent_solve)
    found = jax.lax.stop_gradient(x)
    known = jax.tree_util.tree_map(jax.lax.stop_gradient, left(found))
    # residual of a reaction, relative to its size, above which the method has failed
    solved = jnp.max(jnp.abs(known)) <= AGREEMENT * size(found)
    sizes = [own.stop - own.start for own in parts]
    least = _least_determinant(gain, [rate(applied)(sign * found) for sign in (1, -1)], sizes)
    multipliers = reaction(applied(x))
    return Reaction(multipliers, jax.lax.stop_gradient(least), solved)


def _is_tall(gain: Float[Array, "k nv"]) -> bool:
    return len(gain) > gain.shape[1]


def _solved(
    gain: Float[Array, "k nv"], rate: Float[Array, "nv k"], r: Float[Array, " k"]
) -> Float[Array, " k"]:
    """Return `J⁻¹ r` with `J = I + gain · rate`, by Woodbury's formula for many reactions, and for
    one contact without a factorization.
    """
    if _is_tall(gain):
        return r - gain @ lapack.solve(jnp.eye(len(rate)) + rate @ gain, rate @ r)
    J = jnp.eye(len(r)) + gain @ rate
    return r / J[0, 0] if len(r) == 1 else lapack.solve(J, r)


def _least_determinant(
    gain: Float[Array, "k nv"], rates: Sequence[Float[Array, "nv k"]], sizes: Sequence[int]
) -> Float[Array, ""]:
    """Return the smallest determinant of `I + gain · rate` with reversed normal forces of some
    parts; the columns of a part depend on its forces only.
    """
    n, ends = len(sizes), np.cumsum([0, *sizes])
    if _is_tall(gain):
        return _least_of_many(gain, rates, ends)
    ways = [jnp.eye(len(gain)) + gain @ x for x in rates]
    # all combinations of signs for up to five contacts (32 determinants); for more contacts, all
    # are reversed together and each alone
    if n <= 5:
        turns = list(product((0, 1), repeat=n))
    else:
        alone = np.eye(n, dtype=int).tolist()
        turns = [(0,) * n, (1,) * n, *map(tuple, alone)]
    chosen = [np.repeat(turn, np.diff(ends)) for turn in turns]
    stack = jnp.stack([jnp.where(which, ways[1], ways[0]) for which in chosen])
    return jnp.min(stack[:, 0, 0] if len(gain) == 1 else over_rows(lapack.determinant)(stack))


def _least_of_many(gain, rates, ends: np.ndarray) -> Float[Array, ""]:
    """Return the smallest determinant without reversed normal forces, with all reversed, and with
    each alone, by `det(I + UV) = det(I + VU)`.
    """
    straight, turned = (lapack.LU(jnp.eye(len(x)) + x @ gain) for x in rates)
    whole = straight.determinant()
    # det(B + d g) = det(B) det(I + g B⁻¹ d) for the columns d and the rows g of a part
    change = straight.solve(rates[1] - rates[0])
    first, widths = ends[:-1], np.diff(ends)
    factors = []
    for width in np.unique(widths):
        own = first[widths == width, None] + np.arange(width)
        blocks = jnp.eye(width) + jnp.einsum("pin,npj->pij", gain[own], change[:, own])
        one = blocks[:, 0, 0] if width == 1 else over_rows(lapack.determinant)(blocks)
        factors.append(jnp.min(one))
    alone = whole * jnp.min(jnp.stack(factors))
    least = jnp.minimum(whole, turned.determinant())
    return jnp.where(whole > 0, jnp.minimum(least, alone), least)
