"""Interchangeable equations for the acceleration of a constrained system, each with any
pseudoinverse.

| member | equation | singular M | pseudoinverse of | flops, m = n |
|---|---|---|---|---|
| `UdwadiaKalaba` | pseudoinverse (31) | no | A M^-1/2, (m, n) | 25 n³ |
| `Campbell` | pseudoinverse (35) | no | A M⁻¹Aᵀ, (m, m) | 31 n³ |
| `CampbellSingular` | pseudoinverse (41) | yes | A, (m, n), and E M E, (n, n) | 50 n³ |
| `UdwadiaPhohomsiri` | pseudoinverse (43) | yes | A, (m, n), and M̄, (n + m, n) | 66 n³ |
| `LagrangeMultipliers` | pseudoinverse (23) | yes | [M Aᵀ; A 0], (n + m, n + m) | 168 n³ |
| `Nullspace` | recursive (3.4) | yes | A, (m, n), and [SᵀM; A], (n + m, n) | 69 n³ |

All of them accept redundant rows. Each is in the file with the name of its class.

M may be singular if [M; A] has full column rank. Flops are the leading terms of the tables of the
paper, corrected (`operations`). By default zwang uses `zwang.algebra.gauss`, which is (31) with
rows scaled to unit length and one factor for many right-hand sides. The members here are the
equations as the papers state them, for comparisons and checks.
"""

from zwang.dynamics.formulation.base import AbstractFormulation as AbstractFormulation
from zwang.dynamics.formulation.campbell import Campbell as Campbell
from zwang.dynamics.formulation.campbell_singular import CampbellSingular as CampbellSingular
from zwang.dynamics.formulation.lagrange_multipliers import (
    LagrangeMultipliers as LagrangeMultipliers,
)
from zwang.dynamics.formulation.nullspace import Nullspace as Nullspace
from zwang.dynamics.formulation.udwadia_kalaba import UdwadiaKalaba as UdwadiaKalaba
from zwang.dynamics.formulation.udwadia_phohomsiri import UdwadiaPhohomsiri as UdwadiaPhohomsiri
