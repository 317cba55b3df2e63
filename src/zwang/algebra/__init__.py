"""Linear algebra of constrained motion: numbers only, no user functions.

| file | what |
|---|---|
| `gauss.py` | Gauss's problem: A⊕, the equations of the theory on one page |
| `pseudoinverse/` | ways to compute C⁺, one file per method |
| `elimination/` | sparse matrices: order of elimination, factorization, C⁺ |
| `metric.py` | the same on the host, by singular values |
| `rank.py` | which singular values count as zero |
| `mass_matrix.py` | the mass matrix, factored: diagonal, dense or in blocks |
| `cholesky.py` | the Cholesky factor of one matrix, and of a batch of small ones |
| `complementarity.py` | linear complementarity problems |
| `cone_complementarity.py` | Coulomb's problem in space, with disks |
| `sparsity_pattern.py` | which entries of a Jacobian can differ from zero |
"""
