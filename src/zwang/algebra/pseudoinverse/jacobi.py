"""Truncated singular value decomposition by one-sided Jacobi rotations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor, at_unit_size


class Jacobi(AbstractThreshold):
    """Singular values by plane rotations, with high relative accuracy also of small ones: for rank
    decisions on rows of very different length.

    The columns of G, which is Cᵀ for a wide or square C and C for a tall one, are rotated in pairs
    until all are orthogonal: `G V = W`, `W = U Σ`. Then `G⁺ = V Σ⁻² Wᵀ` over the singular values
    that are kept. If the columns of G are those of a well-conditioned matrix times any lengths,
    every singular value has nearly all its digits; of a value of 1e-14 times the largest, `SVD` may
    have two. All steps are elementary array operations without LAPACK.

    Attributes:
        threshold: singular values at most this times the largest are zero; 1e-10.
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Hestenes (1958), J. SIAM 6, 51-90; accuracy: Demmel and Veselić (1992), SIAM J.
        Matrix Anal. Appl. 13, 1204-1245.
    """

    def factor(self, C):
        C, unit = at_unit_size(C)
        wide = C.shape[0] <= C.shape[1]
        W, V = orthogonalized(C.T if wide else C)
        sigma = jnp.linalg.norm(W, axis=0)
        keep = sigma > self.threshold * jnp.max(sigma)
        # divided by sigma twice, as the square of a small one may underflow
        size = jnp.where(keep, sigma, 1.0)
        inverse = jnp.where(keep, V / size, 0.0) @ (W / size).T
        return MatrixFactor((inverse.T if wide else inverse) / unit, jnp.sum(keep))

    def flops(self, m, n):
        """With k = min(m, n) and l = max(m, n): `k²/2` rotations per sweep, each `12 l` on G and `6
        k` on V, and `2 m n k` for the product.
        """
        k, length = min(m, n), max(m, n)
        # for eight sweeps, as of a random matrix
        return 8 * k * k / 2 * (12 * length + 6 * k) + 2 * m * n * k


def orthogonalized(G: Float[Array, "l k"]) -> tuple[Float[Array, "l k"], Float[Array, "k k"]]:
    """Return W with orthogonal columns and an orthogonal V such that `G V = W`."""
    k = G.shape[1]
    if k % 2:  # pairs need an even number; a column of zeros is never rotated
        W, V = orthogonalized(jnp.pad(G, ((0, 0), (0, 1))))
        others = jnp.argsort(V[-1])[:-1]  # the added column is where V has a 1 in its last row
        return W[:, others], V[:-1, others]
    # columns shorter than 1e-20 of the longest are not rotated. Rotating columns of round-off, of
    # about 1e-17, costs a few sweeps, but a column of 1e-15 may be a short row of the model
    floor = (1e-20 * jnp.max(jnp.linalg.norm(G, axis=0), initial=0.0)) ** 2
    following = _next_round(k)

    def round_(_, carry):
        W, V, turned = carry
        W, V, any_ = _rotated(W, V, floor)
        return W[:, following], V[:, following], turned | any_

    def sweep(carry):
        W, V, _, count = carry
        W, V, turned = jax.lax.fori_loop(0, k - 1, round_, (W, V, jnp.asarray(False)))
        return W, V, turned, count + 1

    start = (G, jnp.eye(k), jnp.asarray(True), 0)
    # sweeps converge quadratically: random matrices with up to 24 columns, of any rank, take at
    # most 16
    W, V, _, _ = jax.lax.while_loop(lambda c: c[2] & (c[3] < 30), sweep, start)
    return W, V


def _rotated(W, V, floor) -> tuple[Array, Array, Bool[Array, ""]]:
    """Rotate each column of the left half against its counterpart in the right half, so that the
    two are orthogonal; also return whether any pair was rotated.
    """
    half = W.shape[1] // 2
    a, b = W[:, :half], W[:, half:]
    aa, bb, ab = jnp.sum(a * a, axis=0), jnp.sum(b * b, axis=0), jnp.sum(a * b, axis=0)
    needed = (ab * ab > float(np.finfo(float).eps) ** 2 * aa * bb) & (jnp.minimum(aa, bb) > floor)
    zeta = (bb - aa) / jnp.where(needed, 2 * ab, 1.0)
    tangent = jnp.where(zeta >= 0, 1.0, -1.0) / (jnp.abs(zeta) + jnp.hypot(1.0, zeta))
    tangent = jnp.where(needed, tangent, 0.0)
    cosine = 1 / jnp.sqrt(1 + tangent**2)
    sine = cosine * tangent

    def turn(X):
        x, y = X[:, :half], X[:, half:]
        return jnp.concatenate([cosine * x - sine * y, sine * x + cosine * y], axis=1)

    return turn(W), turn(V), jnp.any(needed)


def _next_round(k: int) -> np.ndarray:
    """Return the columns in the order in which the next round pairs them, as in a round-robin
    tournament: the first stays, and all others move by one place.
    """
    half = k // 2
    left, right = list(range(half)), list(range(half, k))
    if half == 1:
        return np.arange(2)
    return np.array([left[0], right[0], *left[1:-1], *right[1:], left[-1]])
