"""Cholesky factorization of `C Cᵀ + μ I` for a sparse C, in the order of a `Plan`, or of any
symmetric matrix in the order of an `Elimination`.

For the nodes of a chunk, with blocks D on the diagonal, B below them and S of the other nodes,

    D = L Lᵀ,    P = B L⁻ᵀ,    S ← S − P Pᵀ

Each formula is written once for all nodes of a chunk: the last axis of every array counts nodes,
and a loop runs over chunks. An `optimization_barrier` prevents values that are used twice from
being computed twice: the compiler would round them in two ways, and a redundant row relies on exact
cancellation.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.cholesky import Cholesky
from zwang.algebra.elimination.elimination import Class, Elimination, Plan
from zwang.algebra.elimination.gather import scattered, taken, total
from zwang.objects.record import Record


class Factor(Record):
    """Factored matrix `Q + μ I`.

    Attributes:
        elimination: the order.
        inverses: L⁻¹ of each class, shape (chunks, size, size, width).
        panels: P of each class, shape (chunks, size, size, degree, width).
        root: factor of the dense rest.
    """

    elimination: Elimination
    inverses: list[Float[Array, "chunks size size width"]]
    panels: list[Float[Array, "chunks size size degree width"]]
    root: Cholesky

    def solve(self, r: Float[Array, " rows"]) -> Float[Array, " rows"]:
        """`(Q + μ I)⁻¹ r`, rows in the order of elimination."""
        order = self.elimination
        x = r.reshape(order.size, -1)
        parts = list(zip(order.classes, self.inverses, self.panels, strict=True))
        for group, inverse, panel in parts:
            x = _forward(group, inverse, panel, x)
        end = order.positions - order.rest
        # in the dense rest the rows of a position are adjacent; in x the positions are adjacent
        root = self.root.solve(x[:, end:-1].T.ravel()).reshape(-1, order.size).T
        x = x.at[:, end:-1].set(root)
        for group, inverse, panel in reversed(parts):
            x = _backward(group, inverse, panel, x)
        return x.ravel()

    def pivots(self) -> Float[Array, " pivots"]:
        """Squares of the diagonal of the Cholesky factor, which measure the distance of each row
        from those eliminated before it; 1 for padding.
        """
        own = [jnp.diagonal(inverse, axis1=1, axis2=2).ravel() ** -2 for inverse in self.inverses]
        return jnp.concatenate([*own, self.root.pivots()])


def factor(plan: Plan, C: Float[Array, "colors k rows"], mu: Float[Array, ""]) -> Factor:
    """Factor `C Cᵀ + μ I` from the entries of C, rows in the order of elimination."""
    flat, order = C.transpose(1, 0, 2).reshape(C.shape[1], -1), plan.elimination
    length = sum(row**2 for row in C.reshape(-1, C.shape[2])) + jnp.where(order.padding, 1.0, mu)
    outer = [
        jnp.sum(taken(flat, a) * taken(flat, b), axis=0)
        for a, b in zip(plan.first, plan.second, strict=True)
    ]
    return factor_entries(order, sum(outer, jnp.zeros(len(order.outer))), length)


def factor_entries(
    order: Elimination, outer: Float[Array, " entries"], diagonal: Float[Array, " places"]
) -> Factor:
    """Factor a symmetric matrix from its entries below the diagonal and on it, the latter in the
    order of elimination with a 1 at padding; NaN where it is not positive definite.
    """
    S = scattered(outer, order.outer, order.places + 1)
    length = diagonal.reshape(order.size, -1)[:, :-1].ravel()
    S = S.at[order.diagonal].set(
        length, mode="promise_in_bounds", unique_indices=True, wrap_negative_indices=False
    )
    inverses, panels = [], []
    for group in order.classes:
        S, inverse, panel = _eliminate(group, order.size, S)
        inverses.append(inverse)
        panels.append(panel)
    side = order.rest * order.size
    root = Cholesky(S[len(S) - 1 - side**2 : -1].reshape(side, side))
    return Factor(order, inverses, panels, root)


def _eliminate(group: Class, size: int, S: Float[Array, " places"]):
    chunks, degree, width = group.shape
    s, t = np.tril_indices(degree)

    def chunk(S, step):
        i, update = step
        own = (1 + degree) * size**2 * width
        # one read takes all blocks of the chunk, as they are contiguous
        front = jax.lax.dynamic_slice(S, (group.offset + i * own,), (own,)).reshape(
            1 + degree, size, size, width
        )
        inverse = jax.lax.optimization_barrier(_inverse_cholesky(front[0]))
        below = front[1:].transpose(1, 2, 0, 3)
        P = jnp.stack(
            [sum(below[:, p] * inverse[j, p] for p in range(j + 1)) for j in range(size)], axis=1
        )
        P = jax.lax.optimization_barrier(P)
        pushed = total(P[:, None, p][:, :, s] * P[None, :, p][:, :, t] for p in range(size))
        # two nodes of a chunk may share a neighbor, so that places repeat and their terms must add
        # up
        S = S.at[update.ravel()].add(
            -pushed.ravel(),
            mode="promise_in_bounds",
            wrap_negative_indices=False,
        )
        return S, (inverse, P)

    S, (inverse, panel) = _through_chunks(chunk, S, (jnp.arange(chunks), group.update))
    return S, inverse, panel


def _forward(group: Class, inverse, panel, x: Float[Array, "size places"]):
    """Return `L⁻¹ x` at the nodes of a class, and the updated right-hand side at the others."""

    def chunk(x, step):
        at, neighbors, inverse, panel = step
        y = _times(inverse, jax.lax.dynamic_slice_in_dim(x, at, neighbors.shape[1], axis=1))
        pushed = sum(panel[:, a] * y[a] for a in range(len(y)))
        x = x.at[:, neighbors].add(-pushed, mode="promise_in_bounds", wrap_negative_indices=False)
        return jax.lax.dynamic_update_slice_in_dim(x, y, at, axis=1), None

    return _through_chunks(chunk, x, (_positions(group), group.neighbors, inverse, panel))[0]


def _backward(group: Class, inverse, panel, x: Float[Array, "size places"]):
    """Return `L⁻ᵀ x` at the nodes of a class, after the later nodes are solved."""

    def chunk(x, step):
        at, neighbors, inverse, panel = step
        pulled = taken(x, neighbors)
        y = jax.lax.dynamic_slice_in_dim(x, at, neighbors.shape[1], axis=1)
        # the neighbors were eliminated later, so that their entries of the solution are final
        y = y - total(panel[a] * pulled[a] for a in range(len(y))).sum(axis=1)
        return jax.lax.dynamic_update_slice_in_dim(
            x, _times(inverse.transpose(1, 0, 2), y), at, axis=1
        ), None

    return _through_chunks(
        chunk, x, (_positions(group), group.neighbors, inverse, panel), reverse=True
    )[0]


def _through_chunks(step: Callable, carry, chunks: tuple, reverse: bool = False):
    """Process the chunks of a class one after the other, in a loop, or unrolled if they are few."""
    # an iteration copies its operands and results: one acceleration of 40 four-bar loops, 3 chunks,
    # takes 258 µs unrolled and 285 µs as a loop; of 80, 4 chunks, 306 and 380
    return jax.lax.scan(step, carry, chunks, reverse=reverse, unroll=len(chunks[0]) <= 4)


def _positions(group: Class):
    """First position of each chunk."""
    chunks, _, width = group.shape
    return group.start + width * jnp.arange(chunks)


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
        rest = jnp.zeros_like(D[:, i]).at[i].set(1.0) - sum(
            (L[p][i] * x for p, x in enumerate(rows)), jnp.zeros_like(D[:, i])
        )
        rows.append(rest * reach[i])
    return jnp.stack(rows)


def _times(
    matrix: Float[Array, "size size nodes"], x: Float[Array, "size nodes"]
) -> Float[Array, "size nodes"]:
    return total(matrix[:, a] * x[a] for a in range(len(x)))
