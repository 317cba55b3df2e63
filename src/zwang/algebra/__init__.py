"""Linear algebra of constrained motion: numbers only, no user functions.

| file | what |
|---|---|
| `kernel.py` | A⊕, the equations of the theory on one page |
| `operator/` | A⊕ on other representations of A |
| `pseudoinverse/` | ways to compute C⁺, one file per method |
| `elimination/` | sparse matrices: order of elimination, factorization, solution |
| `mass_matrix.py` | the mass matrix, factored |
| `cholesky.py` | the Cholesky factor of one matrix, and of a batch of small ones |
| `complementarity.py` | linear complementarity problems |
| `sparsity_pattern.py` | which entries of a Jacobian can differ from zero |
"""
