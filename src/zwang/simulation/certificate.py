"""Residuals of inequalities and dry friction at every accepted step.

    primal            depth −g of an open gap, relative to the size of the motion along it;
                      velocity against the direction of a sliding friction, relative to the speed
    dual              tension −λ of a closed gap and excess |f| − μ₀N of a sticking friction,
                      relative to the largest force of the run
    complementarity   A v̇ − b of the active rows, relative to its terms; inactive rows have no
                      force

The event functions of a step contain the first two, so that they need no further evaluation.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.vector_field import HELD_OFF


class Certificate:
    """Largest residuals of a run so far.

    Attributes:
        depth: primal residual.
        pull: dual residual, before it is divided by `force`.
        left: residual of the active rows.
        force: largest force of the run.
    """

    def __init__(self) -> None:
        self.depth = self.pull = self.left = self.force = self._speed = 0.0
        self._place = self._unit = np.zeros(0)

    def measure(self, place: np.ndarray, unit: np.ndarray, force: float, speed: float) -> None:
        """Measure the sizes that residuals are relative to, at one instant.

        Args:
            place: size of the motion along each gap, in its own unit.
            unit: length of the row of each gap and friction in the metric of M⁻¹.
            force, speed: of the whole system, in the metric.
        """
        self._place, self._unit = place, unit
        self.force, self._speed = max(self.force, force), max(self._speed, speed)

    def take(self, values: np.ndarray, modes: np.ndarray, residual: np.ndarray) -> None:
        """Include accepted steps.

        Args:
            values: event functions of gaps and frictions at the end of each, shape (steps, n).
            modes: how each is held during the step, shape (steps, n).
            residual: relative residual of `A v̇ = b`, shape (steps,).
        """
        n, held = len(self._place), modes > HELD_OFF
        forces = np.where(held, values * self._unit, 0.0)
        self.force = max(self.force, float(np.max(np.abs(forces[:, :n]), initial=0.0)))
        self.pull = max(self.pull, float(np.max(forces, initial=0.0)))
        size = np.concatenate([self._place, self._unit[n:] * self._speed])
        beyond = np.where(held | (size <= 0), 0.0, values) / np.where(size > 0, size, 1.0)
        self.depth = max(self.depth, float(np.max(beyond, initial=0.0)))
        acting = residual[np.any(modes != HELD_OFF, axis=1)]
        self.left = max(self.left, float(np.max(acting, initial=0.0)))

    @property
    def attributes(self) -> dict[str, float]:
        """Attributes of the run."""
        pull = self.pull / self.force if self.force > 0 else 0.0
        names = "contact_primal", "contact_dual", "contact_complementarity"
        return dict(zip(names, (self.depth, pull, self.left), strict=True))

    def memory(self) -> list[float]:
        """Return the values that later steps update, for JSON."""
        return [self.depth, self.pull, self.left, self.force]

    def recall(self, memory: list[float]) -> None:
        """Restore the values that `memory` returned."""
        self.depth, self.pull, self.left, self.force = memory
