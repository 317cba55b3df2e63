"""Trees of bodies in joint coordinates.

| file | content |
|---|---|
| `branching.py` | the topology of joints and bodies |
| `equations.py` | motions, twists, mass matrix and bias as products of 4 × 4 matrices |
| `free_system.py` | M, F, N and the energy of a tree as functions of its parameters |
| `tree.py` | `BodyTree`: a tree as a `zw.System`, with frames and their Jacobians |
"""

from zwang.bodies.tree.tree import BodyTree as BodyTree
from zwang.bodies.tree.tree import Branch as Branch
from zwang.bodies.tree.tree import ball as ball
