"""Lagrange's equations of the first kind: accelerations and multipliers from one linear system."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.dynamics.formulation.base import AbstractFormulation


class LagrangeMultipliers(AbstractFormulation):
    """`[M Aᵀ; A 0] [v̇; −λ] = [F; b]` (pseudoinverse paper, eq. 23, whose multipliers are −λ: here
    `Q_c = +Aᵀλ`).

    The matrix is singular if rows of A are dependent, so its pseudoinverse replaces its inverse. v̇
    is unique nevertheless, and λ has least norm.

    M may be singular if [M; A] has full column rank. M and A are parts of one matrix with one rank
    threshold: rows of A whose size differs much from that of M lose digits or rank.
    """

    equation: ClassVar[str] = "pseudoinverse (23)"
    singular_mass: ClassVar[bool] = True
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        m, n = A.shape
        matrix = jnp.block([[M, A.T], [A, jnp.zeros((m, m))]])
        return Pseudoinverse(pseudoinverse, matrix).solve(jnp.concatenate([F, b]))[:n]

    def operations(self, m, n):
        """Count the operations by the rules of the paper, which has no table for this equation."""
        return {"[M Aᵀ; A 0]⁺": SVD().flops(n + m, n + m), "[v̇; −λ]": 2 * (n + m) ** 2}
