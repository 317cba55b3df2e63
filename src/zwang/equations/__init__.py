"""Statement of a model: a system, its state and its constraints.

| file | contents |
|---|---|
| `system.py` | `System`: M, F and N as functions of q, v, t and the parameters |
| `state.py` | `State`: q, v and t |
| `lagrangian.py` | `Lagrangian`: a system from its energies |
| `constraint/` | one file per kind of constraint; A and b from all of them |
"""
