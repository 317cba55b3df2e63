"""Systems of rigid bodies: mass matrix, rate map, retraction, gravity and gyroscopic force.

| class | coordinates per body | velocities per body | file |
|---|---|---|---|
| `PlanarBodies` | x, y, angle | their rates | `planar.py` |
| `RigidBodies` | x, y, z, unit quaternion qw, qx, qy, qz | ẋ, ẏ, ż, ω in body axes | `rigid.py` |
| `OpenChain` | an angle or a distance per joint | their rates | `screws/` |
| `BodyTree` | an angle, a distance, a unit quaternion per joint | their rates | `tree/` |

`Curve` is a plane curve for contacts with points and wheels, `contact.py` has the gaps of pairs of
shapes.

`Body` is one body in the first two, `Link` one in a chain, `Branch` one in a tree; `shape.py`
describes the shape of a body, `rotation.py` contains the algebra of unit quaternions, `screws/`
that of twists. All classes have `.system` and `.params` for `zw.Model`, and accessors (`point`,
`velocity`, …) with which a constraint takes one line.
"""

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.bodies.body import Body as Body
    from zwang.bodies.curve import Curve as Curve
    from zwang.bodies.planar import PlanarBodies as PlanarBodies
    from zwang.bodies.rigid import RigidBodies as RigidBodies
    from zwang.bodies.screws import Link as Link
    from zwang.bodies.screws import OpenChain as OpenChain
    from zwang.bodies.screws import prismatic as prismatic
    from zwang.bodies.screws import revolute as revolute
    from zwang.bodies.screws import zyz_angles as zyz_angles
    from zwang.bodies.screws import zyz_matrix as zyz_matrix
    from zwang.bodies.shape import Shape as Shape
    from zwang.bodies.tree import BodyTree as BodyTree
    from zwang.bodies.tree import Branch as Branch
    from zwang.bodies.tree import ball as ball

offer(__name__)
