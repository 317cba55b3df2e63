"""Abstract pseudoinverse: factor C once, then apply C⁺ and (C⁺)ᵀ to many vectors.

The derivative is the same for all methods and is implemented here. With x = C⁺ r and C of locally
constant rank (Golub and Pereyra 1973, SIAM J. Numer. Anal. 10, 413-432),

    dx = C⁺ (dr − dC x) + C⁺ C⁺ᵀ dCᵀ (r − C x) + (I − C⁺ C) dCᵀ C⁺ᵀ x,

which contains only products with C⁺, so it stays finite wherever C⁺ does: at equal singular values
and, with the rank threshold of the method, at rank loss. Where C changes, the first two terms are
taken together,

    C⁺ C⁺ᵀ (Cᵀ (dr − dC x) + dCᵀ (r − C x)),

because `dr − dC x` is outside the range of C if rows are dependent, even for consistent r, and not
every method accepts this (`Proximal` would lose ten digits).
"""

from __future__ import annotations

import abc
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.cholesky import Cholesky
from zwang.algebra.pseudoinverse.certificate import (
    Certified,
    certified_direct,
    least_singular_value,
)
from zwang.compile.derivative import CustomDerivative
from zwang.errors import ModelError
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import Record, replace
from zwang.thresholds import LARGEST_SIZE, LEAST_SIZE, RESOLVED

VOLUME_DAMPING = RESOLVED
"""μ of `AbstractFactor.log_det` for rows of unit length, equal to that of `Proximal`, whose factor
contains it.
"""


def real_matrix(C: Array) -> Array:
    """Return C unchanged if it is a matrix of real numbers.

    Raises:
        ModelError: for another shape, and for complex numbers, of which every method would use the
            transpose for the adjoint.
    """
    if jnp.ndim(C) != 2:
        raise ModelError(f"C has shape {jnp.shape(C)}, expected a matrix (rows, columns).")
    if jnp.iscomplexobj(C):
        raise ModelError(
            "C has complex entries, expected real ones: state real and imaginary parts as rows and "
            "columns of their own, [[Re, -Im], [Im, Re]]."
        )
    return jnp.asarray(C, float) if not jnp.issubdtype(C.dtype, jnp.floating) else C


def at_unit_size(C: Array) -> tuple[Array, Array]:
    """Return C divided by its largest entry, so that squares neither overflow nor vanish, and the
    divisor of the quotient's pseudoinverse.
    """
    C = real_matrix(C)
    largest = jnp.max(jnp.abs(C), initial=0.0)
    size = jnp.where(largest > 0, largest, 1.0)
    return C / size, size


def refuse_squares(C: Array) -> Array:
    """Return C unchanged, for a method that squares its entries and leaves the choice of units to
    its caller.

    Raises:
        ModelError: if the squares of known entries overflow or vanish.
    """
    C = real_matrix(C)
    if is_concrete(C):
        largest = float(np.max(np.abs(C), initial=0.0))
        if np.isfinite(largest) and largest > 0 and not LEAST_SIZE < largest < LARGEST_SIZE:
            raise ModelError(
                f"C has entries of size {largest:.0e}, whose squares are no numbers of float64; "
                "divide it by its size before, and multiply its pseudoinverse by 1/size."
            )
    return C


