"""Nonideal constraints in the recursion level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from zwang.algebra.reaction import acting_reaction
from zwang.compile import program
from zwang.objects.record import replace

if TYPE_CHECKING:
    from zwang.hierarchy.enforce import Enforced


@program
def with_nonideal(level: Enforced) -> Enforced:
    """Return the level with the forces of nonideal constraints of this level and those below; each
    may depend on its ideal force.
    """
    if all(c.nonideal is None for x in level.levels for c in x._constraints):
        return level
    s, w, p = level._instant.state, level._instant.weights, level._instant.p
    slices, start = {}, 0
    for x in level.levels:
        own = zip(x.names, x.row_slices, strict=True)
        slices |= {name: slice(start + i, start + j) for name, (i, j) in own}
        start += len(x.rhs)
    A = jnp.concatenate([x.matrix for x in level.levels])
    every = [c for x in level.levels for c in x._constraints]
    rough = {c.parts: c for c in every if c.nonideal is not None}
    zero, inverse, left = jnp.zeros_like(s.v), level.inverse, len(level._a) - level.total_rank

    def impressed(multipliers):
        ideal = {n: A[rows].T @ multipliers[rows] for n, rows in slices.items()}
        total = zero
        for parts, c in rough.items():
            own = jnp.stack([ideal.get(part, zero) for part in parts])
            forces = zip(parts, c.impressed(s.q, s.v, s.t, p, own), strict=True)
            total = sum((f for part, f in forces if part in ideal), total)
        return total

    def reaction(c):
        moved = w.apply(w.acceleration(level._a, level._spread, left, c))
        return inverse.T @ w.pulled(moved - w.force - c)

    parts = [slices[part] for c in rough.values() for part in c.parts if part in slices]
    gains = lambda rows: -jax.jacfwd(reaction)(zero)[rows]
    found = acting_reaction(level.multipliers, gains, reaction, impressed, parts)
    total = jnp.where(found.unique, impressed(found.multipliers), jnp.nan)
    acceleration = w.acceleration(level._a, level._spread, left, total)
    return replace(level, acceleration=acceleration)
