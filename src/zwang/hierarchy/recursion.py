"""Recursion that enforces one level of constraints on top of others, recursive paper,
(4.14)-(4.18).

In mass-weighted coordinates, a = W⁻¹v̇ and H̃ = Ã W with W Wᵀ = M⁻¹, and with a factor L (the
spread) of the projector onto the remaining free directions, P = L Lᵀ:

    K = [L 0] [H̃L  R^½]⁺           without clearance (H̃P)⁺ (4.16),
                                   with it P H̃ᵀ(H̃P H̃ᵀ + R)⁻¹ (4.17)
    a ← a + K (b̃ − H̃ a)            (4.14)
    L ← [(I − K H̃) L   K R^½]      P ← (I − K H̃) P (I − K H̃)ᵀ + K R Kᵀ (4.15), (4.18)

It begins with a = M^½M⁻¹F and L = I. Without clearance L = P is the orthogonal projector onto the
directions that the constraints leave free. Because K lies in the range of P, a level does not
change the lower levels, and does not violate them. Rows of H̃ are first scaled to unit length, so
that the decision on dependence does not depend on units or row factors.

If M may be singular, the recursion begins with W = I and a = 0, and each level adds the motion
along the free directions, which is (3.4):

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
"""Rows have unit length before the directions of lower levels are removed from them. A level that
depends entirely on others is then only round-off, which a relative threshold would magnify.
"""


class Weights(Record):
    """Coordinates in which a level is enforced: mass-weighted, or weighted by unit masses if the
    mass may be singular.

    Attributes:
        mass: mass matrix that weights the coordinates.
        M: the mass matrix if it may be singular.
        force: F.
    """

    mass: AbstractMass
    M: Float[Array, "nv nv"] | None
    force: Float[Array, " nv"]

    @property
    def singular(self) -> bool:
        return self.M is not None

    def pulled(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return `Wᵀ f`, a force in weighted coordinates."""
        return self.mass.weigh(f[None])[0]

    def apply(self, x: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """`M x`."""
        return self.mass.apply(x) if self.M is None else self.M @ x

    def begin(self) -> tuple[Float[Array, " nv"], Float[Array, "nv nv"]]:
        """Return a and L before the first level."""
        n = len(self.force)
        return (jnp.zeros(n) if self.singular else self.pulled(self.force)), jnp.eye(n)

    def acceleration(
        self, a: Float[Array, " nv"], spread: Float[Array, "nv k"], left, nonideal: ArrayLike = 0.0
    ):
        """Return `v̇` of a level [unit of v per s], shape (nv,), NaN if the constraints leave a
        direction without mass free.

        Args:
            a, spread: those of the level.
            left: number of directions that the level leaves free.
            nonideal: c, the sum of the forces of nonideal constraints [N, N·m …], shape (nv,).
        """
        if self.M is None:
            return self.mass.unweigh(
                a + spread @ (spread.T @ self.pulled(jnp.zeros_like(a) + nonideal))
            )
        P = spread
        # a singular M needs a rank decision, which the default damping does not make
        inner = Pseudoinverse(SVD(), P @ self.M @ P)
        moved = a + P @ inner.solve(P @ (self.force + nonideal - self.M @ a))
        # the acceleration of a free direction without mass is undetermined; the caller converts NaN
        # to an error message
        return jnp.where(inner.rank() == left, moved, jnp.nan)


class Step(Record):
    """Result of enforcing one level.

    Attributes:
        a, spread: those after the level.
        gain: K for unscaled rows, shape (nv, rows).
        rank: number of rows that are independent of the levels below.
        missed: residual `b̃ − Ã v̇` of the unscaled rows, shape (rows,).
        gave_way: mask of the rows whose residual exceeds round-off.
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
    """Enforce `A v̇ = b` on top of the level of a and the spread.

    Args:
        weights, a, spread: those of the level below.
        A, b: rows to enforce.
        root: R^½ of their clearance, `None` for rigid rows.
        consistent: relative residual up to which a row counts as satisfied.
        projector: whether the spread is P itself, because no level below has clearance.
    """
    H = weights.mass.weigh(A)
    scale = row_scale(jnp, row_lengths(H))
    # rows of unit length, so that one threshold decides for all units
    H, asked = scale[:, None] * H, scale * b
    # the rows without the directions that lower levels restrict
    seen = H @ spread
    if root is None:
        pinv = Pseudoinverse(ABSOLUTE, seen)
        K = spread @ _matrix(pinv)
        left = spread - K @ seen
        # the symmetric form of (4.15), by which P remains a projector through many levels
        left = left - (left @ H.T) @ K.T if projector else left
    else:
        noise = scale[:, None] * root
        pinv = Pseudoinverse(ABSOLUTE, jnp.concatenate([seen, noise], axis=1))
        K = spread @ _matrix(pinv)[: spread.shape[1]]
        left = jnp.concatenate([spread - K @ seen, K @ noise], axis=1)
    # only the residual of the motion so far is corrected, so that lower levels do not change
    miss = asked - H @ a
    after = a + K @ miss
    missed = asked - H @ after
    # relative to the terms of the residual, which may be the difference of large numbers
    size = jnp.abs(asked) + jnp.linalg.norm(a)
    divisor = jnp.where(scale > 0, scale, 1.0)
    # the residual of a row of zeros is its whole right-hand side
    rows = jnp.where(scale > 0, missed / divisor, b)
    gave_way = jnp.where(scale > 0, jnp.abs(missed) > consistent * size, b != 0)
    rank = pinv.rank() if root is None else Pseudoinverse(ABSOLUTE, seen).rank()
    return Step(after, left, K * scale, rank, rows, gave_way)


def _matrix(pinv: Pseudoinverse) -> Float[Array, "n m"]:
    """Return C⁺ as a differentiable matrix."""
    return jax.vmap(pinv.solve, out_axes=1)(jnp.eye(len(pinv.C)))
