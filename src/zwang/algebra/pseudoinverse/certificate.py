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
"""Rows of a matrix: an array, or a `SparseMatrix`, which a layer above defines."""
SOLVED_ROUND_OFF = 16 * float(jnp.finfo(float).eps)
"""Round-off of a sum, relative to the sum of the sizes of its terms: 16 units in the last place, of
a few tens of terms."""
GRADIENT_ITERATIONS = 12
"""Most iterations; rows at an angle of 1e-8, at the edge of what float64 can tell, take eight."""
POWER_ITERATIONS = 3
"""Inverse iterations for the smallest singular value, each of which multiplies its share by the
square of what it is smaller than the next; a factor of two is close enough for an estimate. Of 30
matrices, random, chains and with nearly parallel rows, the worst is 1.19 times too large after
three and 1.84 times after two."""
STAGNANT = 1e3
"""From a quality below this on, an iteration that does not halve it is the last: round-off is all
that is left, and more would amplify it."""


class Certified(Record):
    """Solution with an estimate of its quality.

    Attributes:
        solution: `C⁺ r`, shape (n,).
        multipliers: λ with `Cᵀ λ = C⁺ r`, shape (m,).
        quality: largest residual over the round-off of its own terms; at most 1 where the rows are
            solved to round-off, far above it where they contradict each other or where singular
            values are out of reach.
        iterations: how many were taken.
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
    """Residual of `C x = r` over its round-off, the largest of all rows."""
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
        # the residual of contradictory rows lies in the null space, where no step reduces it what C
        # shortens further is in its null space
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

    # with no load there is nothing to divide by: the result is zero, and that is certified
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
    """The same solution with its last digits, by sweeps for as long as they halve the quality.

    Where the residual is a few units of round-off, its share in the null space, which the
    preconditioner magnifies by 1/μ, decides the length of a conjugate direction. A sweep has no
    length to decide, and Cᵀ removes that share.
    """

    def unfinished(carry):
        k, best, halved = carry
        # most sweeps after the iterations. Of 40 right-hand sides each, with a least singular value
        # from 0.6 to 1e-8, the worst quality is 6 after three and 820 without
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
    """The same by a method that decides on a rank: once, and once more on the residual."""
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

    Inverse iteration on the side of x, where redundant rows have no direction: `x ← Cᵀ (C Cᵀ +
    μI)⁻² C x` grows along σ by `(σ / (σ² + μ))²`, largest at σ = √μ, so that the value found is at
    least about √μ; smaller ones are seen by the quality of a solution.

    Args:
        C: rows of unit length.
        precondition: `y ↦ (C Cᵀ + μ I)⁻¹ y`.
    """
    x = jnp.sin(1.0 + jnp.arange(C.shape[1], dtype=float))  # any direction that is not special

    def iterate(_, x):
        y = adjoint(C, precondition(precondition(image(C, x))))
        return y / jnp.maximum(jnp.linalg.norm(y), 1e-300)

    x = jax.lax.fori_loop(0, POWER_ITERATIONS, iterate, x / jnp.maximum(jnp.linalg.norm(x), 1e-300))
    return jnp.linalg.norm(image(C, x))
