"""Cholesky factorization of `C Cᵀ + μ I` for a sparse C, in the rounds of a `Plan`.

In a round, with the blocks D on the diagonal of the nodes that go, B below them and S among the others,

    D = L Lᵀ,    P = B L⁻ᵀ,    S ← S − P Pᵀ

Each formula is written once for all nodes of the round: the last axis of every array counts nodes. What is used twice is kept from
being computed twice (`optimization_barrier`): the compiler would round it in two ways, and a redundant row lives on cancellation.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.sparse.elimination import Plan, Round
from zwang.sparse.gather import entries, taken


class Factor(eqx.Module):
    """A factored matrix `Q + μ I`.

    Attributes:
        plan: the order.
        inverses: L⁻¹ of each round, shape (size, size, nodes).
        panels: P of each round, shape (size, size, neighbors, nodes).
        root: Cholesky factor of the dense rest.
    """

    plan: Plan
    inverses: list[Float[Array, "size size nodes"]]
    panels: list[Float[Array, "size size degree nodes"]]
    root: Float[Array, "rest rest"]

    def solve(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """`(Q + μ I)⁻¹ r`."""
        plan = self.plan
        x, saved = entries(r, plan.node_row), []
        for step, inverse, panel in zip(plan.rounds, self.inverses, self.panels, strict=True):
            y = _times(inverse, taken(x, step.nodes))
            saved.append(y)
            pushed = sum(panel[:, a] * y[a] for a in range(plan.size))
            x = taken(x, step.kept) - step.rhs(pushed.reshape(plan.size, -1))  # type: ignore
        shape = x.shape
        x = jax.scipy.linalg.cho_solve((self.root, True), x.ravel()).reshape(shape)
        for step, inverse, panel, y in zip(*(reversed(z) for z in (plan.rounds, self.inverses, self.panels, saved)), strict=True):
            pulled = entries(x, step.neighbors)
            y = y - sum(panel[a] * pulled[a] for a in range(plan.size)).sum(axis=1)  # type: ignore
            x = taken(jnp.concatenate([_times(inverse.transpose(1, 0, 2), y), x], axis=1), step.united)
        return taken(x.ravel(), plan.place)

    def pivots(self) -> Float[Array, " pivots"]:
        """Squares of the diagonal of the Cholesky factor: how far each row is from those eliminated before it; 1 for padding."""
        own = [jnp.stack([inverse[a, a] for a in range(self.plan.size)]).ravel() ** -2 for inverse in self.inverses]
        return jnp.concatenate([*own, jnp.diag(self.root) ** 2])


def blocks_of(plan: Plan, data: Float[Array, "places slots"]) -> Float[Array, "size size blocks"]:
    """Blocks of the lower triangle of `C Cᵀ`, 1 on the diagonal of padding."""
    terms = (jnp.sum(entries(data, a) * entries(data, b), axis=0) for a, b in zip(plan.first, plan.second, strict=True))
    flat = sum(terms, jnp.zeros(plan.size**2 * plan.blocks)).at[plan.padding].set(1.0)
    return flat.reshape(plan.size, plan.size, -1)


def factor(plan: Plan, blocks: Float[Array, "size size blocks"], mu: Float[Array, ""]) -> Factor:
    """Factor `Q + μ I` from the blocks of Q."""
    S = jax.lax.optimization_barrier(blocks.ravel().at[plan.diagonal].add(mu).reshape(blocks.shape))
    inverses, panels = [], []
    for step in plan.rounds:
        inverse, panel, S = _eliminate(step, S, plan.size)
        inverses.append(inverse)
        panels.append(panel)
    dense = entries(S.ravel(), plan.root)
    return Factor(plan, inverses, panels, jnp.linalg.cholesky(dense, symmetrize_input=False))


def _eliminate(step: Round, S: Float[Array, "size size blocks"], size: int):
    inverse = jax.lax.optimization_barrier(_inverse_cholesky(taken(S, step.diagonal)))
    below = entries(S.ravel(), step.panel)
    P = jnp.stack([sum(below[:, p] * inverse[j, p] for p in range(j + 1)) for j in range(size)], axis=1)
    P = jax.lax.optimization_barrier(P)
    s, t = np.tril_indices(P.shape[2])
    pushed = sum(P[:, None, p][:, :, s] * P[None, :, p][:, :, t] for p in range(size))
    S = entries(S, step.carried) - step.update(pushed.reshape(size, size, -1))  # type: ignore
    return inverse, P, jax.lax.optimization_barrier(S)


def _inverse_cholesky(D: Float[Array, "size size nodes"]) -> Float[Array, "size size nodes"]:
    """L⁻¹ of many small matrices `D = L Lᵀ`, one column of L after the other."""
    size = len(D)
    L, reach = [], []  # columns of L, and 1 over its diagonal
    for j in range(size):
        column = D[:, j] - sum((x * x[j] for x in L), jnp.zeros_like(D[:, j]))
        reach.append(jax.lax.optimization_barrier(jax.lax.rsqrt(column[j])))
        L.append(column * reach[j])
    rows: list = []  # of L⁻¹: row i is (eᵢ − Σ Lᵢₚ rowₚ) / Lᵢᵢ
    for i in range(size):
        rest = jnp.zeros_like(D[:, i]).at[i].set(1.0) - sum((L[p][i] * x for p, x in enumerate(rows)), jnp.zeros_like(D[:, i]))
        rows.append(rest * reach[i])
    return jnp.stack(rows)


def _times(matrix: Float[Array, "size size nodes"], x: Float[Array, "size nodes"]) -> Float[Array, "size nodes"]:
    return sum(matrix[:, a] * x[a] for a in range(len(x)))  # type: ignore
