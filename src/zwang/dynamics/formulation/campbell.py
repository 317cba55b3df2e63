"""Block pseudoinverse of the Lagrange matrix for a positive definite mass matrix."""

from __future__ import annotations

from typing import ClassVar

import jax

from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.dynamics.formulation.base import AbstractFormulation


class Campbell(AbstractFormulation):
    """`v̇ = (I − H A) M⁻¹F + H b` with `Q = A M⁻¹Aᵀ`, `H = M⁻¹Aᵀ Q⁺` (pseudoinverse paper, eq.
    34-36).

    It is the upper half of the block pseudoinverse

        [M Aᵀ; A 0]⁺ = [M⁻¹ − H A M⁻¹, H; Hᵀ, −Q⁺]   (33)

    and is evaluated as `a + H (b − A a)`, with one application of Q⁺. The condition number of Q is
    the square of that of `A M^-1/2`. A rank threshold also applies to squares, because singular
    values of Q are squares.

    Reference: Campbell and Meyer (1979), Generalized Inverses of Linear Transformations.
    """

    equation: ClassVar[str] = "pseudoinverse (35)"
    singular_mass: ClassVar[bool] = False
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        mass = factor_mass(M)
        weighted = jax.vmap(mass.solve)(A)  # A M⁻¹
        Q = Pseudoinverse(pseudoinverse, weighted @ A.T)
        a = mass.solve(F)
        return a + weighted.T @ Q.solve(b - A @ a)

    def operations(self, m, n):
        """Return the rows of Table 3. The table prints Q in `Aᵀ Q` and H where Q⁺ is meant, and
        counts `H b` as if m were n.
        """
        return {
            "M⁻¹": n,
            "M⁻¹Aᵀ": 2 * n * n * m,
            "Q = A M⁻¹Aᵀ": 2 * n * n * m,
            "Q⁺": SVD().flops(m, m),
            "Aᵀ Q⁺": 2 * m * m * n,
            "H = M⁻¹Aᵀ Q⁺": 2 * n * n * m,
            "H A": 2 * n * n * m,
            "I − H A": n,
            "M⁻¹F": 2 * n * n,
            "(I − H A) M⁻¹F": 2 * n * n,
            "H b": 2 * m * n,
            "v̇": n,
        }
