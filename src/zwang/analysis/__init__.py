"""What can be said about a model without simulating it.

| file | what |
|---|---|
| `check.py` | `check`: one report on a model at one state |
| `side_by_side.py` | `side_by_side`: one acceleration by eight principles of mechanics |
| `equilibrium.py`, `balance_problem.py`, `balance_search.py` | `equilibrium`: where forces balance, at rest or in a steady motion |
| `continuation.py`, `branch.py` | `continuation`: equilibria followed in a parameter, folds, branch points |
| `linearize.py`, `time_varying.py` | `linearize`: minimal linear equations about a state, or along a trajectory |
| `linear_system.py`, `modes.py` | poles, zeros, controllability; modes |
| `lqr.py` | `lqr`: gains on the full coordinates |
| `symmetry.py` | symmetries of a model, along which steady motions go |
| `constrained_state.py`, `tangent_space.py`, `local_equations.py` | a state on its constraints, its tangent space, derivatives |
| `inputs.py` | inputs and outputs by name |
| `tables.py`, `pictures.py`, `saving.py` | results as text, pictures and files |
"""  # noqa: E501
