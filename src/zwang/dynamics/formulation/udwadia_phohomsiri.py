"""Equation of Udwadia and Phohomsiri for mass matrices that may be singular."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.dynamics.formulation.base import AbstractFormulation, null_projector


class UdwadiaPhohomsiri(AbstractFormulation):
    """`v̇ = M̄⁺ [F; b] + (I − M̄⁺M̄) η` with `M̄ = [(I − A⁺A) M; A]`, η = 0 (pseudoinverse paper,
    eq. 42-43).

    `I − A⁺A` is applied to F as well. This does not change the result,
    `M̄⁺ [F; b] = M̄⁺ [(I − A⁺A) F; b]`, but puts the right-hand side into the range of M̄. A
    nonideal force c is added to F.

    M may be singular if [M; A] has full column rank; otherwise η = 0 selects the acceleration of
    least norm. M̄ stacks force rows on constraint rows, and the projector is not computed in a
    metric: in mixed units, rank threshold and round-off depend on the units (`null_projector`).

    Reference: Udwadia and Phohomsiri (2006), Proc. R. Soc. A 462, 2097-2117.
    """

    equation: ClassVar[str] = "pseudoinverse (43)"
    singular_mass: ClassVar[bool] = True
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        E = null_projector(Pseudoinverse(pseudoinverse, A))
        M_bar = Pseudoinverse(pseudoinverse, jnp.concatenate([E @ M, A]))
        return M_bar.solve(jnp.concatenate([E @ F, b]))

    def operations(self, m, n):
        """Return the rows of Table 5. Their sum has 20n³; Tables 1 and 6 print 11n³, without the
        9n³ of the second pseudoinverse.
        """
        return {
            "A⁺": SVD().flops(m, n),
            "A⁺A": 2 * m * n * n,
            "I − A⁺A": n,
            "(I − A⁺A) M": 2 * n**3,
            "M̄⁺": SVD().flops(n + m, n),
            "M̄⁺ [F; b]": 2 * (n + m) * n,
        }
