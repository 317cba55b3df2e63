"""What every A⊕ answers, of rows of either kind.

| rows | class | file |
|---|---|---|
| dense | `WeightedPseudoinverse` | `kernel.py` |
| with few entries | `SparseWeighted` | `operator/sparse.py` |
"""

from __future__ import annotations

from typing import Any, Protocol


class ConstraintOperator(Protocol):
    """`A⊕`, factored once and applied to many residuals.

    Attributes:
        mass: factored mass matrix.
        A: constraint matrix, shape (m, nv).
        scale: what each row is multiplied by to be of unit length, shape (m,); 0 for a row that is
            absent.
    """

    mass: Any
    A: Any
    scale: Any

    def correct(self, r: Any) -> Any:
        """`A⊕ r`, shape (nv,)."""
        ...

    def columns(self, R: Any) -> Any:
        """`A⊕` of each column of R (m, k), as rows (k, nv)."""
        ...

    def units(self) -> Any:
        """What makes rows comparable, those that are absent included, shape (m,)."""
        ...

    def log_det(self) -> Any:
        """`log det (C Cᵀ + μ I)` of the rows at unit length."""
        ...
