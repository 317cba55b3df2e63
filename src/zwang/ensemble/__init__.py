"""Motions as pure functions of start and parameters: many at once, differentiated, fitted to data.

| file | what |
|---|---|
| `trajectory.py` | `trajectory`: one motion inside `jit`, `vmap`, `grad` and `jacfwd` |
| `batch.py` | `batch`: many motions of one model, in chunks, with a result each; `prepare`: the same, compiled only |
| `narrow.py` | a program in 32-bit numbers |
| `fit.py` | `fit`: parameters from a measured trajectory, with their uncertainty |
| `problem.py` | the least-squares problem behind it |
| `names.py` | parameters by name in a nested dictionary |
"""

from zwang.ensemble.batch import Batch as Batch
from zwang.ensemble.batch import batch as batch
from zwang.ensemble.batch import prepare as prepare
from zwang.ensemble.fit import Fit as Fit
from zwang.ensemble.fit import fit as fit
from zwang.ensemble.trajectory import Trajectory as Trajectory
from zwang.ensemble.trajectory import trajectory as trajectory
