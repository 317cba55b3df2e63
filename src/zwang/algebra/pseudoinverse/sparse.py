"""Selection of the sparse path by name."""

from __future__ import annotations

from jaxtyping import Array, Float

from zwang.algebra.pseudoinverse.base import AbstractPseudoinverse
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.objects.record import field
from zwang.thresholds import SMALL_PART

FEW_SPARSE_ROWS = 1000
"""Above this number m of rows the damping falls like 1/m²: the smallest singular value of a chain
of independent rows falls like 1/m, and damping must remain below its square.
"""


class Sparse(AbstractPseudoinverse):
    """Proximal sweeps on one sparse Cholesky factor of `A M⁻¹ Aᵀ + μ I`, linear in the number of
    bodies of a chain, tree or ladder.

    Sparsity is found from the functions of the model. A model takes this path by default if it is
    faster (`zwang.dynamics.sparse_structure.SPARSE_ROWS`, `Structure.pays`).

    Attributes:
        proximal: damping, number of sweeps and relaxation; `Proximal()` by default, with less
            damping for many rows (`FEW_SPARSE_ROWS`).
    """

    proximal: Proximal | None = field(
        default=None, metadata={"kind": Proximal, "example": "zw.methods.Proximal()"}
    )

    def suited(self, m: int) -> Sparse:
        """Return the method with the damping for m rows, unless one was given."""
        if self.proximal is not None:
            return self
        plain = Proximal()
        return Sparse(
            Proximal(plain.damping * min(1.0, max((FEW_SPARSE_ROWS / max(m, 1)) ** 2, SMALL_PART)))
        )

    @property
    def sweeps(self) -> Proximal:
        """The damping and number of sweeps."""
        return Proximal() if self.proximal is None else self.proximal

    def factor(self, C: Float[Array, "m n"]):
        return self.sweeps.factor(C)

    def relaxed(self, violation: Float[Array, ""]) -> Sparse:
        return Sparse(self.sweeps.relaxed(violation))

    def flops(self, m: int, n: int) -> float:
        return self.sweeps.flops(m, n)
