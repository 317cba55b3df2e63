"""Constraints, stated by functions and converted to `A v̇ = b`.

| class | given as | enforced at | file |
|---|---|---|---|
| `Holonomic` | φ(q, t, p) = 0, scleronomic or rheonomic | position and velocity | `holonomic.py` |
| `Nonholonomic` | ψ(q, v, t, p) = 0, linear in v or not | velocity | `nonholonomic.py` |
| `Inequality` | g(q, t, p) ≥ 0, unilateral | position and velocity | `inequality.py` |
| `DryFriction` | s(q, v, t, p) = 0 up to a force, then sliding | velocity | `dry_friction.py` |
| `AccelerationConstraint` | A, b directly | acceleration | `acceleration.py` |

`level.py` defines the levels: residuals, units, and the cone of admissible multipliers.
`equation.py` computes `A` and `b` of all constraints by one rule of automatic differentiation;
`jacobian.py` determines the number of derivatives that it takes.
"""

from zwang.equations.constraint.acceleration import AccelerationConstraint as AccelerationConstraint
from zwang.equations.constraint.base import AbstractConstraint as AbstractConstraint
from zwang.equations.constraint.dry_friction import DryFriction as DryFriction
from zwang.equations.constraint.equation import Constraints as Constraints
from zwang.equations.constraint.holonomic import Holonomic as Holonomic
from zwang.equations.constraint.inequality import Inequality as Inequality
from zwang.equations.constraint.nonholonomic import Nonholonomic as Nonholonomic