class AbstractFactor(Record):
    """Factored matrix C (m × n) that applies its Moore-Penrose inverse."""

    @abc.abstractmethod
    def solve(self, r: Float[Array, " m"]) -> Float[Array, " n"]:
        """`C⁺ r`."""

    @abc.abstractmethod
    def solve_transpose(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """`(C⁺)ᵀ x`."""

    def estimate(self, r: Float[Array, " m"]) -> Float[Array, " n"]:
        """`C⁺ r` for residuals that are taken once more, by `refine`."""
        return self.solve(r)

    def refine(self, r, size: Float[Array, ""], estimated: bool) -> Float[Array, " n"]:
        """`C⁺ r`, which need be no closer than the round-off of a size; `estimated` if r is what
        `estimate` has left.
        """
        return self.solve(r)

    def within(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return the component of r in the range of C, for a method whose `solve` needs it."""
        return r

    @abc.abstractmethod
    def rank(self) -> Int[Array, ""]:
        """Return the numerical rank of C by the threshold of the method."""

    @abc.abstractmethod
    def matrix(self) -> Float[Array, "n m"]:
        """Return `C⁺` as a matrix, valid for all r."""

    def certified(self, C: Float[Array, "m n"], r, terms) -> Certified:
        """`C⁺ r` and how good it is, for r whose entries are sums of `terms`; states on their
        constraints only.
        """
        found = certified_direct(C, r, terms, self.solve)
        return replace(found, multipliers=self.solve_transpose(found.solution))

    def least_singular_value(self, C: Float[Array, "m n"]) -> Float[Array, ""]:
        """Smallest singular value of C that is not a redundancy, as an estimate."""
        return least_singular_value(C, _damped(C).solve)

    def log_det(self, C: Float[Array, "m n"]) -> Float[Array, ""]:
        """`log det (C Cᵀ + μ I)`, μ = `VOLUME_DAMPING`: smooth, and about −23 lower for every rank
        that is lost.
        """
        return _damped(C).log_det() if C.size else jnp.zeros(())


def _damped(C: Float[Array, "m n"]) -> Cholesky:
    """`C Cᵀ + μ I`, μ = `VOLUME_DAMPING`, factored."""
    return Cholesky(C @ C.T + VOLUME_DAMPING * jnp.eye(len(C)))


class MatrixFactor(AbstractFactor):
    """C⁺ formed as a matrix, with the rank that its computation decided."""

    pinv: Float[Array, "n m"]
    decided_rank: Int[Array, ""]

    def solve(self, r):
        return self.pinv @ r

    def solve_transpose(self, x):
        return self.pinv.T @ x

    def rank(self):
        return self.decided_rank

    def matrix(self):
        return self.pinv


class AbstractPseudoinverse(Record):
    """Abstract method for the Moore-Penrose inverse."""

    @abc.abstractmethod
    def factor(self, C: Float[Array, "m n"]) -> AbstractFactor:
        """Factor C. Not differentiated: `Pseudoinverse` carries the derivative rule."""

    @abc.abstractmethod
    def relaxed(self, violation: Float[Array, ""]) -> AbstractPseudoinverse:
        """Return the method with a rank threshold that is not smaller than the dimensionless
        `violation` of the state.

        A state that is off the manifold by ε has spurious singular values of order ε: rows that are
        dependent on the manifold are independent off it. Enforcing them stops a mechanism that
        should move.
        """

    @abc.abstractmethod
    def flops(self, m: int, n: int) -> float:
        """Return the floating-point operations to form C⁺ for C of shape (m, n)."""

    def knowing(self, pattern: Bool[np.ndarray, "m n"]) -> AbstractPseudoinverse:
        """Return the same method for matrices whose entries can differ from zero only where
        `pattern` is true.
        """
        return self


class AbstractThreshold(AbstractPseudoinverse):
    """Abstract method with a rank decision.

    Attributes:
        threshold: fraction of a size below which numbers count as zero.
        relaxation: the threshold becomes at least this times the violation of the state.
    """

    threshold: Float[Array, ""] | float = 1e-10
    relaxation: float = 1.0

    def relaxed(self, violation):
        threshold = jnp.maximum(self.threshold, self.relaxation * violation)
        return dataclasses.replace(self, threshold=threshold)


class Pseudoinverse(Record):
    """C⁺ of one matrix by one method, differentiable in C and in what it is applied to.

    Args:
        method: any `AbstractPseudoinverse`.
        C: matrix, shape (m, n).
    """

    C: Float[Array, "m n"]
    factor: AbstractFactor

    def __init__(self, method: AbstractPseudoinverse, C: Float[Array, "m n"]):
        self.C = C
        if C.size:
            self.factor = method.factor(jax.lax.stop_gradient(C))
        else:  # no rows or no columns: nothing for a method to decide
            self.factor = MatrixFactor(jnp.zeros(C.shape[::-1]), jnp.zeros((), int))

    def solve(self, r: Float[Array, " m"]) -> Float[Array, " n"]:
        """`C⁺ r`, shape (n,)."""
        return _apply(self.factor, self.C, r)

    def solve_any(self, r: Float[Array, " m"]) -> Float[Array, " n"]:
        """`C⁺ r` for r in the range of C or not, as a unit residual of dependent rows is not."""
        fixed = jax.lax.stop_gradient(r)
        return _apply(_Known(self.factor, self.factor.solve(self.factor.within(fixed))), self.C, r)

    def solve_transpose(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        """`(C⁺)ᵀ x`, shape (m,)."""
        return _apply(_Transposed(self.factor), self.C.T, x)

    def estimate(self, r: Float[Array, " m"]) -> Float[Array, " n"]:
        """`C⁺ r` for residuals that are taken once more, by `refine`."""
        found = self.factor.estimate(jax.lax.stop_gradient(r))
        return _apply(_Known(self.factor, found), self.C, r)

    def refine(self, r, size: Float[Array, ""], estimated: bool = False) -> Float[Array, " n"]:
        """`C⁺ r`, which need be no closer than the round-off of a size; `estimated` if r is what
        `estimate` has left.
        """
        found = self.factor.refine(*jax.lax.stop_gradient((r, size)), estimated)
        return _apply(_Known(self.factor, found), self.C, r)

    def multipliers(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """λ of least norm with `Cᵀ λ = C⁺ r`, shape (m,)."""
        return self.solve_transpose(self.solve(r))

    def certified(self, r: Float[Array, " m"], terms: Float[Array, " m"]) -> Certified:
        """`C⁺ r` and its multipliers, with their quality; `terms` is the size of what was summed to
        get r. Differentiated as `solve` and `solve_transpose` are.
        """
        fixed = jax.lax.stop_gradient
        found = self.factor.certified(fixed(self.C), fixed(r), fixed(terms))
        x = _apply(_Known(self.factor, found.solution), self.C, r)
        transposed = _Known(_Transposed(self.factor), found.multipliers)
        multipliers = _apply(transposed, self.C.T, x)
        return Certified(x, multipliers, found.quality, found.iterations)

    def least_singular_value(self) -> Float[Array, ""]:
        """Smallest singular value of C that is not a redundancy; not differentiated."""
        if not self.C.size:
            return jnp.zeros(())
        return self.factor.least_singular_value(jax.lax.stop_gradient(self.C))

    def rank(self) -> Int[Array, ""]:
        return self.factor.rank()

    def log_det(self) -> Float[Array, ""]:
        """`log det (C Cᵀ + μ I)`; not differentiated."""
        return self.factor.log_det(self.C)

    def matrix(self) -> Float[Array, "n m"]:
        """`C⁺`, shape (n, m); not differentiated."""
        return self.factor.matrix()


class _Transposed(Record):
    """`(C⁺)ᵀ` in the place of C⁺."""

    factor: AbstractFactor

    def solve(self, x: Array) -> Array:
        return self.factor.solve_transpose(x)

    def matrix(self) -> Float[Array, "m n"]:
        return self.factor.matrix().T


class _Known(Record):
    """C⁺ with a result that is already computed."""

    factor: AbstractFactor | _Transposed
    value: Array

    def solve(self, r: Array) -> Array:
        return self.value

    def matrix(self) -> Array:
        return self.factor.matrix()


@CustomDerivative
def _apply(inverse: Pseudoinverse, C: Array, r: Array) -> Array:
    return inverse.solve(r)


@_apply.def_jvp
def _apply_jvp(primals, tangents):
    inverse, C, r = primals
    _, dC, dr = tangents
    x = _apply(inverse, C, r)
    P = _matrix(inverse, C)
    if dC is None:
        return x, jnp.zeros_like(x) if dr is None else P @ dr
    # x is corrected once more, because its error after the sweeps of `Proximal` would be divided by
    # a singular value
    y = _refined(P, C, r)
    along = -dC @ y if dr is None else dr - dC @ y
    turned = dC.T @ _refined(P.T, C.T, y)
    forcing = C.T @ along + dC.T @ (r - C @ y)
    return x, turned + _refined(P, C, _refined(P.T, C.T, forcing) - C @ turned)


def _refined(P: Array, C: Array, r: Array) -> Array:
    """`C⁺ r` by a matrix P that equals C⁺ except for its damping. Near a singular configuration the
    damping of `Proximal` removes a fraction of x; here the fraction is squared.
    """
    x = P @ r
    return x + P @ (r - C @ x)


@CustomDerivative
def _matrix(inverse: Pseudoinverse, C: Array) -> Array:
    """C⁺ as a matrix with a derivative of its own, so that second and higher derivatives see that
    C⁺ depends on C.
    """
    return inverse.matrix()


@_matrix.def_jvp
def _matrix_jvp(primals, tangents):
    inverse, C = primals
    _, dC = tangents
    P = _matrix(inverse, C)
    if dC is None:
        return P, jnp.zeros_like(P)
    turned = dC.T @ (P.T @ P)
    along = -dC @ P
    return P, P @ (P.T @ (C.T @ along + dC.T @ (jnp.eye(len(C)) - C @ P))) + turned - P @ (
        C @ turned
    )
