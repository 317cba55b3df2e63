"""What can be said about a model without simulating it.

| file | what |
|---|---|
| `check.py` | `check`: one report on a model at one state |
| `check_text.py` | the same as text |
| `redundancy.py` | redundant rows, free motions, looser joints |
| `pfaffian.py` | which velocity constraints are holonomic, and what can be reached |
| `branches.py` | `branches`, `passages`: motions through a singular configuration |
| `assembly_modes.py` | `assembly_modes`: all configurations at given inputs |
| `driving_torque.py` | `driving_torque`: kinetostatics |
| `kinematics.py`, `kinematics_result.py` | `kinematics`: a mechanism over its input |
| `path.py` | a branch of configurations followed, with limits and singular configurations |
| `curve.py` | certified steps along a curve of configurations |
| `interval.py` | bounds of a JAX function over a box |
| `subject.py` | what an analysis works on: coordinates and points by name |
| `side_by_side.py` | `side_by_side`: one acceleration by eight principles of mechanics |
"""
