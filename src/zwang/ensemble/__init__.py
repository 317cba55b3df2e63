"""Motions as pure functions of start and parameters: many at once, differentiated, fitted to data.

| file | what |
|---|---|
| `trajectory.py` | `trajectory`: one motion inside `jit`, `vmap`, `grad` and `jacfwd` |
"""

from zwang.ensemble.trajectory import Trajectory as Trajectory
from zwang.ensemble.trajectory import trajectory as trajectory
