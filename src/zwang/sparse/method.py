"""The sparse path by name."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float

from zwang.pseudoinverse import AbstractPseudoinverse, Proximal


class Sparse(AbstractPseudoinverse):
    """Proximal sweeps on one sparse Cholesky factor of `A M⁻¹ Aᵀ + μ I`, linear in the number of bodies of a chain, tree or ladder.

    Sparsity is found from the model's functions. A model takes this path by itself where it pays
    (`zwang.sparse.structure.SPARSE_ROWS`, `GAIN`).

    Attributes:
        sweeps: `Proximal` with the damping, number of sweeps and relaxation to use.
    """

    proximal: Proximal = Proximal()

    def factor(self, C: Float[Array, "m n"]):
        return self.proximal.factor(C)

    def relaxed(self, violation: Float[Array, ""]) -> Sparse:
        return Sparse(self.proximal.relaxed(violation))

    def flops(self, m: int, n: int) -> float:
        return self.proximal.flops(m, n)
