"""Proximal sweeps on one Cholesky factor, the default method."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.cholesky import SMALL, Cholesky, Inverse, gram, pairs, product
from zwang.algebra.lapack import qr, singular_values
from zwang.algebra.pseudoinverse.base import (
    VOLUME_DAMPING,
    AbstractFactor,
    AbstractPseudoinverse,
    refuse_squares,
)
from zwang.algebra.pseudoinverse.certificate import (
    SOLVED_ROUND_OFF,
    Certified,
    adjoint,
    certified_gradients,
    least_singular_value,
)
from zwang.compile.hints import traced_once
from zwang.objects.record import field, replace
from zwang.thresholds import AGREEMENT, LAST_DIGIT, ROUND_OFF

LEAST_ROW = 1e-280
"""Lower limit of the squared length of the longest row, so that μ is a normal number and 1/μ is
finite for C = 0, where C⁺ = 0.
"""


class ProximalFactor(AbstractFactor):
    """`C Cᵀ`, and `C Cᵀ + μ I` factored."""

    C: Float[Array, "m n"]
    gram: Float[Array, "m m"]
    damped: Inverse
    mu: Float[Array, ""]
    sweeps: int = field(static=True)
    rank_threshold: float

    def sweep(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return λ with `C Cᵀ λ = r`, by `λ ← λ + (C Cᵀ + μ I)⁻¹ (r − C Cᵀ λ)`, with the relative
        error `(μ/(σ²+μ))^sweeps`.
        """

        return swept(self.gram, self.damped, r, self.sweeps)

    def within(self, r):
        # the component outside the range is (μ (C Cᵀ + μ I)⁻¹)² r; 1/μ² would overflow for C = 0
        return r - self.mu * self.damped.solve(self.mu * self.damped.solve(r))

    def solve(self, r):
        return self.C.T @ self.sweep(r)

    def estimate(self, r):
        return self.C.T @ self.damped.solve(r)

    def refine(self, r, size, estimated):
        # together with the sweep of the estimate at most as many as two corrections take
        most = 2 * self.sweeps - 1 if estimated else self.sweeps
        return self.C.T @ refined(self.gram, self.damped, r, ROUND_OFF * size, most)

    def solve_transpose(self, x):
        # after the sweeps, λ has a component of round-off/μ in the null space, which does not
        # affect Cᵀλ, but λ is not of least norm
        return self.within(self.sweep(self.C @ x))

    def certified(self, C, r, terms):
        return _least_norm(self, certified_gradients(C, r, terms, self.damped.solve), C, terms)

    def least_singular_value(self, C):
        return least_singular_value(C, self.damped.solve)

    def rank(self):
        longest = jnp.max(jnp.diag(self.gram), initial=0.0)

        def counted():
            values = singular_values(jax.lax.stop_gradient(self.C))
            return jnp.sum(values > self.rank_threshold * jnp.sqrt(longest))

        m = len(self.gram)
        if m <= SMALL:
            return counted()
        clearly = jnp.maximum(VOLUME_DAMPING, 4 * self.rank_threshold**2) * longest
        full = jnp.all(jnp.isfinite(Cholesky(self.gram - clearly * jnp.eye(m)).lower))
        return jax.lax.cond(full, lambda: jnp.asarray(m), counted)

    def log_det(self, C):
        return self.damped.log_det()

    def matrix(self):
        return jax.vmap(lambda unit: self.solve(self.within(unit)), out_axes=1)(
            jnp.eye(len(self.gram))
        )


