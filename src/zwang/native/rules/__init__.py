"""Lowering rules of JAX's primitives, one file for each kind.

| file | primitives |
|---|---|
| `elementwise` | arithmetic, comparisons, selection, functions of one and two numbers |
| `movement` | reshaping, slicing with constant indices, concatenation |
| `indexing` | gather, scatter, dynamic slices |
| `reductions` | sums, products, extrema, cumulative operations, matrix products, sorting |
| `linear_algebra` | triangular systems, Cholesky, LU |
| `lapack` | singular values, eigenvalues, QR |
| `control_flow`, `carried`, `varying` | loops and branches, loop state, divergence of lanes |
| `calls` | inner programs, and operations without effect on a CPU |
"""

from zwang.native.rules import calls as calls
from zwang.native.rules import control_flow as control_flow
from zwang.native.rules import elementwise as elementwise
from zwang.native.rules import indexing as indexing
from zwang.native.rules import lapack as lapack
from zwang.native.rules import linear_algebra as linear_algebra
from zwang.native.rules import movement as movement
from zwang.native.rules import reductions as reductions
