"""Butcher tableaux."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Tableau:
    """Coefficients of a Runge-Kutta method, as nested tuples so that methods compare equal and
    compile once.

    Attributes:
        c: nodes, one per stage.
        a: row i holds the coefficients of stages before i (explicit) or up to i (diagonally
            implicit).
        b: weights of the solution.
        b_error: weights of the solution minus those of the embedded one.
    """

    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    b_error: tuple[float, ...]

    @property
    def stages(self) -> int:
        return len(self.c)

    @property
    def matrix(self) -> np.ndarray:
        """a as a square matrix, shape (stages, stages)."""
        full = np.zeros((self.stages, self.stages))
        for i, row in enumerate(self.a):
            full[i, : len(row)] = row
        return full
