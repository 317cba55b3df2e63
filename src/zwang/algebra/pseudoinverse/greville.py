"""Greville's recursion: C⁺ row by row."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from zwang.algebra.pseudoinverse.base import AbstractThreshold, MatrixFactor, at_unit_size


class Greville(AbstractThreshold):
    """C⁺, updated for one row a of C after the other. With P = C_{i-1}⁺ of the rows before it,

        d = a P,    c = a − d C_{i-1}
        b = cᵀ/(c cᵀ)            if a is independent of the rows before it, c ≠ 0
            P dᵀ/(1 + d dᵀ)      otherwise
        P ← [P − b d | b]

    The recursion as printed in the pseudoinverse paper lacks transposes (in its third step, and Pᵀ
    in the second case of b). a is decomposed twice, `e = c P, d ← d + e, c ← c − e C_{i-1}`,
    because round-off in the first decomposition leaves a component of c along the previous rows.
    The residual `C C⁺C − C` still grows like κ², whereas that of orthogonal factorizations grows
    like κ.

    Attributes:
        threshold: a row is dependent if its distance ‖c‖ from the span of the rows before it is at
            most this times the length of the longest row; 1e-10, six digits above the round-off of
            repeated rows.
        relaxation: the threshold becomes at least this times the violation of the state; 1.

    Reference: Greville (1960), SIAM Rev. 2, 15-22; Udwadia and Kalaba (1999), Comput. Math. Appl.
        37, 125-130.
    """

    def factor(self, C):
        C, unit = at_unit_size(C)
        m, n = C.shape
        floor = self.threshold * jnp.sqrt(jnp.max(jnp.sum(C * C, axis=1), initial=0.0))

        def add_row(i, carry):
            P, rank = (
                # columns of P from i on are zero, so that P C = P C_{i-1}
                carry
            )
            a = C[i]
            d = a @ P
            c = a - d @ C
            again = c @ P
            d, c = d + again, c - again @ C
            length = jnp.sqrt(jnp.sum(c * c))
            independent = length > floor
            new_direction = c / jnp.where(independent, length, 1.0) ** 2
            b = jnp.where(independent, new_direction, P @ d / (1 + d @ d))
            return (P - b[:, None] * d).at[:, i].set(b), rank + independent

        P, rank = jax.lax.fori_loop(0, m, add_row, (jnp.zeros((n, m)), jnp.zeros((), int)))
        return MatrixFactor(P / unit, rank)

    def flops(self, m, n):
        """`14 m² n`: per row seven products or updates of the size of C, each `2mn`, for arrays of
        static shape.
        """
        return 14 * m * m * n
