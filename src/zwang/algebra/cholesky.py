"""Cholesky factor of a symmetric positive definite matrix, `M = L Lᵀ`, factored once and applied to
many vectors.

Matrices with many rows are factored by LAPACK. For few rows a call of LAPACK costs more than the
arithmetic; these are factored row by row, and a batch pivot by pivot on one array (row, column,
batch), every operation of which runs over the batch in vector registers: a matrix of 3 rows takes
0.05 µs in batches of 64 (0.7 by LAPACK), of 12 rows 1.6 (3.6), of 32 rows 27 (22).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.lapack import cholesky, solve_triangular
from zwang.compile.derivative import CustomDerivative
from zwang.compile.engine import is_native
from zwang.compile.hints import shared_code, with_batch_rule
from zwang.objects.record import Record, field
from zwang.thresholds import ROUND_OFF

SMALL = 32
"""Largest number of rows for which L⁻¹ is formed row by row and products are sums. Measured against
LAPACK and XLA's product, without calls: L⁻¹ of 12 rows takes 0.8 µs (2.5) and `C Cᵀ` 0.3 (1.2); of
24 rows 3.3 (6.7) and 1.7 (8.9); L⁻¹ of 32 rows 14 (22).
"""


class Cholesky(Record):
    """Factor of `M = L Lᵀ`, of which only the lower triangle is read.

    Attributes:
        lower: L, or L⁻¹. In native code it is L with its columns divided by its diagonal, so that
            an unknown of a triangular system depends on one multiply-add of the previous one, and
            on no product with a reciprocal. NaN if M is not positive definite.
        inverted: whether `lower` is L⁻¹.
        order: order of the rows of M in L, in native code; None for the original order.
        reciprocals: reciprocals of the pivots, which are the squares of the diagonal of L, in
            native code.
    """

    lower: Float[Array, "n n"]
    inverted: bool = field(static=True)
    order: Int[Array, " n"] | None = None
    reciprocals: Float[Array, " n"] | None = None

    def __init__(self, M: Float[Array, "n n"]):
        self.inverted = is_inverted(len(M))
        if is_native():
            self.lower, self.reciprocals, self.order = ordered_factor(M)
        else:
            self.lower = inverse_factor(M) if self.inverted else cholesky(M)

    def forward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return `L⁻¹ x`, rows in the order of L."""
        if self.reciprocals is not None:
            return _by_rows(jnp.sqrt(self.reciprocals), self._forward(x))
        return self.lower @ x if self.inverted else self._forward(x)

    def backward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return `L⁻ᵀ x`, rows in the order of M."""
        if self.reciprocals is not None:
            return self._backward(_by_rows(jnp.sqrt(self.reciprocals), x))
        return self.lower.T @ x if self.inverted else self._backward(x)

    def solve(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """`M⁻¹ x`."""
        if self.reciprocals is not None:
            return self._backward(_by_rows(self.reciprocals, self._forward(x)))
        return self.backward(self.forward(x))

    def _forward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        x = x if self.order is None else x[self.order]
        return solve_triangular(self.lower, x, lower=True)

    def _backward(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        x = solve_triangular(self.lower, x, lower=True, trans=1)
        return x if self.order is None else jnp.zeros_like(x).at[self.order].set(x)

    def is_positive(self, diagonal: Float[Array, " n"]) -> Bool[Array, ""]:
        """Return whether M, whose diagonal is given, is positive definite to working precision."""
        # the sum of 1/eigenvalue at unit diagonal, as M⁻¹ = L⁻ᵀ L⁻¹
        spread = jnp.sum(self.forward(jnp.diag(jnp.sqrt(jnp.abs(diagonal)))) ** 2)
        # a matrix counts as positive definite if its smallest eigenvalue, at unit diagonal, exceeds
        # round-off: the factor is that of a matrix that differs by a few 1e-16, so that a singular
        # matrix has an eigenvalue of that size, although its last pivot may be as large as 1e-9
        return jnp.all(jnp.isfinite(self.lower)) & (spread * ROUND_OFF < 1)

    def pivots(self) -> Float[Array, " n"]:
        """Squares of the diagonal of L."""
        if self.reciprocals is not None:
            return 1 / self.reciprocals
        return jnp.diag(self.lower) ** (-2 if self.inverted else 2)

    def log_det(self) -> Float[Array, ""]:
        """`log det M`."""
        return jnp.sum(jnp.log(self.pivots()))


class Inverse(Record):
    """`M⁻¹` for iterations that correct their errors. It is formed up to `SMALL` rows, which costs
    the round-off of its largest entries and halves the number of calls.

    Attributes:
        factor: Cholesky factor of M.
        formed: M⁻¹, or None.
    """

    factor: Cholesky
    formed: Float[Array, "n n"] | None

    def __init__(self, M: Float[Array, "n n"]):
        self.factor = Cholesky(M)
        self.formed = gram(self.factor.lower.T) if self.factor.inverted else None

    def solve(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """`M⁻¹ x`."""
        return _inverse_times(self, x)

    def log_det(self) -> Float[Array, ""]:
        """`log det M`."""
        return self.factor.log_det()


@shared_code
def _inverse_times(inverse: Inverse, x: Float[Array, " n"]) -> Float[Array, " n"]:
    if inverse.formed is None:
        return inverse.factor.solve(x)
    return product(inverse.formed, x)


def product(S: Float[Array, "n n"], x: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return `S x` for a symmetric matrix, up to `SMALL` rows as a sum of its columns, which the
    compiler fuses with neighboring operations.
    """
    return jnp.sum(S * x[:, None], axis=0) if is_inverted(len(S)) else S @ x


