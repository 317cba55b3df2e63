"""Bodies and joints as a model, in Python or from a file.

| file | what |
|---|---|
| `parts.py` | what a mechanism is made of, as in a file: `Link`, `Joint`, `Drive`, `Spring`, `Bushing`, `Force` … |
| `pairs.py` | two points with axes, and how they lie to each other |
| `joints.py` | every kind of joint, a few lines each |
| `layout.py` | bodies and points at the rough start |
| `rows.py` | joints and drives as constraints |
| `branches.py` | joint coordinates: a tree of bodies, and the joints that close loops |
| `efforts.py` | springs, dampers, bushings, forces |
| `actuation.py` | actuators and servo constraints |
| `mechanism.py` | `Mechanism`: all of it as a `zw.Model`, put together |
| `reaction.py` | forces and torques of joints in their own axes |
| `scene.py` | what the viewer draws |
| `drawing.py` | pictures |
| `expression.py` | formulas in text |
| `file.py` | TOML files |
"""

from zwang.mechanism.file import read as read
from zwang.mechanism.joints import KINDS as KINDS
from zwang.mechanism.mechanism import AssemblyError as AssemblyError
from zwang.mechanism.mechanism import Mechanism as Mechanism
from zwang.mechanism.parts import Actuator as Actuator
from zwang.mechanism.parts import Begin as Begin
from zwang.mechanism.parts import Bushing as Bushing
from zwang.mechanism.parts import Drive as Drive
from zwang.mechanism.parts import Force as Force
from zwang.mechanism.parts import Joint as Joint
from zwang.mechanism.parts import Link as Link
from zwang.mechanism.parts import Look as Look
from zwang.mechanism.parts import PartError as PartError
from zwang.mechanism.parts import Point as Point
from zwang.mechanism.parts import ServoConstraint as ServoConstraint
from zwang.mechanism.parts import Settings as Settings
from zwang.mechanism.parts import Spring as Spring
from zwang.mechanism.reaction import Reaction as Reaction
from zwang.mechanism.reaction import reaction as reaction
from zwang.mechanism.reaction import reactions as reactions
from zwang.mechanism.reaction import shares as shares
