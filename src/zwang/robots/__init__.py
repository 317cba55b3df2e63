"""Robots from files: URDF, MJCF, SDF and USD.

| file | content |
|---|---|
| `description.py` | the content of a file: bodies, joints, loops, couplings, actuators, omissions |
| `specification.py` | a rule for the treatment of an element or attribute |
| `urdf.py` | URDF: links, joints, mimics |
| `urdf_specification.py` | every element and attribute of URDF, and its treatment |
| `urdf_loops.py` | YAML files of loops, motors and kinds of joints for a URDF |
| `urdf_pictures.py` | shapes of the links of a URDF |
| `mujoco_reader.py` | MJCF, parsed by MuJoCo in a process of its own, `mujoco_process.py` |
| `mujoco_omissions.py`, `mujoco_actuators.py` | unsupported parts of MJCF, by name; its actuators |
| `copies.py`, `pictures.py` | limits of replicated bodies in MJCF; shapes of its bodies |
| `sdf.py` | SDF, whose joints may close loops |
| `sdf_scopes.py`, `sdf_includes.py` | its names and frames; included models of other files |
| `sdf_joints.py`, `sdf_couplings.py` | its joints, and those that follow others |
| `sdf_inertia.py`, `sdf_pictures.py` | masses and shapes of its links |
| `sdf_specification.py` | every element and attribute of SDF, and its treatment |
| `usd_text.py`, `usd.py` | the text of USD; its bodies, and joints that may close loops |
| `exact_loops.py` | several loops with common joints, whose axes and positions are made exact |
| `loop_constraints.py` | loops and couplings as constraints |
| `loop_forces.py` | springs and dampers of joints that close loops, bodies without weight |
| `contacts.py` | joint limits, dry friction, and contacts |
| `text.py` | XML and numbers of all these formats |
| `robot.py` | `Robot`: a description as a `zw.Model` |
| `configuration.py` | its configurations: prescribed joints, closed loops |
| `motors.py` | motors of a file that names no actuators; tasks of points |
| `judgement.py` | warnings of joints without inertia and of strong dampers |
| `scene.py` | its scene for the viewer |

No code of a file is executed, and nothing outside it is fetched.
"""

from zwang.robots.robot import FORMATS as FORMATS
from zwang.robots.robot import Robot as Robot
from zwang.robots.robot import read as read
