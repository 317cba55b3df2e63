"""Newton step of an implicit method for sparse forces and constraints, without an nv × nv matrix.

    K u + Aᵀ λ = f,    A u = 0,    K = M − X

X is the derivative of the force over a step, which is sparse like the springs and dampers that
couple neighbors. The method needs one factor, in the order of an elimination over velocities, of

    H = ½ (K + Kᵀ) + AᵀDA / μ

with D as in the penalty method, where each row has unit length in the metric of M⁻¹. Sweeps of the
method of multipliers then reduce `A u` to zero. Because their residual is that of K, they also
account for the skew part that ½ (K + Kᵀ) omits (gyroscopic forces).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from zwang.algebra.elimination.elimination import Elimination, eliminated, pairs
from zwang.algebra.elimination.factor import Factor, factor_entries
from zwang.algebra.elimination.gather import Sums, taken
from zwang.algebra.elimination.matrix import Layout, SparseMatrix
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.sparsity_pattern import colors
from zwang.objects.record import Record


class NewtonPlan(Record):
    """Structural nonzeros of K and H, and the order of elimination of H, determined on the host.

    Args:
        A: layout of A, with its entries by rows and blocks of columns.
        row, block: entries of K by blocks of rows and of columns.
        size: velocities of a block.

    Attributes:
        layout: of K.
        elimination: of H.
        own: sums ½ (K + Kᵀ) below the diagonal from the entries of K.
        diagonal: where K has its diagonal among its entries.
        products: sums AᵀDA below the diagonal from the products of entries of `√D A`; `first` and
            `second` say which.
    """

    layout: Layout
    elimination: Elimination
    own: Sums
    diagonal: Int[Array, " nv"]
    products: Sums
    first: Int[Array, " products"]
    second: Int[Array, " products"]

    def __init__(
        self,
        A: Layout,
        entries: tuple[np.ndarray, np.ndarray],
        row: np.ndarray,
        block: np.ndarray,
        size: int,
    ):
        nv, each = A.shape[1], np.arange(size)
        blocks = nv // size
        key = np.unique(
            np.concatenate(
                [row * np.int64(blocks) + block, np.arange(blocks) * np.int64(blocks + 1)]
            )
        )
        # the diagonal is added to the pattern, because it contains M even where the force has no
        # derivative
        row, block = key // blocks, key % blocks
        place = (row[:, None] * size + each).ravel(), np.repeat(block, size)
        color = colors(*place, nv, blocks)
        self.layout = Layout(*place, color, (nv, nv), size)
        # row and column of every entry of the blocks
        within = np.arange(size)
        corners = row[:, None, None] * size + within[:, None], block[:, None, None] * size + within
        i, j = (np.broadcast_to(x, (len(row), size, size)).ravel() for x in corners)
        k = _flat(self.layout, i, j)

        a_row, a_block = entries
        a_row, column = np.repeat(a_row, size), (a_block[:, None] * size + each).ravel()
        second, first, a, b = pairs(column, a_row)
        products = _flat(A, a_row, column)

        given = len(i)
        high, low = np.concatenate([i, j, second]), np.concatenate([j, i, first])
        # velocities of one body should form one node, though their direct neighbors may differ
        order, later, entry = eliminated(high, low, nv, _two_steps(high, low, nv))
        # both K and Kᵀ were listed first, the products of A after them
        own, other = later[: 2 * given], later[2 * given :]
        self.elimination, lower, count = order, len(order.outer), int(own.sum())
        self.own = Sums(entry[:count], np.tile(k, 2)[own], lower, self.layout.colors * size * nv)
        self.diagonal = jnp.asarray(_flat(self.layout, np.arange(nv), np.arange(nv)), jnp.int32)
        self.first, self.second = (jnp.asarray(products[x[other]], jnp.int32) for x in (a, b))
        self.products = Sums(
            entry[count:], np.arange(len(entry) - count), lower, len(entry) - count
        )

    def factored(
        self, K: Callable, A: SparseMatrix, scale: Float[Array, " m"], method: Proximal
    ) -> SparseNewton:
        """Factor H from the products `K w`; √D is `scale`."""
        K_ = self.layout.evaluate(K)
        C = SparseMatrix(A.data * scale, A.layout)
        k, c = K_.data.ravel(), C.data.ravel()
        outer = (
            0.5 * self.own(k)
            + self.products(taken(c, self.first) * taken(c, self.second)) / method.damping
        )
        squares = C.layout.columns(
            (C.data**2).transpose(1, 0, 2).reshape(C.layout.size, -1)
        ).T.ravel()
        diagonal = self.elimination.ordered(
            taken(k, self.diagonal) + squares / method.damping, fill=1.0
        )
        return SparseNewton(K_, C, factor_entries(self.elimination, outer, diagonal), method)


class SparseNewton(Record):
    """`f ↦ u` at one state; NaN where H is not positive definite.

    Attributes:
        K: the matrix, with its entries only.
        C: `√D A`.
        factor: of H.
        method: μ and the number of sweeps.
    """

    K: SparseMatrix
    C: SparseMatrix
    factor: Factor
    method: Proximal

    def solve(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """u by `u ← u + H⁻¹ (f − K u − Cᵀ(λ + C u / μ))`, `λ ← λ + C u / μ`."""
        order, mu = self.factor.elimination, self.method.damping

        def sweep(_, carry):
            u, force = carry  # λ is represented by its force Cᵀλ: λ itself is not needed
            # the residual is that of K itself, so that the sweeps also correct the asymmetric part
            # that H leaves out
            missing = f - self.K @ u - force - self.C.T @ (self.C @ u) / mu
            u = u + order.given(self.factor.solve(order.ordered(missing)))
            return u, force + self.C.T @ (self.C @ u) / mu

        return jax.lax.fori_loop(
            0, self.method.sweeps, sweep, (jnp.zeros_like(f), jnp.zeros_like(f))
        )[0]


def _two_steps(i: np.ndarray, j: np.ndarray, nv: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbors of neighbors of each velocity. All velocities of a body have the same
    ones, but need not have the same direct neighbors (no row of a pin joint has both x and y).
    """
    from scipy.sparse import coo_array, csr_array

    one = csr_array((np.ones(len(i), np.int32), (i, j)), (nv, nv))
    two = coo_array(one @ one)
    return two.row, two.col


def _flat(layout: Layout, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Places of entries in the flat array (color, place in the block, row)."""
    block, within = np.divmod(column, layout.size)
    return (np.asarray(layout.color)[block] * layout.size + within) * layout.shape[0] + row
