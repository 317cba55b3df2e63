"""One level of constraints enforced on top of others: recursive paper, eq. (4.14)-(4.18).

In coordinates weighted by the mass, a = W⁻¹v̇ and H̃ = Ã W with W Wᵀ = M⁻¹, and with the spread L
of what is still free, P = L Lᵀ:

    K = [L 0] [H̃L  R^½]⁺           without clearance (H̃P)⁺ (4.16),
                                   with it P H̃ᵀ(H̃P H̃ᵀ + R)⁻¹ (4.17)
    a ← a + K (b̃ − H̃ a)            (4.14)
    L ← [(I − K H̃) L   K R^½]      P ← (I − K H̃) P (I − K H̃)ᵀ + K R Kᵀ (4.15), (4.18)

It begins with a = M^½M⁻¹F and L = I. Without clearance L = P, the orthogonal projector onto what
the constraints leave free. Because K lies in the range of P, a level leaves those below it
untouched; what they forbid it does not get. Rows of H̃ are brought to unit length first, so that
neither units nor row factors decide what counts as dependent.

Where M may be singular, W = I, a = 0 to begin with, and each level ends with the motion along what
is free, which is (3.4):

    v̇ = a + P (P M P)⁺ P (F − M a)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from zwang.algebra.judgement import row_scale
from zwang.algebra.mass_matrix import AbstractMass, row_lengths
from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.objects.record import Record

ABSOLUTE = SVD(DEPENDENT_ROWS, beside=1.0)
"""Rows have unit length before what is enforced already is taken off them: a level that depends on
others altogether is all round-off, which a threshold beside it would blow up."""


class Weights(Record):
    """The coordinates in which a level is enforced: weighted by the mass, or as they are, which is
    by unit masses, where the mass may be singular.

    Attributes:
        mass: what coordinates are weighted by.
        M: the mass matrix where it may be singular.
        force: F.
    """

    mass: AbstractMass
    M: Float[Array, "nv nv"] | None
    force: Float[Array, " nv"]

    @property
    def singular(self) -> bool:
        return self.M is not None

    def pulled(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`Wᵀ f`, a force in weighted coordinates."""
        return self.mass.weigh(f[None])[0]

    def apply(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M x`."""
        return self.mass.apply(x) if self.M is None else self.M @ x

    def begin(self) -> tuple[Float[Array, " nv"], Float[Array, "nv nv"]]:
        """a and L before the first level."""
        n = len(self.force)
        return (jnp.zeros(n) if self.singular else self.pulled(self.force)), jnp.eye(n)

    def acceleration(
        self, a: Float[Array, " nv"], spread: Float[Array, "nv k"], left, nonideal: ArrayLike = 0.0
    ):
        """`v̇` of a level [unit of v per s], shape (nv,), NaN where the constraints leave a
        direction without mass free.

        Args:
            a, spread: of the level.
            left: directions that the level leaves free.
            nonideal: c, the sum of the forces of nonideal constraints [N, N·m …], shape (nv,).
        """
        if self.M is None:
            return self.mass.unweigh(
                a + spread @ (spread.T @ self.pulled(jnp.zeros_like(a) + nonideal))
            )
        P = spread
        # a singular M needs a decision of rank, which the default damping does not take
        inner = Pseudoinverse(SVD(), P @ self.M @ P)
        moved = a + P @ inner.solve(P @ (self.force + nonideal - self.M @ a))
        # a direction that is free and has no mass has no acceleration; NaN is turned into a
        # sentence by the caller
        return jnp.where(inner.rank() == left, moved, jnp.nan)


class Step(Record):
    """What enforcing one level gives.

    Attributes:
        a, spread: after it.
        gain: K, for rows as given, shape (nv, rows).
        rank: rows that were independent of the levels below.
        missed: `b̃ − Ã v̇` of the rows as given, shape (rows,).
        gave_way: whether a row misses what was asked of it by more than round-off.
    """

    a: Float[Array, " nv"]
    spread: Float[Array, "nv k"]
    gain: Float[Array, "nv rows"]
    rank: Int[Array, ""]
    missed: Float[Array, " rows"]
    gave_way: Bool[Array, " rows"]


def step(
    weights: Weights,
    a: Float[Array, " nv"],
    spread: Float[Array, "nv k"],
    A: Float[Array, "rows nv"],
    b: Float[Array, " rows"],
    root: Float[Array, "rows rows"] | None,
    consistent: float,
    *,
    projector: bool,
) -> Step:
    """Enforce `A v̇ = b` on top of what a and the spread have.

    Args:
        weights, a, spread: of the level below.
        A, b: rows to enforce.
        root: R^½ of their clearance, `None` for rigid rows.
        consistent: relative miss that still counts as met.
        projector: whether the spread is P itself, because no level below has clearance.
    """
    H = weights.mass.weigh(A)
    scale = row_scale(jnp, row_lengths(H))
    # rows of unit length, so that one threshold decides for all units
    H, asked = scale[:, None] * H, scale * b
    # what is left of the rows once lower levels have taken what they forbid
    seen = H @ spread
    if root is None:
        pinv = Pseudoinverse(ABSOLUTE, seen)
        K = spread @ _matrix(pinv)
        left = spread - K @ seen
        # the symmetric form of (4.15): P stays a projector through many levels
        left = left - (left @ H.T) @ K.T if projector else left
    else:
        noise = scale[:, None] * root
        pinv = Pseudoinverse(ABSOLUTE, jnp.concatenate([seen, noise], axis=1))
        K = spread @ _matrix(pinv)[: spread.shape[1]]
        left = jnp.concatenate([spread - K @ seen, K @ noise], axis=1)
    # only what the motion so far misses is asked for, so that lower levels stay as they are
    miss = asked - H @ a
    after = a + K @ miss
    missed = asked - H @ after
    # beside the terms that the residual is made of, as it may be the difference of large numbers
    size = jnp.abs(asked) + jnp.linalg.norm(a)
    divisor = jnp.where(scale > 0, scale, 1.0)
    # a row of zeros that asks for something misses all of it
    rows = jnp.where(scale > 0, missed / divisor, b)
    gave_way = jnp.where(scale > 0, jnp.abs(missed) > consistent * size, b != 0)
    rank = pinv.rank() if root is None else Pseudoinverse(ABSOLUTE, seen).rank()
    return Step(after, left, K * scale, rank, rows, gave_way)


def _matrix(pinv: Pseudoinverse) -> Float[Array, "n m"]:
    """C⁺ as a matrix that is differentiated."""
    return jax.vmap(pinv.solve, out_axes=1)(jnp.eye(len(pinv.C)))
