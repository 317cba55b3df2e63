"""The motion of a model at one state, and on its constraint manifold.

| file | what |
|---|---|
| `equation_of_motion.py` | M, F, A, b → v̇ at any state, and what "small" means |
| `sparse_structure.py` | the sparsity of one model, and whether it pays |
| `formulation/` | the equations for the acceleration, one file each |
| `drift/` | how violations of the constraints are kept from growing, one file each |
| `control_law.py` | abstract control laws and sampled loops |
| `contact_problem.py` | forces that push at gaps and rub along tangents |
| `vector_field.py` | a model's motion as a vector field on its manifold |
| `model.py` | `Model`: system, constraints and parameters; `motion` |
| `initial_conditions.py` | a start on its constraints, or a reason to refuse it |
| `higher_order.py` | variables of any order as a model |

A package called `motion` would hide the function `zw.motion`.
"""
