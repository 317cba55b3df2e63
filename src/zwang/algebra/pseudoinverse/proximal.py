"""Proximal sweeps on one Cholesky factor, the default method."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.cholesky import SMALL, Cholesky, Inverse, gram, pairs, product
from zwang.algebra.lapack import singular_values
from zwang.algebra.pseudoinverse.base import (
    VOLUME_DAMPING,
    AbstractFactor,
    AbstractPseudoinverse,
    refuse_squares,
)
from zwang.algebra.pseudoinverse.certificate import (
    SOLVED_ROUND_OFF,
    adjoint,
    certified_gradients,
    least_singular_value,
)
from zwang.compile.hints import traced_once
from zwang.objects.record import field, replace
from zwang.thresholds import AGREEMENT, LAST_DIGIT, ROUND_OFF

LEAST_ROW = 1e-280
"""The longest row squared counts as at least this, so that C = 0 leaves μ a normal number, and 1/μ
finite: then C⁺ = 0.
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
        """λ with `C Cᵀ λ = r`, by `λ ← λ + (C Cᵀ + μ I)⁻¹ (r − C Cᵀ λ)`; error μ/(σ²+μ) to the
        power of the sweeps.
        """

        return swept(self.gram, self.damped, r, self.sweeps)

    def within(self, r):
        # what is outside is the null space of Cᵀ: (μ (C Cᵀ + μ I)⁻¹)² r; 1/μ² would overflow for
        # C = 0
        return r - self.mu * self.damped.solve(self.mu * self.damped.solve(r))

    def solve(self, r):
        return self.C.T @ self.sweep(r)

    def estimate(self, r):
        return self.C.T @ self.damped.solve(r)

    def refine(self, r, size, estimated):
        # with that of the estimate as many as two corrections take, if the residual asks for them
        most = 2 * self.sweeps - 1 if estimated else self.sweeps
        return self.C.T @ refined(self.gram, self.damped, r, ROUND_OFF * size, most)

    def solve_transpose(self, x):
        # the sweeps leave round-off/μ in the null space: harmless to Cᵀλ, but not of least norm
        return self.within(self.sweep(self.C @ x))

    def certified(self, C, r, terms):
        found = certified_gradients(C, r, terms, self.damped.solve)
        least = self.within(found.multipliers)
        # between rows that are nearly parallel the filter, whose border is √μ, takes what is needed
        size = jnp.linalg.norm(found.solution)
        # a correction may itself be the round-off of its terms, and need no closer multipliers
        # what is taken from multipliers as their part in the null space of Cᵀ may change `Cᵀλ` by
        # this part of it; more than that was no part of the null space
        allowed = jnp.maximum(AGREEMENT * size, SOLVED_ROUND_OFF * jnp.max(terms, initial=0.0))
        kept = jnp.linalg.norm(adjoint(C, least) - found.solution) <= allowed
        return replace(found, multipliers=jnp.where(kept, least, found.multipliers))

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


@traced_once
def swept(
    gram: Float[Array, "m m"], damped: Inverse, r: Float[Array, " m"], sweeps: int
) -> Float[Array, " m"]:
    """`λ ← λ + (G + μ I)⁻¹ (r − G λ)` from λ = 0, for a Gram matrix G whose rows may depend on each
    other.
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
    """The iteration of `swept`, until it leaves no more than `enough`, or the last digit of r."""
    small = jnp.maximum(LAST_DIGIT**2 * (r @ r), enough**2)

    def sweep(carry):
        multipliers, missing, k = carry
        multipliers = multipliers + damped.solve(missing)
        return multipliers, r - product(gram, multipliers), k + 1

    def unfinished(carry):
        _, missing, k = carry
        # NaN goes on, and shows
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
        damping: μ, relative to the longest row squared; 1e-10 makes σ = 1e-5 the border and costs
            1e-30 of the answer at σ = 1.
        sweeps: number of sweeps; 3.
        relaxation: κ in `μ + κ violation²` (Levenberg-Marquardt); 1: a singular value below the
            violation is not trusted.
        rank_threshold: singular values above this times the longest row count in `rank()`; 1e-8,
            for reports only.
        pairs: products that `C Cᵀ` is the sum of, if they are known and few (`knowing`).

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
        G = gram(C, self.pairs)
        mu = self.damping * jnp.max(jnp.diag(G), initial=LEAST_ROW)
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
