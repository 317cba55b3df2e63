"""LAPACK's factorizations and solutions, which process a batch element by element on a processor
(`zwang.compile.hints.member_by_member`), also in a user's own `jax.vmap`.

Functions that have derivatives have those of their result, of any order and in both modes. The
other functions compute decisions and factors that callers do not differentiate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg
from jaxtyping import Array, Float, Int

from zwang.compile.derivative import CustomDerivative
from zwang.compile.hints import member_by_member, traced_once
from zwang.objects.record import Record


@CustomDerivative
def cholesky(M: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the lower triangular L with `M = L Lᵀ`, NaN if M is not positive definite. Only the
    lower triangle of M is read.
    """
    return _cholesky(M)


@cholesky.def_jvp
def _cholesky_jvp(primals, tangents):
    """`dL = L Φ(L⁻¹ dM L⁻ᵀ)`, Φ the lower triangle with half of the diagonal."""
    L, dM = cholesky(*primals), jnp.tril(tangents[0])
    left = solve_triangular(L, dM + jnp.tril(dM, -1).T, lower=True)
    turned = solve_triangular(L, left.T, lower=True)
    return L, L @ (jnp.tril(turned) - 0.5 * jnp.diag(jnp.diag(turned)))


def solve_triangular(
    T: Float[Array, "n n"], x: Float[Array, "n *k"], *, lower: bool = False, trans: int = 0
) -> Float[Array, "n *k"]:
    """Return `T⁻¹ x`, or `T⁻ᵀ x` with `trans=1`, for a triangular matrix, whose other triangle is
    not read.
    """
    if x.ndim == 1:
        return solve_triangular(T, x[:, None], lower=lower, trans=trans)[:, 0]
    return _solve_columns(T, x, lower, trans)


@traced_once
def _solve_columns(T: Array, x: Array, lower: bool, trans: int) -> Array:
    def times(y):
        used = jnp.tril(T) if lower else jnp.triu(T)
        return (used.T if trans else used) @ y

    fixed = jax.lax.stop_gradient(T)
    ways = [partial(_triangular[lower, turned], fixed) for turned in (trans, 1 - trans)]
    return _linear_solve(times, x, *ways)


