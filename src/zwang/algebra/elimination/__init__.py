"""Sparse path, whose cost is proportional to the number of bodies, for models of plain functions.

    A, by one product per color  →  C = A M^-1/2  →  C Cᵀ + μ I in blocks  →  its factor, in rounds
    →  C⁺

| file | contents |
|---|---|
| `probing.py` | structural nonzeros of A, from products A w at random states |
| `matrix.py` | sparse matrix with the products of an array |
| `order.py` | nodes of rows, and rounds of nodes that are eliminated at once |
| `elimination.py` | the order of elimination, planned once on the host |
| `factor.py` | Cholesky factorization and solves in that order |
| `pseudoinverse.py` | C⁺ on this factor, with its derivatives; rank by pivots |
| `newton.py` | Newton steps of an implicit method, K and A in one factor |
| `gather.py` | sums over lists as gathers |

`zwang.algebra.gauss` computes A⊕ from this factor, `zwang.dynamics.sparse_structure` decides
whether a model takes this path, and `zwang.algebra.pseudoinverse.Sparse` selects it by name.
"""
