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

    def left(x):
        return x - ideal[rows] + gain @ impressed(ideal.at[rows].set(x))

    def size(x):
        return jnp.max(jnp.abs(x)) + jnp.max(jnp.abs(ideal[rows]))

    def solve(left, start):
        def step(carry):
            x, r, i = carry
            x = x - _solved(jax.jacfwd(left)(x), r)
            return x, left(x), i + 1

        # residual of a reaction, relative to its size, below which Newton's method ends
        going = lambda carry: (
            (jnp.max(jnp.abs(carry[1])) > ROUND_OFF * size(carry[0])) & (carry[2] < MOST_STEPS)
        )
        return jax.lax.while_loop(going, step, (start, left(start), 0))[0]

    tangent_solve = lambda g, y: _solved(jax.jacfwd(g)(jnp.zeros_like(y)), y)
    x = jax.lax.custom_root(left, jax.lax.stop_gradient(ideal[rows]), solve, tangent_solve)
    found = jax.lax.stop_gradient(x)
    known = jax.tree_util.tree_map(jax.lax.stop_gradient, left(found))
    # residual of a reaction, relative to its size, above which the method has failed
    solved = jnp.max(jnp.abs(known)) <= AGREEMENT * size(found)
    least = _least_determinant(jax.jacfwd(left), found, [own.stop - own.start for own in parts])
    multipliers = reaction(impressed(ideal.at[rows].set(x)))
    return Reaction(multipliers, jax.lax.stop_gradient(least), solved)


def _solved(J: Float[Array, "k k"], r: Float[Array, " k"]) -> Float[Array, " k"]:
    """Return `J⁻¹ r`, for one contact without a factorization."""
    return r / J[0, 0] if len(r) == 1 else lapack.solve(J, r)


def _least_determinant(jacobian, x, sizes: Sequence[int]) -> Float[Array, ""]:
    """Return the smallest determinant with reversed normal forces of some parts; the columns of a
    part depend on its forces only.
    """
    ways = jacobian(x), jacobian(-x)
    n, ends = len(sizes), np.cumsum([0, *sizes])
    # all combinations of signs for up to five contacts (32 determinants); for more contacts, all
    # are reversed together and each alone
    if n <= 5:
        turns = list(product((0, 1), repeat=n))
    else:
        alone = np.eye(n, dtype=int).tolist()
        turns = [(0,) * n, (1,) * n, *map(tuple, alone)]
    chosen = [np.repeat(turn, np.diff(ends)) for turn in turns]
    stack = jnp.stack([jnp.where(which, ways[1], ways[0]) for which in chosen])
    return jnp.min(stack[:, 0, 0] if len(x) == 1 else over_rows(lapack.determinant)(stack))
