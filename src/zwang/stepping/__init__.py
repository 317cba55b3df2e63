"""Integrators, which take one step with an error estimate; `step.py` steps along the constraint
manifold.

Each method is one file of this folder, found by `zwang.objects.families.INTEGRATORS`, whose
`table()` lists the methods with their orders and settings. `Dopri8` is the default, for smooth
motion at tolerances of 1e-6 and below. `Tsit5` is suitable for loose tolerances and forces with
kinks, `Kvaerno5` for stiff springs and dampers, `Rattle` for long runs of conservative systems with
a fixed step, and `Moreau` for motions whose impacts are too dense to be located one by one.

A fixed step is a setting of the loop, not a method: `simulate(..., step=1e-3)`.
"""

from zwang.stepping.base import AbstractIntegrator as AbstractIntegrator
from zwang.stepping.base import Step as Step
from zwang.stepping.dopri8 import Dopri8 as Dopri8
from zwang.stepping.explicit import AbstractExplicit as AbstractExplicit
from zwang.stepping.kvaerno5 import Kvaerno5 as Kvaerno5
from zwang.stepping.moreau import Moreau as Moreau
from zwang.stepping.rattle import Rattle as Rattle
from zwang.stepping.tableau import Tableau as Tableau
from zwang.stepping.tsit5 import Tsit5 as Tsit5
