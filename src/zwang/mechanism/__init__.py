"""Bodies and joints as a model, in Python or from a file.

| file | content |
|---|---|
| `toml.py` | TOML files |
| `schema.py` | the parts as they are declared: `Link`, `Joint`, `Drive`, `Spring`, `Force` … |
| `contact_schema.py` | inequalities and friction: `JointStop`, `Gap`, `Rope`, `Friction` … |
| `keys.py` | all keys of a file with their units, defaults and meanings |
| `field_types.py` | types of their fields, and the error that names a wrong one |
| `mistakes.py` | errors of files in terms of mechanics |
| `mechanism.py` | `Mechanism`: all parts together, its model and its start |
| `geometry.py` | bodies with their points, at the rough start |
| `resolution.py` | lookup of points, joints and coordinates by name, checks of joint options |
| `compiler.py` | from the declaration to a `zw.Model` |
| `derived_numbers.py` | parameters of the model that depend on other parameters |
| `joints/` | every kind of joint, one file each |
| `joint_kind.py` | the declaration of a kind of joint |
| `registry.py` | all kinds of joints, and their table |
| `relative_pose.py` | points with axes, and the pose of one relative to another |
| `joint_constraints.py` | joints as constraints |
| `prescribed_motion.py` | drives, and other coordinates that follow a formula |
| `point_masses.py` | bodies in space without an attitude |
| `tables.py` | tables of numbers as functions in formulas |
| `laws.py` | relations between coordinates of several joints |
| `gaps.py` | stops, backlash, ropes, and gaps between coordinates |
| `contacts.py` | contacts of two shapes |
| `tree.py` | joint coordinates: a spanning tree of joints, and the joints that close loops |
| `turns.py` | angles in space that count whole turns |
| `forces.py` | springs, dampers, bushings, forces |
| `friction.py`, `slipping.py` | dry friction of joints and coordinates, without and with sticking |
| `switches.py` | joints, laws and drives that are switched on and off |
| `actuation.py` | actuators and servo constraints |
| `assembly.py`, `half_turn.py` | closed configurations |
| `loop_rows.py` | redundant rows of joints that close loops |
| `movable.py` | loops that move only with exact data, and the least change to such data |
| `closing.py`, `moved_points.py` | changes of data so that loops close |
| `reactions.py` | forces and torques of joints in their own axes |
| `joint_motion.py` | coordinates of joints over a run |
| `applied_forces.py` | forces of springs, dampers, bushings and formulas over a run |
| `degrees.py`, `direction.py` | checks of angles in degrees, and of coincident points |
| `scene.py` | the scene for the viewer |
| `drawing.py` | pictures |
| `expression.py` | formulas in text |
"""

from zwang.mechanism.applied_forces import applied_forces as applied_forces
from zwang.mechanism.assembly import AssemblyError as AssemblyError
from zwang.mechanism.closing import closed as closed
from zwang.mechanism.contact_schema import Backlash as Backlash
from zwang.mechanism.contact_schema import Contact as Contact
from zwang.mechanism.contact_schema import Friction as Friction
from zwang.mechanism.contact_schema import Gap as Gap
from zwang.mechanism.contact_schema import JointStop as JointStop
from zwang.mechanism.contact_schema import Rope as Rope
from zwang.mechanism.contact_schema import Slip as Slip
from zwang.mechanism.contact_schema import Surface as Surface
from zwang.mechanism.field_types import PartError as PartError
from zwang.mechanism.joint_motion import joint_motion as joint_motion
from zwang.mechanism.mechanism import Mechanism as Mechanism
from zwang.mechanism.reactions import Reaction as Reaction
from zwang.mechanism.reactions import reaction as reaction
from zwang.mechanism.reactions import reactions as reactions
from zwang.mechanism.reactions import shares as shares
from zwang.mechanism.registry import JOINT_KINDS as KINDS
from zwang.mechanism.schema import Actuator as Actuator
from zwang.mechanism.schema import Begin as Begin
from zwang.mechanism.schema import Bushing as Bushing
from zwang.mechanism.schema import Drive as Drive
from zwang.mechanism.schema import Force as Force
from zwang.mechanism.schema import Joint as Joint
from zwang.mechanism.schema import Law as Law
from zwang.mechanism.schema import Link as Link
from zwang.mechanism.schema import Look as Look
from zwang.mechanism.schema import Point as Point
from zwang.mechanism.schema import ServoConstraint as ServoConstraint
from zwang.mechanism.schema import Settings as Settings
from zwang.mechanism.schema import Spring as Spring
from zwang.mechanism.schema import Table as Table
from zwang.mechanism.schema import Toggle as Toggle
from zwang.mechanism.toml import read as read

KINDS = KINDS
"""All kinds of joints, by name."""
