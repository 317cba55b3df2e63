"""Methods of `zw.simulate` and its kin: integrators, pseudoinverses, formulations, drift.

    import zwang as zw

    zw.simulate(model, q0, v0, 1.0, integrator=zw.methods.Kvaerno5())

A method is found in the folder of its family (see `zwang.objects.families`); the names below are
those that editors complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.algebra.pseudoinverse import SVD as SVD
    from zwang.algebra.pseudoinverse import CompleteOrthogonal as CompleteOrthogonal
    from zwang.algebra.pseudoinverse import GramSchmidt as GramSchmidt
    from zwang.algebra.pseudoinverse import Greville as Greville
    from zwang.algebra.pseudoinverse import Householder as Householder
    from zwang.algebra.pseudoinverse import Proximal as Proximal
    from zwang.algebra.pseudoinverse import Sparse as Sparse
    from zwang.algebra.pseudoinverse import Varga as Varga
    from zwang.algebra.pseudoinverse.jacobi import Jacobi as Jacobi
    from zwang.dynamics.drift import Baumgarte as Baumgarte
    from zwang.dynamics.drift import BaumgarteGains as BaumgarteGains
    from zwang.dynamics.drift import BaumgarteRates as BaumgarteRates
    from zwang.dynamics.drift import NoStabilization as NoStabilization
    from zwang.dynamics.drift import Projection as Projection
    from zwang.dynamics.drift import Stabilized as Stabilized
    from zwang.dynamics.formulation import Campbell as Campbell
    from zwang.dynamics.formulation import CampbellSingular as CampbellSingular
    from zwang.dynamics.formulation import LagrangeMultipliers as LagrangeMultipliers
    from zwang.dynamics.formulation import Nullspace as Nullspace
    from zwang.dynamics.formulation import UdwadiaKalaba as UdwadiaKalaba
    from zwang.dynamics.formulation import UdwadiaPhohomsiri as UdwadiaPhohomsiri
    from zwang.stepping import Dopri8 as Dopri8
    from zwang.stepping import Kvaerno5 as Kvaerno5
    from zwang.stepping import Moreau as Moreau
    from zwang.stepping import Rattle as Rattle
    from zwang.stepping import Tsit5 as Tsit5
    from zwang.stepping.bosh3 import Bosh3 as Bosh3

offer(__name__, families=("INTEGRATORS", "PSEUDOINVERSES", "FORMULATIONS", "DRIFTS"))
