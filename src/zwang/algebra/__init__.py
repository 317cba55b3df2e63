"""Linear algebra of constrained motion, which operates on numbers and calls no user functions.

| file | contents |
|---|---|
| `gauss.py` | Gauss's problem: A⊕ and the equations that use it |
| `pseudoinverse/` | methods to compute C⁺, one file each |
| `elimination/` | sparse matrices: order of elimination, factorization, C⁺ |
| `metric.py` | Gauss's problem on the host, by singular values |
| `rank.py` | threshold below which singular values count as zero |
| `mass_matrix.py` | factored mass matrices: diagonal, dense or block diagonal |
| `cholesky.py` | the Cholesky factor of one matrix, and of a batch of small ones |
| `complementarity.py` | linear complementarity problems |
| `cone_complementarity.py` | Coulomb friction in space, with disks |
| `sparsity_pattern.py` | structural nonzeros of a Jacobian |
"""
