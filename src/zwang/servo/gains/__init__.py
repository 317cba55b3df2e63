"""Gains: the error dynamics of servo constraints.

The lowest derivative of a residual y that depends on the actuators has order r: r = 2 for φ, r = 1
for ψ, and more for flexible joints. This derivative is controlled so that y obeys

    y^(r) + c_{r−1} y^(r−1) + … + c_1 ẏ + c_0 y = 0

A gain is a choice of the coefficients c, that is, of the roots of the characteristic polynomial
(`error_poles`). The error decays if all roots have a negative real part; `require_decay` refuses
every other gain. A plain number k stands for `Rate(k)`.

Each gain is one file of this folder; `zwang.objects.families.GAINS` lists them.
"""

from zwang.servo.gains.base import AbstractGain as AbstractGain
from zwang.servo.gains.decay import as_gain as as_gain
from zwang.servo.gains.decay import fit_rows as fit_rows
from zwang.servo.gains.decay import require_decay as require_decay
from zwang.servo.gains.decay import require_real as require_real
from zwang.servo.gains.first_order import FirstOrder as FirstOrder
from zwang.servo.gains.poles import Poles as Poles
from zwang.servo.gains.rate import Rate as Rate
from zwang.servo.gains.robust import Robust as Robust
from zwang.servo.gains.second_order import SecondOrder as SecondOrder
from zwang.servo.gains.sliding_surface import SlidingSurface as SlidingSurface
