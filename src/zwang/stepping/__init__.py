"""Integrators: one step with an error estimate; `step_loop.py` steps along the constraint manifold.

| member | order | stages | implicit | use it for |
|---|---|---|---|---|
| `Dopri8` (default) | 8(7) | 13 | no | smooth motion, rtol 1e-6 and below |
| `Tsit5` | 5(4) | 7 | no | loose tolerances, forces with kinks |
| `Kvaerno5` | 5(4) | 7 | yes | stiff springs and dampers |
| `Rattle` | 2, 4, 6 | – | no | long runs of conservative systems, in steps of one length |

A fixed step is a setting of the loop, not a method: `simulate(..., step=1e-3)`.
"""

from zwang.stepping.base import AbstractIntegrator as AbstractIntegrator
from zwang.stepping.base import Step as Step
from zwang.stepping.dopri8 import Dopri8 as Dopri8
from zwang.stepping.explicit import AbstractExplicit as AbstractExplicit
from zwang.stepping.kvaerno5 import Kvaerno5 as Kvaerno5
from zwang.stepping.rattle import Rattle as Rattle
from zwang.stepping.tableau import Tableau as Tableau
from zwang.stepping.tsit5 import Tsit5 as Tsit5

ALL_INTEGRATORS = (Dopri8(), Tsit5(), Kvaerno5(), Rattle())
