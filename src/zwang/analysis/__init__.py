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
| `equilibrium.py`, `balance_problem.py`, `balance_search.py` | where forces balance |
| `continuation.py`, `branch.py` | `continuation`: equilibria followed in a parameter |
| `linearize.py`, `time_varying.py` | `linearize`: linear equations about a state or motion |
| `linear_system.py`, `modes.py` | poles, zeros, controllability; modes |
| `lqr.py` | `lqr`: gains on the full coordinates |
| `symmetry.py` | symmetries of a model, along which steady motions go |
| `constrained_state.py`, `tangent_space.py` | a state on its constraints, its tangent space |
| `local_equations.py` | derivatives of the equations at a state |
| `inputs.py` | inputs and outputs by name |
| `tables.py`, `pictures.py`, `saving.py` | results as text, pictures and files |
"""
