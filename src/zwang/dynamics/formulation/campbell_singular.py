"""Block pseudoinverse of the Lagrange matrix for a mass matrix that may be singular."""

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

    and is evaluated as `x + Q E (F − M x)` with `x = A⁺b`: `Q E = Q`, and E removes the component
    that is not in the range of `E M E`.

    The code computes the pseudoinverse of `E M E + s A⁺A` instead of `E M E`, where s is the
    largest diagonal entry of M. On the range of E both are equal. If the constraints leave no
    freedom, E M E is only round-off of 1e-32, in which a threshold relative to the largest singular
    value finds a nonzero rank: accelerations of 1e16 would result.

    M may be singular if [M; A] has full column rank; otherwise undetermined accelerations are zero.
    A⁺ and E are not computed in a metric, so they depend on the units of v if these differ
    (`null_projector`).

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
        """Return the rows of Table 4. The table prints I + M where eq. (41) has I − Q M, omits the
        product Q M, and counts the last product with b as if m were n.
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