def is_inverted(rows: int) -> bool:
    """Return whether the inverse of the factor is formed: for few rows, and not in native code."""
    return rows <= SMALL and not is_native()


def lower_inverse(M: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return `L⁻¹` with `M = L Lᵀ`, rows in the order of M; NaN if M is not positive definite."""
    if is_inverted(len(M)):
        return inverse_factor(M)
    return solve_triangular(cholesky(M), jnp.eye(len(M), dtype=M.dtype), lower=True)


def _by_rows(factors: Float[Array, " n"], x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
    """Multiply each row of x by its factor."""
    return factors.reshape(-1, *[1] * (x.ndim - 1)) * x


@jax.jit
def zwang_ordered_factor(
    M: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, " n"], Int[Array, " n"]]:
    """Return L with a unit diagonal, D⁻¹ and an order of rows with `M[order][:, order] = L D Lᵀ`.
    Native code replaces this function by its name, and chooses an order with little fill-in; the
    version here uses the order of M.
    """
    L = cholesky(M)
    root = jnp.diag(L)
    return L / root, root**-2, jnp.arange(len(M))


@CustomDerivative
def ordered_factor(
    M: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, " n"], Int[Array, " n"]]:
    """`zwang_ordered_factor`, whose derivative has the order of its result."""
    return zwang_ordered_factor(M)


@ordered_factor.def_jvp
def _ordered_factor_jvp(primals, tangents):
    """With `X = L⁻¹ dM L⁻ᵀ`, rows and columns of dM in the order of L: `dL = L Φ`, Φ the part of
    `X D⁻¹` below its diagonal, and `dD⁻¹ = −D⁻² diag X`.
    """
    L, reciprocals, order = ordered_factor(*primals)
    dM = jnp.tril(tangents[0])
    dM = (dM + jnp.tril(dM, -1).T)[order][:, order]
    left = solve_triangular(L, dM, lower=True)
    X = solve_triangular(L, left.T, lower=True)
    change = L @ jnp.tril(X * reciprocals, -1), -(reciprocals**2) * jnp.diag(X), None
    return (L, reciprocals, order), change


def pairs(pattern: Bool[np.ndarray, "m n"]) -> tuple[tuple[int, ...], ...] | None:
    """Return i, j and k of all products `C_ik C_jk` that can differ from zero, or None if they are
    not few.
    """
    # Few are an eighth of all: in batches of 32, 102 of 4050 products of 15 rows take 11 µs, and a
    # matrix product 28 to 99.
    if 8 * np.sum(np.sum(pattern, axis=0) ** 2) > len(pattern) * pattern.size:
        return None
    columns = [np.flatnonzero(column).tolist() for column in pattern.T]
    found = [(i, j, k) for k, rows in enumerate(columns) for i in rows for j in rows]
    return tuple(zip(*found, strict=True)) or ((), (), ())


@CustomDerivative
def gram(
    C: Float[Array, "m n"], pairs: tuple[tuple[int, ...], ...] | None = None
) -> Float[Array, "m m"]:
    """Return `C Cᵀ`; for many rows, or in a batch, as the sum of the products listed in `pairs`, if
    given.
    """
    return _gram(pairs)(C)


@gram.def_jvp
def _gram_jvp(primals, tangents):
    half = tangents[0] @ primals[0].T
    return gram(*primals), half + half.T


@CustomDerivative
def inverse_factor(M: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return `X = L⁻¹` with `M = L Lᵀ`, NaN if M is not positive definite, from the lower triangle
    of M.
    """
    return _inverse_factor(M) if M.size else M


@inverse_factor.def_jvp
def _inverse_factor_jvp(primals, tangents):
    """Return `dX = −Φ(X dM Xᵀ) X`, where Φ is the lower triangle with half of the diagonal."""
    X, dM = inverse_factor(*primals), jnp.tril(tangents[0])
    turned = X @ (dM + jnp.tril(dM, -1).T) @ X.T
    return X, -(jnp.tril(turned) - 0.5 * jnp.diag(jnp.diag(turned))) @ X


@functools.cache
def _gram(pairs):
    def added(C):
        i, j, k = np.array(pairs, int)  # of integers even where there are no pairs
        return jnp.zeros((len(C), len(C)), C.dtype).at[i, j].add(C[i, k] * C[j, k])

    known = (lambda C: C @ C.T) if pairs is None else added

    @with_batch_rule(jax.vmap(known))
    def alone(C):
        if not is_inverted(len(C)):
            return known(C)
        columns = C.T
        return jnp.sum(columns[:, :, None] * columns[:, None, :], axis=0)

    return alone


def _inverse_factor_first(M: Float[Array, "batch n n"]) -> Float[Array, "batch n n"]:
    return jnp.moveaxis(_eliminated(jnp.moveaxis(M, 0, -1)), -1, 0)


@with_batch_rule(_inverse_factor_first)
def _inverse_factor(M):
    return _row_by_row(M)


def _row_by_row(M: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return `L⁻¹`: row j of `[Lᵀ | L⁻¹]` is row j of `[M | I]` minus its multiples of the rows
    above, divided by √pivot. Entries to the left of the diagonal of Lᵀ are not used.
    """
    n = len(M)
    given = jnp.concatenate([M.T, jnp.eye(n, dtype=M.dtype)], axis=1)

    def turn(j, rows):
        # without the barrier the compiler computes the sum once for the row and once for its pivot
        row = jax.lax.optimization_barrier(given[j] - jnp.sum(rows[:, j, None] * rows, axis=0))
        return rows.at[j].set(row / jnp.sqrt(row[j]))

    return jax.lax.fori_loop(0, n, turn, jnp.zeros_like(given))[:, n:]


def _eliminated(M: Float[Array, "n n batch"]) -> Float[Array, "n n batch"]:
    """Return `L⁻¹` by Gaussian elimination on `[M | I]`, in the place of M, with the row of each
    pivot divided by √pivot.

    The columns of I computed so far are to the left of the pivot, those of M to the right. As a
    loop the program is small, and the compiler computes the result of each iteration once and not
    once for each use.
    """
    n = len(M)
    i = jnp.arange(n)[:, None]

    def turn(j, M):
        r = 1 / jnp.sqrt(M[j, j])
        row = jnp.where(i == j, r, M[j] * r)
        below = jnp.where(i > j, M[:, j] * r, 0.0)
        return jnp.where(
            i[:, None] == j, row, jnp.where((i == j)[None], 0.0, M) - below[:, None] * row
        )

    lower = (i >= i.T)[..., None]
    X = jax.lax.fori_loop(0, n, turn, jnp.where(lower, M, jnp.swapaxes(M, 0, 1)))
    return jnp.where(lower, X, 0.0)
