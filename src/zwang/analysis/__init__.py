"""What can be said about a model without simulating it.

| file | what |
|---|---|
| `check.py` | `check`: one report on a model at one state |
| `kinematics.py`, `kinematics_result.py` | `kinematics`: a mechanism over its input |
| `path.py` | a branch of configurations followed, with limits and singular configurations |
| `curve.py` | certified steps along a curve of configurations |
| `interval.py` | bounds of a JAX function over a box |
| `subject.py` | what an analysis works on: coordinates and points by name |
"""
