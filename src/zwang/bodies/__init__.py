"""Rigid bodies as ready parts: mass matrix, rate map, retraction, gravity and gyroscopic force, written once.

| class | coordinates per body | velocities per body | file |
|---|---|---|---|
| `PlanarBodies` | x, y, angle | their rates | `planar.py` |
| `RigidBodies` | x, y, z and a unit quaternion qw, qx, qy, qz | velocity in space, angular velocity in body axes | `rigid.py` |

`Body` is one body in either; `rotation.py` holds the algebra of unit quaternions. Both classes have `.system` and `.params` for
`zw.Model`, and accessors (`point`, `velocity`, …) that make a constraint one line.
"""

from zwang.bodies.body import Body as Body
from zwang.bodies.planar import PlanarBodies as PlanarBodies
from zwang.bodies.rigid import RigidBodies as RigidBodies
