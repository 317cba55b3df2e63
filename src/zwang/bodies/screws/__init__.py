"""Screws: open chains of revolute and prismatic joints by the product of exponentials.

A twist ξ = (v, ω) consists of the velocity v of the point at the origin and the angular velocity ω;
a rigid motion g is a 4 × 4 matrix.

| file | content |
|---|---|
| `twist.py` | twists of joints, exponential, adjoint, bracket |
| `chain.py` | `OpenChain`: poses, Jacobians, mass and Coriolis matrix, gravity, the system |
| `euler.py` | ZYZ Euler angles of a rotation, and the rotation of Euler angles |

Reference: Murray, Li and Sastry (1994), A mathematical introduction to robotic manipulation,
    chapters 2-4.
"""

from zwang.bodies.screws.chain import Link as Link
from zwang.bodies.screws.chain import OpenChain as OpenChain
from zwang.bodies.screws.euler import zyz_angles as zyz_angles
from zwang.bodies.screws.euler import zyz_matrix as zyz_matrix
from zwang.bodies.screws.twist import adjoint as adjoint
from zwang.bodies.screws.twist import bracket as bracket
from zwang.bodies.screws.twist import exponential as exponential
from zwang.bodies.screws.twist import inverse as inverse
from zwang.bodies.screws.twist import prismatic as prismatic
from zwang.bodies.screws.twist import revolute as revolute
