"""`C⁺ r` with a certificate, by conjugate gradients that stop at the round-off of the terms of r.

    C Cᵀ λ = r,   x = Cᵀ λ,          preconditioned by (C Cᵀ + μ I)⁻¹

The proximal sweeps of a run leave a fraction `(μ / (σ² + μ))³` of a component with singular value
σ, which is all of it for σ < 1e-5. Conjugate gradients on the same factor need one or two
iterations for ordinary rows, each as expensive as a sweep, and three to six for rows at an angle of
1e-4 to 1e-7. The residual is recomputed in each iteration and never updated, because it is the
certificate: it is compared with the round-off of its terms, and if r itself is round-off nothing is
solved.

The method is only for states on their constraints. A state that is off them by ε has spurious
singular values of size ε, and enforcing these makes a step at a singular configuration fail.

Reference: Craig's method, in Golub and Van Loan (1996), Matrix Computations, 3rd ed., section 10.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from zwang.algebra.rank import PLACED
from zwang.compile.hints import shared_code
from zwang.inputs.arrays import select
from zwang.objects.record import Record

Rows: TypeAlias = Any
"""Rows of a matrix: an array, or a `SparseMatrix`, which is defined in a higher layer."""
SOLVED_ROUND_OFF = 16 * float(jnp.finfo(float).eps)
"""Round-off of a sum, relative to the sum of the sizes of its terms: 16 units in the last place, of
a few tens of terms."""
GRADIENT_ITERATIONS = 12
"""Maximum number of iterations; rows at an angle of 1e-8, the limit of float64, take eight."""
STAGNANT = 1e3
"""Quality below which an iteration that does not halve it is the last one: the residual then is
round-off, which further iterations would amplify."""


class Certified(Record):
    """Solution with an estimate of its quality.

    Attributes:
        solution: `C⁺ r`, shape (n,).
        multipliers: λ with `Cᵀ λ = C⁺ r`, shape (m,).
        quality: largest ratio of a residual to the round-off of its own terms; at most 1 if the
            rows are solved to round-off, and much larger if they contradict each other or if
            singular values are too small to be resolved.
        iterations: number of iterations.
    """

    solution: Float[Array, " n"]
    multipliers: Float[Array, " m"]
    quality: Float[Array, ""]
    iterations: Int[Array, ""]


@shared_code
def image(C: Rows, x: Array) -> Array:
    """`C x`."""
    return C @ x


@shared_code
def adjoint(C: Rows, y: Array) -> Array:
    """`Cᵀ y`."""
    return C.T @ y


@shared_code
def term_sizes(C: Rows, x: Array) -> Array:
    """Return `|C| |x|`, the sizes of the terms whose sums are the entries of `C x`."""
    return abs(C) @ jnp.abs(x)


@shared_code
def quality_of(C: Rows, r: Array, terms: Array, x: Array) -> Float[Array, ""]:
    """Return the ratio of the residual of `C x = r` to its round-off, the largest of all rows."""
    residual = jnp.abs(r - image(C, x))
    noise = SOLVED_ROUND_OFF * (terms + term_sizes(C, x))
    return jnp.max(jnp.where(residual > 0, residual / noise, 0.0), initial=0.0)


def certified_gradients(
    C: Rows, r: Float[Array, " m"], terms: Float[Array, " m"], precondition: Callable
) -> Certified:
    """`C⁺ r` by preconditioned conjugate gradients.

    Args:
        C: rows of unit length, shape (m, n), an array or a `SparseMatrix`.
        r: right-hand side, in the range of C up to its round-off, shape (m,).
        terms: size of the terms whose sum is each entry of r, shape (m,).
        precondition: `y ↦ (C Cᵀ + μ I)⁻¹ y`.
    """
    zero, none = jnp.zeros(C.shape[1], r.dtype), jnp.zeros_like(r)
    at_rest = quality_of(C, r, terms, zero)
    z = precondition(r)
    swept = adjoint(C, z)

    def unfinished(carry):
        k, done = carry[0], carry[-1]
        return ~done & (k < GRADIENT_ITERATIONS)

    def iterate(carry):
        k, x, multipliers, p, rho, best, _ = carry
        Cp = adjoint(C, p)
        # the residual of contradictory rows lies in the null space of Cᵀ, where no step reduces it;
        # p counts as such a direction if |Cᵀ p| is at most `PLACED` |p|
        curved = Cp @ Cp > PLACED**2 * (p @ p)
        alpha = jnp.where(curved, rho / jnp.where(curved, Cp @ Cp, 1.0), 0.0)
        x, multipliers = x + alpha * Cp, multipliers + alpha * p
        residual = r - image(C, x)
        quality = quality_of(C, r, terms, x)
        stagnant = (quality >= 0.5 * best.quality) & (best.quality < STAGNANT)
        better = (quality < best.quality) & jnp.isfinite(quality)
        found = Certified(x, multipliers, quality, k + 1)
        best = select(better, found, best)
        z = precondition(residual)
        new = residual @ z
        p = z + jnp.where(rho > 0, new / jnp.where(rho > 0, rho, 1.0), 0.0) * p
        done = stagnant | (quality <= 1) | ~jnp.isfinite(quality) | ~curved
        return k + 1, x, multipliers, p, new, best, done

    # if r is round-off the result is zero, which is certified, and the loop would divide by zero
    still = at_rest <= 1
    first = Certified(
        jnp.where(still, zero, swept),
        jnp.where(still, none, z),
        jnp.where(still, at_rest, quality_of(C, r, terms, swept)),
        jnp.zeros((), int),
    )
    start = (jnp.zeros((), int), zero, none, z, r @ z, first, still)
    best = jax.lax.while_loop(unfinished, iterate, start)[5]
    return _swept(C, r, terms, precondition, best)


def _swept(C: Rows, r: Array, terms: Array, precondition: Callable, found: Certified) -> Certified:
    """Improve the last digits of a solution by sweeps, as long as each halves the quality.

    If the residual is a few units of round-off, its component in the null space, which the
    preconditioner magnifies by 1/μ, determines the length of a conjugate direction. A sweep has no
    such length, and Cᵀ removes this component.
    """

    def unfinished(carry):
        k, best, halved = carry
        # at most three sweeps after the iterations: for 40 right-hand sides each, with smallest
        # singular values from 0.6 to 1e-8, the worst quality is 6 with them and 820 without
        return halved & (best.quality > 1) & (k < 3)

    def sweep(carry):
        k, best, _ = carry
        z = precondition(r - image(C, best.solution))
        x = best.solution + adjoint(C, z)
        quality = quality_of(C, r, terms, x)
        new = Certified(x, best.multipliers + z, quality, best.iterations + 1)
        better = (quality < best.quality) & jnp.isfinite(quality)
        kept = select(better, new, best)
        return k + 1, kept, quality < 0.5 * best.quality

    # the residual of contradictory rows cannot be reduced
    worthwhile = found.quality < STAGNANT
    return jax.lax.while_loop(unfinished, sweep, (jnp.zeros((), int), found, worthwhile))[1]


def certified_direct(C: Rows, r: Array, terms: Array, solve: Callable) -> Certified:
    """Solve by a method with a rank decision, and once more for the residual."""
    once = solve(r)
    twice = once + solve(r - image(C, once))
    qualities = quality_of(C, r, terms, once), quality_of(C, r, terms, twice)
    better = qualities[1] < qualities[0]
    at_rest = quality_of(C, r, terms, jnp.zeros_like(once))
    x = jnp.where(at_rest <= 1, 0.0, jnp.where(better, twice, once))
    quality = jnp.where(at_rest <= 1, at_rest, jnp.where(better, *qualities[::-1]))
    return Certified(x, jnp.zeros_like(r), quality, jnp.asarray(2))


def least_singular_value(C: Rows, precondition: Callable) -> Float[Array, ""]:
    """Smallest singular value of C that is not the round-off of a redundant row.

    The inverse iteration acts on x, for which redundant rows contribute no direction:
    `x ← Cᵀ (C Cᵀ + μI)⁻² C x` grows along σ by `(σ / (σ² + μ))²`, which is largest at σ = √μ. The
    result is therefore at least about √μ; smaller values show in the quality of a solution.

    Args:
        C: rows of unit length.
        precondition: `y ↦ (C Cᵀ + μ I)⁻¹ y`.
    """
    x = jnp.sin(1.0 + jnp.arange(C.shape[1], dtype=float))  # a generic direction

    def iterate(_, x):
        y = adjoint(C, precondition(precondition(image(C, x))))
        return y / jnp.maximum(jnp.linalg.norm(y), 1e-300)

    # Each iteration multiplies the component of the smallest singular value by its squared ratio to
    # the next one. For 30 matrices (random, chains, nearly parallel rows) the estimate is at most
    # 1.19 times too large after three iterations and 1.84 times after two.
    x = jax.lax.fori_loop(0, 3, iterate, x / jnp.maximum(jnp.linalg.norm(x), 1e-300))
    return jnp.linalg.norm(image(C, x))
