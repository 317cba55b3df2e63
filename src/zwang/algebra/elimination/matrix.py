"""Sparse constraint matrix, evaluated by one product per color."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from zwang.algebra.elimination.gather import Sums, taken, total
from zwang.objects.record import Record, field


class Layout(Record):
    """Layout of the entries of a matrix, whose columns are grouped in the blocks of the mass
    matrix.

    Columns of one color share no row, so row i has at most one block of each color. The entries are
    an array (color, place in the block, row), and the products `A w` with one w per color and place
    give the whole matrix.

    Args:
        row, block: entries by rows and blocks of columns, shape (entries,).
        color: of each block, shape (blocks,).
        shape: (m, nv).
        size: columns per block.
        spare: whether the last row is an additional row without entries, which makes sums over
            columns cheaper.
    """

    block: Int[Array, "colors m"]
    columns: Sums
    color: Int[Array, " blocks"]
    shape: tuple[int, int] = field(static=True)
    size: int = field(static=True)
    colors: int = field(static=True)

    def __init__(
        self,
        row: np.ndarray,
        block: np.ndarray,
        color: np.ndarray,
        shape: tuple[int, int],
        size: int,
        spare: bool = False,
    ):
        m, nv = shape
        blocks = nv // size
        self.shape, self.size, self.colors = shape, size, int(color.max(initial=0)) + 1
        table = np.zeros((self.colors, m), np.int32)
        table[color[block], row] = (
            block  # a color that a row lacks keeps block 0, where its entry is 0
        )
        self.block, self.color = jnp.asarray(table), jnp.asarray(color, jnp.int32)
        self.columns = Sums(
            block, color[block] * m + row, blocks, self.colors * m, m - 1 if spare else None
        )

    def tests(self) -> Float[Array, "tests nv"]:
        """Vectors w whose products `A w` give the whole matrix: 1 at one place of all blocks of one
        color.
        """
        test = (self.color[:, None] * self.size + jnp.arange(self.size)).ravel()
        return (test == jnp.arange(self.colors * self.size)[:, None]).astype(float)

    def matrix(self, products: Float[Array, "tests m"]) -> SparseMatrix:
        """Return the matrix from its products with `tests`."""
        return SparseMatrix(products.reshape(self.colors, self.size, -1), self)

    def evaluate(
        self, product: Callable[[Float[Array, " nv"]], Float[Array, " m"]]
    ) -> SparseMatrix:
        """Return the matrix from the function of its products `A w`."""
        return self.matrix(jax.vmap(product)(self.tests()))


class SparseMatrix(Record):
    """Sparse matrix (m × nv), or some rows of one.

    It multiplies like an array: `A @ x`, `A.T @ y`, `A[rows]`, `len(A)`, `A.shape`.

    Attributes:
        data: entries (color, place in the block, row), of all rows.
        layout: layout of the entries.
        rows: the selected rows, in order, or None for all.
    """

    data: Float[Array, "colors size m"]
    layout: Layout
    rows: Int[Array, " some"] | None = None
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.layout.shape[1]

    def __len__(self) -> int:
        return self.layout.shape[0] if self.rows is None else len(self.rows)

    def __matmul__(self, x: Float[Array, " nv"]) -> Float[Array, " m"]:
        x = x.reshape(-1, self.layout.size).T
        y = total(
            self.data[c, a] * taken(x[a], self.layout.block[c])
            for c in range(self.layout.colors)
            for a in range(self.layout.size)
        )
        return y if self.rows is None else y[self.rows]

    def __abs__(self) -> SparseMatrix:
        return SparseMatrix(jnp.abs(self.data), self.layout, self.rows)

    @property
    def T(self) -> Transposed:
        return Transposed(self)

    def __getitem__(self, rows) -> SparseMatrix:
        # entries of other rows are kept: dropping them would need a layout, and a program, of its
        # own
        own = jnp.arange(self.layout.shape[0]) if self.rows is None else self.rows
        return SparseMatrix(self.data, self.layout, own[rows])

    def times_lower(self, blocks: Float[Array, "size size blocks"]) -> SparseMatrix:
        """`A Bᵀ` for a matrix B of lower triangular blocks along its diagonal."""
        own = taken(blocks, self.layout.block)
        size = range(len(own))
        rows = [total(own[a, b] * self.data[:, b] for b in range(a + 1)) for a in size]
        return SparseMatrix(jnp.stack(rows, axis=1), self.layout, self.rows)

    def scaled(self, unit: Float[Array, " rows"]) -> SparseMatrix:
        """The matrix with each of its rows multiplied by a number."""
        return SparseMatrix(self.data * self.everywhere(unit), self.layout, self.rows)

    def row_lengths(self) -> Float[Array, " rows"]:
        """Length of each row."""
        length = jnp.sqrt(total(row**2 for row in self.data.reshape(-1, self.data.shape[2])))
        return length if self.rows is None else length[self.rows]

    def everywhere(self, y: Float[Array, " rows"]) -> Float[Array, " m"]:
        """Return a vector over the selected rows as a vector over all rows, 0 elsewhere."""
        return y if self.rows is None else jnp.zeros(self.layout.shape[0]).at[self.rows].set(y)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the matrix as a NumPy array, on explicit conversion only (`np.asarray(A)`), never
        in a product with an array.
        """
        return np.asarray(self.todense(), dtype)

    def todense(self) -> Float[Array, "m nv"]:
        """Return the matrix as an array."""
        return jax.vmap(lambda w: self @ w, out_axes=1)(jnp.eye(self.shape[1]))


class Transposed(Record):
    """Aᵀ."""

    matrix: SparseMatrix

    def __matmul__(self, y: Float[Array, " m"]) -> Float[Array, " nv"]:
        A = self.matrix
        terms = A.data * A.everywhere(y)
        return A.layout.columns(terms.transpose(1, 0, 2).reshape(A.layout.size, -1)).T.ravel()
