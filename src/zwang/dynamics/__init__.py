"""Motion of a model at one state and on its constraint manifold.

| file | contents |
|---|---|
| `equation_of_motion.py` | v̇ from M, F, A and b at any state, and the scales of a model |
| `sparse_structure.py` | the sparsity of one model, and the decision to use it |
| `formulation/` | equations for the acceleration, one file each |
| `drift/` | treatments of drift, one file each |
| `control_law.py` | abstract control laws and sampled loops |
| `contact_problem.py` | normal forces at gaps and friction forces along tangents |
| `vector_field.py` | a model's motion as a vector field on its manifold |
| `model.py` | `Model`: system, constraints and parameters; `motion` |
| `initial_conditions.py` | projection of an initial state, or the reason to refuse it |
| `higher_order.py` | variables of any order as a model |

A package called `motion` would hide the function `zw.motion`.
"""