class TallFactor(AbstractFactor):
    """A C with many more rows than columns, `C = Q R`: the factor of R, whose rows are as many as
    the columns. The work grows with the number of rows, not with its cube.

    The shorter `(Cᵀ C + μ I)⁻¹ Cᵀ` would magnify round-off by 1/μ along motions that no row
    concerns.
    """

    Q: Float[Array, "m n"]
    inner: ProximalFactor

    def _precondition(self, y: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return `(C Cᵀ + μ I)⁻¹ y` without its component outside the range of Q."""
        return self.Q @ self.inner.damped.solve(self.Q.T @ y)

    def within(self, r):
        return self.Q @ self.inner.within(self.Q.T @ r)

    def solve(self, r):
        return self.inner.solve(self.Q.T @ r)

    def estimate(self, r):
        return self.inner.estimate(self.Q.T @ r)

    def refine(self, r, size, estimated):
        return self.inner.refine(self.Q.T @ r, size, estimated)

    def solve_transpose(self, x):
        return self.Q @ self.inner.solve_transpose(x)

    def certified(self, C, r, terms):
        return _least_norm(self, certified_gradients(C, r, terms, self._precondition), C, terms)

    def least_singular_value(self, C):
        return least_singular_value(C, self._precondition)

    def rank(self):
        return self.inner.rank()

    def log_det(self, C):
        m, n = C.shape
        return self.inner.log_det(C) + (m - n) * jnp.log(self.inner.mu)

    def matrix(self):
        return self.inner.matrix() @ self.Q.T


def _least_norm(
    factor: AbstractFactor, found: Certified, C: Float[Array, "m n"], terms: Float[Array, " m"]
) -> Certified:
    """Return a certified solution with multipliers of least norm, where they are still those of the
    solution: for nearly parallel rows the filter, whose limit is √μ, removes needed components.
    """
    least, size = factor.within(found.multipliers), jnp.linalg.norm(found.solution)
    # the component of λ that is removed as part of the null space of Cᵀ may change `Cᵀλ` by at most
    # `AGREEMENT` of it, or by the round-off of the terms if `Cᵀλ` itself is such round-off
    allowed = jnp.maximum(AGREEMENT * size, SOLVED_ROUND_OFF * jnp.max(terms, initial=0.0))
    kept = jnp.linalg.norm(adjoint(C, least) - found.solution) <= allowed
    return replace(found, multipliers=jnp.where(kept, least, found.multipliers))


@traced_once
def swept(
    gram: Float[Array, "m m"], damped: Inverse, r: Float[Array, " m"], sweeps: int
) -> Float[Array, " m"]:
    """Iterate `λ ← λ + (G + μ I)⁻¹ (r − G λ)` from λ = 0, for a Gram matrix G whose rows may be
    dependent.
    """
    multipliers = damped.solve(r)
    for _ in range(
        sweeps - 1
    ):  # unrolled: as a loop it copies the factor and takes 2 µs more at 12 rows
        multipliers = multipliers + damped.solve(r - product(gram, multipliers))
    return multipliers


@traced_once
def refined(
    gram: Float[Array, "m m"],
    damped: Inverse,
    r: Float[Array, " m"],
    enough: Float[Array, ""],
    most: int,
) -> Float[Array, " m"]:
    """Iterate as in `swept` until the residual is at most `enough`, or the last digit of r."""
    small = jnp.maximum(LAST_DIGIT**2 * (r @ r), enough**2)

    def sweep(carry):
        multipliers, missing, k = carry
        multipliers = multipliers + damped.solve(missing)
        return multipliers, r - product(gram, multipliers), k + 1

    def unfinished(carry):
        _, missing, k = carry
        # NaN continues until `most` and appears in the result
        return (k == 0) | ((k < most) & ~(missing @ missing <= small))

    return jax.lax.while_loop(unfinished, sweep, (jnp.zeros_like(r), r, 0))[0]


class Proximal(AbstractPseudoinverse):
    """Proximal-point iteration for `C Cᵀ λ = r`, `C⁺ r = Cᵀ λ`, on one Cholesky factor of `C Cᵀ + μ
    I`.

    There is no rank decision: a component with singular value σ is corrected by the fraction
    `1 − (μ/(σ²+μ))^sweeps`, which decreases smoothly from one to zero around σ = √μ. For r in the
    range of C, also with redundant rows, the iteration converges to the solution of least norm. For
    contradictory r the multipliers grow like residual/μ: check the residual.

    Attributes:
        damping: μ, relative to the longest row squared; 1e-10, by which σ = 1e-5 is the limit of
            resolved singular values, and the relative error at σ = 1 is 1e-30.
        sweeps: number of sweeps; 3.
        relaxation: κ in `μ + κ violation²` (Levenberg-Marquardt); 1: a singular value below the
            violation is not trusted.
        rank_threshold: singular values above this times the longest row count in `rank()`; 1e-8,
            for reports only.
        pairs: products whose sum is `C Cᵀ`, if they are known and few (`knowing`).

    Reference: Parikh and Boyd (2014), Proximal Algorithms, section 4.1 (iterative refinement).
    """

    damping: Float[Array, ""] | float = 1e-10
    sweeps: int = field(static=True, default=3, metadata={"least": 1})
    relaxation: float = 1.0
    rank_threshold: float = 1e-8
    pairs: tuple[tuple[int, ...], ...] | None = field(static=True, default=None)

    def knowing(self, pattern):
        return dataclasses.replace(self, pairs=pairs(pattern))

    def factor(self, C):
        # without the barrier the compiler recomputes C, including divisions, for every entry of C
        # Cᵀ
        C = jax.lax.optimization_barrier(refuse_squares(C))
        m, n = C.shape
        if m <= max(SMALL, 2 * n):
            G = gram(C, self.pairs)
            return self._factored(C, G, jnp.max(jnp.diag(G), initial=LEAST_ROW))
        Q, R = qr(C)
        longest = jnp.max(jnp.sum(C * C, axis=1), initial=LEAST_ROW)
        return TallFactor(Q, self._factored(R, gram(R), longest))

    def _factored(self, C, G, longest: Float[Array, ""]) -> ProximalFactor:
        mu = self.damping * longest
        damped = Inverse(G + mu * jnp.eye(len(G)))
        return ProximalFactor(C, G, damped, mu, self.sweeps, self.rank_threshold)

    def relaxed(self, violation):
        return dataclasses.replace(self, damping=self.damping + self.relaxation * violation**2)

    def flops(self, m, n):
        """`m²n` for C Cᵀ (symmetric), `m³/3` for Cholesky, then per column of C⁺ the sweeps and one
        product with Cᵀ.
        """
        return (
            m * m * n
            + m**3 / 3
            + m * (self.sweeps * 2 * m * m + (self.sweeps - 1) * 2 * m * m + 2 * m * n)
        )
