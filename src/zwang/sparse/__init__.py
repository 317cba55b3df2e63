"""The sparse path: cost in proportion to the number of bodies, from plain functions.

    A, by one product per color  →  C = A M^-1/2  →  C Cᵀ + μ I in blocks  →  its factor, in rounds
    →  A⊕

| file | what |
|---|---|
| `pattern.py` | where A has entries, from products A w at random states |
| `matrix.py` | A with its entries only; multiplies like an array |
| `elimination.py` | the order of elimination, planned once on the host |
| `factor.py` | Cholesky factorization and solves in that order |
| `weighted.py` | A⊕ with its derivatives; rank by pivots |
| `newton.py` | Newton steps of an implicit method, K and A in one factor |
| `structure.py` | all that is known about one model, and whether it pays |
| `method.py` | `Sparse`, the path by name |
| `gather.py` | sums over lists as gathers |
"""

from zwang.sparse.matrix import SparseMatrix as SparseMatrix
from zwang.sparse.method import Sparse as Sparse
from zwang.sparse.pattern import MOST_COLORS as MOST_COLORS
from zwang.sparse.structure import MISSED as MISSED
from zwang.sparse.structure import Sparsity as Sparsity
from zwang.sparse.structure import Structure as Structure
