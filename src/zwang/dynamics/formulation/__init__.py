"""Equations for the acceleration of a constrained system, interchangeable, each with any
pseudoinverse.

| member | equation | singular M | redundant rows | pseudoinverse of | flops, m = n | file |
|---|---|---|---|---|---|---|
| `UdwadiaKalaba` | pseudoinverse (31) | no | yes | A M^-1/2, (m, n) | 25 n³ | `udwadia_kalaba.py` |
| `Campbell` | pseudoinverse (35) | no | yes | A M⁻¹Aᵀ, (m, m) | 31 n³ | `campbell.py` |
| `CampbellSingular` | pseudoinverse (41) | yes | yes | A, (m, n), and E M E, (n, n) | 50 n³ | `campbell_singular.py` |
| `UdwadiaPhohomsiri` | pseudoinverse (43) | yes | yes | A, (m, n), and M̄, (n + m, n) | 66 n³ | `udwadia_phohomsiri.py` |
| `LagrangeMultipliers` | pseudoinverse (23) | yes | yes | [M Aᵀ; A 0], (n + m, n + m) | 168 n³ | `lagrange_multipliers.py` |
| `Nullspace` | recursive (3.4) | yes | yes | A, (m, n), and [SᵀM; A], (n + m, n) | 69 n³ | `nullspace.py` |

Singular M: as long as [M; A] has full column rank. Flops are those of the paper's tables, corrected
(`operations`), leading terms. The kernel of the library, `zwang.algebra.kernel`, is (31) with rows
brought to unit length and one factor for many uses; the members here are the equations as the
papers state them, to compare and to check with.
"""  # noqa: E501

from zwang.dynamics.formulation.base import AbstractFormulation as AbstractFormulation
from zwang.dynamics.formulation.campbell import Campbell as Campbell
from zwang.dynamics.formulation.campbell_singular import CampbellSingular as CampbellSingular
from zwang.dynamics.formulation.lagrange_multipliers import (
    LagrangeMultipliers as LagrangeMultipliers,
)
from zwang.dynamics.formulation.nullspace import Nullspace as Nullspace
from zwang.dynamics.formulation.udwadia_kalaba import UdwadiaKalaba as UdwadiaKalaba
from zwang.dynamics.formulation.udwadia_phohomsiri import UdwadiaPhohomsiri as UdwadiaPhohomsiri

ALL_FORMULATIONS = (
    UdwadiaKalaba,
    Campbell,
    CampbellSingular,
    UdwadiaPhohomsiri,
    LagrangeMultipliers,
    Nullspace,
)
