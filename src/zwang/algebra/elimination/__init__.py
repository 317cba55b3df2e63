"""The sparse path: cost in proportion to the number of bodies, from plain functions.

    A, by one product per color  →  C = A M^-1/2  →  C Cᵀ + μ I in blocks  →  its factor, in rounds
    →  C⁺

| file | what |
|---|---|
| `probing.py` | where A has entries, from products A w at random states |
| `matrix.py` | A with its entries only; multiplies like an array |
| `order.py` | which rows form a node, and which nodes are eliminated at once |
| `elimination.py` | the order of elimination, planned once on the host |
| `factor.py` | Cholesky factorization and solves in that order |
| `pseudoinverse.py` | C⁺ on this factor, with its derivatives; rank by pivots |
| `newton.py` | Newton steps of an implicit method, K and A in one factor |
| `gather.py` | sums over lists as gathers |

A⊕ on this factor is `zwang.algebra.gauss`, the choice of this path for one model is
`zwang.dynamics.sparse_structure`, and `zwang.algebra.pseudoinverse.Sparse` selects it by name.
"""
