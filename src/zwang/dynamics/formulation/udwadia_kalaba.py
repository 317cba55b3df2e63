"""Fundamental equation of Udwadia and Kalaba."""

from __future__ import annotations

from typing import ClassVar

from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.dynamics.formulation.base import AbstractFormulation


class UdwadiaKalaba(AbstractFormulation):
    """`v̇ = a + M^-1/2 D⁺ (b − A a)`, `a = M⁻¹F`, `D = A M^-1/2` (pseudoinverse paper, eq. 31).

    M^-1/2 is never formed: any W with `W Wᵀ = M⁻¹` gives the same `W (A W)⁺`, and
    `zwang.algebra.mass_matrix` has `W = L⁻ᵀ` of `M = L Lᵀ`.

    With `b − 2α ψ − β² φ` in place of b this is eq. (32).

    Reference: Udwadia and Kalaba (1992), Proc. R. Soc. Lond. A 439, 407-410.
    """

    equation: ClassVar[str] = "pseudoinverse (31)"
    singular_mass: ClassVar[bool] = False
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        mass = factor_mass(M)
        D = Pseudoinverse(pseudoinverse, mass.weigh(A))
        a = mass.solve(F)
        return a + mass.unweigh(D.solve(b - A @ a))

    def operations(self, m, n):
        """Return the rows of Table 2, three of which are printed as if m were n."""
        return {
            "M⁻¹": n,
            "M^-1/2": n,
            "D = A M^-1/2": 2 * n * n * m,
            "D⁺": SVD().flops(m, n),
            "a = M⁻¹F": 2 * n * n,
            "A a": 2 * m * n,
            "b − A a": m,
            "M^-1/2 D⁺": 2 * n * n * m,
            "M^-1/2 D⁺ (b − A a)": 2 * m * n,
            "v̇": n,
        }