class LU(Record):
    """LU factorization of a square matrix.

    Attributes:
        matrix: the factored matrix.
        factor: L and U in one array.
        pivots: row exchanges in the form of `jax.scipy.linalg.lu_factor`.
    """

    matrix: Float[Array, "n n"]
    factor: Float[Array, "n n"]
    pivots: Int[Array, " n"]

    def __init__(self, matrix: Float[Array, "n n"]):
        self.matrix = matrix
        self.factor, self.pivots = _lu(jax.lax.stop_gradient(matrix))

    def solve(self, x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the inverse of the matrix times x."""
        if x.ndim == 1:
            return self.solve(x[:, None])[:, 0]
        return _solve_factored(self.matrix, self.factor, self.pivots, x)

    def determinant(self) -> Float[Array, ""]:
        """Return the determinant of the matrix; not differentiated."""
        exchanges = jnp.sum(self.pivots != jnp.arange(len(self.pivots)))
        return jnp.prod(jnp.diagonal(self.factor)) * jnp.where(exchanges % 2 == 0, 1.0, -1.0)


@traced_once
def _solve_factored(matrix: Array, factor: Array, pivots: Array, x: Array) -> Array:
    ways = [partial(_of_lu[trans], factor, pivots) for trans in (0, 1)]
    return _linear_solve(lambda y: matrix @ y, x, *ways)


def solve(A: Float[Array, "n n"], x: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
    """`A⁻¹ x`."""
    return LU(A).solve(x)


def qr(C: Float[Array, "m n"]) -> tuple[Float[Array, "m k"], Float[Array, "k n"]]:
    """Q and R of the thin QR factorization; not differentiated."""
    return _qr(jax.lax.stop_gradient(C))


def pivoted_qr(C: Float[Array, "m n"]) -> tuple[Array, Array, Int[Array, " n"]]:
    """Q, R and the order of columns of the thin QR factorization with column pivoting; not
    differentiated.
    """
    return _pivoted_qr(jax.lax.stop_gradient(C))


@CustomDerivative
def svd(C: Float[Array, "m n"]) -> tuple[Array, Array, Array]:
    """Return U, σ and Vᵀ of the thin singular value decomposition. Where singular values are equal,
    σ has first derivatives, and U and V have none.
    """
    return _svd(C)


@svd.def_jvp
def _svd_jvp(primals, tangents):
    """With `dP = Uᵀ dC V`: dσ its diagonal, `dU = U Ω + (I − U Uᵀ) dC V / σ`, Ω skew."""
    (C,), (dC,) = primals, tangents
    U, sigma, Vt = svd(C)
    turned, rest = dC @ Vt.T, jnp.where(sigma > 0, sigma, jnp.inf)
    dP = U.T @ turned
    apart = sigma**2 - sigma[:, None] ** 2 + jnp.eye(len(sigma))
    left = (dP * sigma + sigma[:, None] * dP.T) / apart
    right = (sigma[:, None] * dP + dP.T * sigma) / apart
    off = 1 - jnp.eye(len(sigma))
    dU = U @ (off * left) + (turned - U @ dP) / rest
    dVt = (off * right).T @ Vt + ((U.T @ dC) - dP @ Vt) / rest[:, None]
    return (U, sigma, Vt), (dU, jnp.diag(dP), dVt)


@CustomDerivative
def singular_values(C: Float[Array, "m n"]) -> Float[Array, " k"]:
    """Singular values, the largest first."""
    return _singular_values(C)


@singular_values.def_jvp
def _singular_values_jvp(primals, tangents):
    """`dσ = diag(Uᵀ dC V)`."""
    U, sigma, Vt = svd(*primals)
    return sigma, jnp.einsum("ij,ik,jk->j", U, tangents[0], Vt)


def full_svd(C: Float[Array, "m n"]) -> tuple[Array, Array, Array]:
    """U, σ and Vᵀ, U and V square; not differentiated."""
    return _full_svd(jax.lax.stop_gradient(C))


def determinant(A: Float[Array, "n n"]) -> Float[Array, ""]:
    """`det A`; not differentiated."""
    return _determinant(jax.lax.stop_gradient(A))


def _linear_solve(times: Callable, x: Array, way: Callable, back: Callable) -> Array:
    return jax.lax.custom_linear_solve(times, x, lambda _, r: way(r), lambda _, r: back(r))


def _of_columns(function: Callable) -> Callable:
    """Map a function of factors over columns; a batch of columns of one factor is one call."""

    def beside(*args):
        *factors, x = args
        size, n, k = x.shape
        found = single(*factors, jnp.moveaxis(x, 0, 1).reshape(n, size * k))
        return jnp.moveaxis(found.reshape(n, size, k), 1, 0)

    single = member_by_member(function, last_alone=beside)
    return single


_cholesky = member_by_member(lambda M: jnp.linalg.cholesky(M, symmetrize_input=False))
_qr = member_by_member(lambda C: tuple(jnp.linalg.qr(C)))
_pivoted_qr = member_by_member(
    lambda C: tuple(jax.lax.linalg.qr(C, pivoting=True, full_matrices=False))
)
_svd = member_by_member(lambda C: tuple(jnp.linalg.svd(C, full_matrices=False)))
_full_svd = member_by_member(lambda C: tuple(jnp.linalg.svd(C, full_matrices=True)))
_singular_values = member_by_member(lambda C: jnp.linalg.svd(C, compute_uv=False))
_determinant = member_by_member(jnp.linalg.det)
_lu = member_by_member(linalg.lu_factor)
_triangular = {
    (lower, trans): _of_columns(partial(linalg.solve_triangular, lower=lower, trans=trans))
    for lower in (False, True)
    for trans in (0, 1)
}
_of_lu = {
    trans: _of_columns(
        lambda factor, pivots, x, trans=trans: linalg.lu_solve((factor, pivots), x, trans=trans)
    )
    for trans in (0, 1)
}
