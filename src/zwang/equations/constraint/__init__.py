"""Constraints: functions in, `A v̇ = b` out.

| class | given as | kept at | file |
|---|---|---|---|
| `Holonomic` | φ(q, t, p) = 0, scleronomic or rheonomic | position and velocity | `holonomic.py` |
| `Nonholonomic` | ψ(q, v, t, p) = 0, linear in v or not | velocity | `nonholonomic.py` |
| `Inequality` | g(q, t, p) ≥ 0, which pushes only | position and velocity | `inequality.py` |
| `DryFriction` | s(q, v, t, p) = 0 up to a force, then sliding | velocity | `dry_friction.py` |
| `AccelerationConstraint` | A, b outright | acceleration | `acceleration.py` |

`level.py` says what each level has: residuals, units, and the cone of its multipliers.
`equation.py` makes `A` and `b` from all of them by one automatic-differentiation rule;
`jacobian.py` says by how many derivatives.
"""

from zwang.equations.constraint.acceleration import AccelerationConstraint as AccelerationConstraint
from zwang.equations.constraint.base import AbstractConstraint as AbstractConstraint
from zwang.equations.constraint.dry_friction import DryFriction as DryFriction
from zwang.equations.constraint.equation import Constraints as Constraints
from zwang.equations.constraint.holonomic import Holonomic as Holonomic
from zwang.equations.constraint.inequality import Inequality as Inequality
from zwang.equations.constraint.nonholonomic import Nonholonomic as Nonholonomic
