"""What can be said about a model without simulating it.

| file | what |
|---|---|
| `check.py` | `check`: one report on a model at one state |
| `check_text.py` | the same as text |
| `redundancy.py` | redundant rows, free motions, looser joints |
| `pfaffian.py` | which velocity constraints are holonomic, and what can be reached |
| `branches.py` | `branches`, `passages`: motions through a singular configuration |
| `assembly_modes.py` | `assembly_modes`: all configurations at given inputs |
| `quadratic_loops.py`, `homotopy.py` | rows as quadratic equations, and all solutions of such |
| `driving_torque.py` | `driving_torque`: kinetostatics |
| `workspace.py`, `workspace_fill.py` | `workspace`: reach, conditioning and singularities over a grid of inputs |
| `design.py`, `design_problem.py`, `design_targets.py` | `design`: dimensions for a path, an output, a torque, on one branch |
| `moving_mechanism.py` | motions and torques as functions of parameters that JAX differentiates |
| `kinematics.py`, `kinematics_result.py` | `kinematics`: a mechanism over its input |
| `kinematics_batch.py` | `kinematics_batch`: certified paths of many sets of parameters at once |
| `path.py` | a branch of configurations followed, with limits and singular configurations |
| `curve.py` | certified steps along a curve of configurations |
| `interval.py` | bounds of a JAX function over a box |
| `subject.py` | what an analysis works on: coordinates and points by name |
| `side_by_side.py` | `side_by_side`: one acceleration by eight principles of mechanics |
| `equilibrium.py`, `balance_problem.py`, `balance_search.py` | `equilibrium`: where forces balance, at rest or in a steady motion |
| `continuation.py`, `branch.py`, `eigenvalue_events.py` | `continuation`: equilibria followed in a parameter; folds, branch points, Hopf points |
| `linearize.py`, `time_varying.py` | `linearize`: minimal linear equations about a state, or along a trajectory |
| `linear_system.py`, `modes.py` | poles, zeros, controllability; modes |
| `lqr.py`, `moving_axes.py` | `lqr`: gains on the full coordinates, of steady motions in axes that move along |
| `symmetry.py` | symmetries of a model, along which steady motions go |
| `constrained_state.py`, `tangent_space.py`, `local_equations.py` | a state on its constraints, its tangent space, derivatives |
| `inputs.py` | inputs and outputs by name |
| `tables.py`, `pictures.py`, `saving.py` | results as text, pictures and files |
"""  # noqa: E501
