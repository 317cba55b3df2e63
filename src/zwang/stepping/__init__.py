"""Integrators: one step with an error estimate; `step.py` steps along the constraint manifold.

One method is one file of this folder, found by `zwang.objects.families.INTEGRATORS`, whose
`table()` lists all of them with their orders and settings. `Dopri8` is the default and serves
smooth motion at tolerances of 1e-6 and below; `Tsit5` suits loose tolerances and forces with kinks,
`Kvaerno5` stiff springs and dampers, `Rattle` long runs of conservative systems in steps of one
length, and `Moreau` motions whose impacts are too dense to be located one by one.

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
