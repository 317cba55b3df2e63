"""The pseudoinverse of the Lagrange matrix in blocks, for a mass matrix that may be singular."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.dynamics.formulation.base import AbstractFormulation, null_projector


class CampbellSingular(AbstractFormulation):
    """`v̇ = Q F + (A⁺ − Q M A⁺) b` with `E = I − A⁺A`, `Q = (E M E)⁺` (pseudoinverse paper, eq.
    37-41).

    It is the upper half of the block pseudoinverse, with `R = M A⁺`,

        [M Aᵀ; A 0]⁺ = [0 A⁺; A⁺ᵀ −A⁺ᵀR] + [I; −Rᵀ] Q [I −R]   (40)

    and evaluated as `x + Q E (F − M x)`, `x = A⁺b`: `Q E = Q`, and E takes out what is not in the
    range of `E M E`.

    `E M E + s A⁺A` is pseudoinverted in place of `E M E`, s the largest diagonal entry of M. On the
    range of E both are the same, but where the constraints leave no freedom E M E is nothing but
    round-off, 1e-32, among which a rank threshold relative to its own size finds a rank:
    accelerations of 1e16.

    M may be singular as long as [M; A] has full column rank; otherwise the accelerations that
    nothing determines are zero. A⁺ and E are taken in no metric, and depend on the units of v where
    these differ: see `null_projector`.

    Reference: Campbell and Meyer (1979), Generalized Inverses of Linear Transformations.
    """

    equation: ClassVar[str] = "pseudoinverse (41)"
    singular_mass: ClassVar[bool] = True
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        A_pinv = Pseudoinverse(pseudoinverse, A)
        E = null_projector(A_pinv)
        x = A_pinv.solve(b)
        projected = E @ M @ E + jnp.max(jnp.diag(M)) * (jnp.eye(len(M)) - E)
        return x + Pseudoinverse(pseudoinverse, projected).solve(E @ (F - M @ x))

    def operations(self, m, n):
        """The rows of Table 4. It prints I + M where eq. (41) has I − Q M, leaves out the product
        Q M, and counts the last product with b as if m were n.
        """
        return {
            "A⁺": SVD().flops(m, n),
            "A⁺A": 2 * n * n * m,
            "E = I − A⁺A": n,
            "E M E": 4 * n**3,
            "Q = (E M E)⁺": SVD().flops(n, n),
            "Q M": 2 * n**3,
            "I − Q M": n,
            "(I − Q M) A⁺": 2 * n * n * m,
            "Q F": 2 * n * n,
            "(I − Q M) A⁺ b": 2 * m * n,
            "v̇": n,
        }
