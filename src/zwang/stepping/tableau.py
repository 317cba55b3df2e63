"""Butcher tableaux."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np


@dataclasses.dataclass(frozen=True)
class Tableau:
    """Coefficients of a Runge-Kutta method, as nested tuples, so that equal methods compare equal
    and compile once.

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

    @functools.cached_property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """b and b_error as arrays, each of shape (stages,)."""
        return np.asarray(self.b), np.asarray(self.b_error)

    @property
    def matrix(self) -> np.ndarray:
        """a as a square matrix, shape (stages, stages)."""
        full = np.zeros((self.stages, self.stages))
        for i, row in enumerate(self.a):
            full[i, : len(row)] = row
        return full


CLASSICAL = Tableau(
    c=(0.0, 0.5, 0.5, 1.0),
    a=((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
    b_error=(0.0, 0.0, 0.0, 0.0),
)
"""The method of order four of Kutta (1901), for steps of equal length without an error estimate."""
