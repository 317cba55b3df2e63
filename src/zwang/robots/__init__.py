"""Robots from files: URDF, MJCF and SDF.

| file | what |
|---|---|
| `description.py` | what a file contains: bodies, joints, loops, couplings, actuators, the rest |
| `mujoco_reader.py` | MJCF and URDF, parsed by MuJoCo |
| `mujoco_omissions.py` | what these have and a robot has not, listed by name |
| `pictures.py` | what bodies of these look like |
| `urdf.py` | what MuJoCo leaves out of a URDF: pictures, velocity limits, other elements |
| `sdf.py` | SDF, whose joints may close loops |
| `text.py` | XML as all of them take it |
| `robot.py` | `Robot`: a description as a `zw.Model` |
| `scene.py` | what the viewer draws of it |

No code of a file is executed, and nothing outside it is fetched.
"""

from zwang.robots.robot import FORMATS as FORMATS
from zwang.robots.robot import Robot as Robot
from zwang.robots.robot import read as read
