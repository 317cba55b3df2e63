"""How each primitive of JAX is emitted, one file for each kind.

| file | primitives |
|---|---|
| `elementwise` | arithmetic, comparisons, choices, functions of one and two numbers |
| `movement` | reshaping, slicing with known indices, putting together |
| `indexing` | gather, scatter, dynamic slices |
| `reductions` | sums, products, extrema, cumulative ones, products of matrices, sorting |
| `linear_algebra` | triangular systems, Cholesky, LU |
| `lapack` | singular values, eigenvalues, QR |
| `control_flow` | loops and branches |
| `calls` | inner programs, and operations that are there for JAX alone |
"""

from zwang.native.rules import calls as calls
from zwang.native.rules import control_flow as control_flow
from zwang.native.rules import elementwise as elementwise
from zwang.native.rules import indexing as indexing
from zwang.native.rules import lapack as lapack
from zwang.native.rules import linear_algebra as linear_algebra
from zwang.native.rules import movement as movement
from zwang.native.rules import reductions as reductions
