"""Robots from files: URDF, MJCF, SDF and USD.

| file | what |
|---|---|
| `description.py` | what a file contains: bodies, joints, loops, couplings, actuators, the rest |
| `urdf.py` | URDF: links, joints, mimics |
| `urdf_specification.py` | every element and attribute of URDF, and what becomes of it |
| `urdf_loops.py` | YAML of loops, motors and kinds of joints beside a URDF |
| `urdf_pictures.py` | what links of a URDF look like |
| `mujoco_reader.py` | MJCF, parsed by MuJoCo in a process of its own, `mujoco_process.py` |
| `mujoco_omissions.py` | what MJCF has and a robot has not, listed by name |
| `copies.py`, `pictures.py` | copies that an MJCF file asks for; what its bodies look like |
| `sdf.py` | SDF, whose joints may close loops |
| `sdf_scopes.py`, `sdf_includes.py` | its names and frames; models of other files |
| `sdf_joints.py`, `sdf_couplings.py` | its joints, and those that follow others |
| `sdf_inertia.py`, `sdf_pictures.py` | mass of its links, and what they look like |
| `sdf_specification.py` | every element and attribute of SDF, and what becomes of it |
| `usd_text.py`, `usd.py` | the text of USD; its bodies, and joints that may close loops |
| `exact_loops.py` | loops of several rods, whose axes and places are made exact |
| `loop_constraints.py` | loops and couplings as constraints |
| `loop_forces.py` | springs and dampers of joints that close loops, bodies without weight |
| `text.py` | XML as all of them take it |
| `robot.py` | `Robot`: a description as a `zw.Model` |
| `configuration.py` | its configurations: joints held, loops closed |
| `motors.py` | motors of a file that names no actuators; tasks of points |
| `judgement.py` | warnings of joints without mass and of strong dampers |
| `scene.py` | what the viewer draws of it |

No code of a file is executed, and nothing outside it is fetched.
"""

from zwang.robots.robot import FORMATS as FORMATS
from zwang.robots.robot import Robot as Robot
from zwang.robots.robot import read as read
