"""Dry frictions with their numerical values, on the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.cone_complementarity import Disk
from zwang.dynamics.contact_problem import ContactProblem
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import (
    SLIDES_BACKWARD,
    SLIDES_FORWARD,
    SPENT,
    STRAIGHT,
    straight_angle,
)
from zwang.equations.constraint import DryFriction
from zwang.equations.constraint.base import number_of
from zwang.errors import ModelError


class HostFriction(NamedTuple):
    """One dry friction of a run.

    Attributes:
        rows: its one or two rows; `gap`: index of the gap that loads it, or −1.
        loaded: rows of the joints that load it, or None.
        load: N if it is given, else 0.
        static: μ₀; `law`: the constraint.
        p: parameters.
    """

    rows: np.ndarray
    gap: int
    loaded: slice | None
    load: float
    static: float
    law: DryFriction
    p: PyTree

    def kinetic(self, speed: float) -> float:
        """Return μ at a speed."""
        return float(np.asarray(self.law.kinetic_coefficient(speed, self.p)))

    def pull(self, problem: ContactProblem, direction: np.ndarray) -> np.ndarray:
        """Return the force per unit of the load while it slides along a direction, shape (nv,)."""
        mu = self.kinetic(float(np.linalg.norm(problem.psi[self.rows])))
        return -mu * direction @ problem.A[self.rows]

    def disk(self, places: Mapping[int, int] | np.ndarray, load: float, mu: float) -> Disk:
        """Return the disk of admissible forces for a coefficient, `places` being the indices of the
        gaps.
        """
        if self.gap >= 0:
            return Disk(self.rows, int(places[self.gap]), mu)
        return Disk(self.rows, -1, 0.0, mu * load)

    def way(self, direction: np.ndarray, straight: bool) -> float:
        """Return the mode while it slides along a direction, in space straight on or turning."""
        if len(direction) == 2 and straight:
            return STRAIGHT - np.arctan2(direction[1], direction[0]) % (2 * np.pi)
        forward = len(direction) == 2 or direction[0] > 0
        return SLIDES_FORWARD if forward else SLIDES_BACKWARD

    def spent(self, along: np.ndarray) -> float:
        """Return the mode while its force is at its limit along a direction, and it does not
        slide.
        """
        return SPENT - np.arctan2(-along[1] if len(along) == 2 else 0.0, -along[0]) % (2 * np.pi)

    def comes_to_rest(self, psi: np.ndarray, mode: float) -> bool:
        """Return whether the event of its sliding is that it comes to rest, not that its direction
        turns.
        """
        if mode > STRAIGHT:
            return True
        angle = straight_angle(mode)
        return bool(np.array([np.cos(angle), np.sin(angle)]) @ psi[self.rows] <= 0)

    def load_of(self, multipliers: np.ndarray, given: float, gaps: np.ndarray) -> float:
        """Return N from the forces of joints or of a gap; the given one for any other load."""
        if self.gap >= 0:
            return max(float(multipliers[gaps[self.gap]]), 0.0)
        return given if self.loaded is None else float(np.linalg.norm(multipliers[self.load_rows]))

    @property
    def load_rows(self) -> np.ndarray:
        """Rows whose force loads it; none if the load is given."""
        if self.loaded is None:
            return np.zeros(0, int)
        own = np.arange(self.loaded.start, self.loaded.stop)
        return own[list(self.law.load_rows)] if self.law.load_rows else own


def frictions_of(model: Model, p: PyTree) -> list[HostFriction]:
    """Return the dry frictions of a model with parameters p."""
    gaps = model.constraints.one_sided_rows
    found = []
    for x in model.constraints.frictions:
        own = (
            np.arange(len(gaps))[:0]
            if x.loaded is None
            else np.flatnonzero((gaps >= x.loaded.start) & (gaps < x.loaded.stop))
        )
        if len(own) > 1:
            raise ModelError(
                f"constraint {x.law.name!r}: load is {x.law.load!r} of {len(own)} gaps, expected "
                "one: give each its own zw.Inequality and friction."
            )
        found.append(
            HostFriction(
                np.arange(x.rows.start, x.rows.stop),
                int(own[0]) if len(own) else -1,
                x.loaded,
                0.0 if x.loaded is not None else value_of(x.law.load, p),
                value_of(x.law.static, p),
                x.law,
                p,
            )
        )
    return found


def value_of(given: object, p: PyTree) -> float:
    """Return a number that is given as such, by the name of a parameter, or by a function of
    parameters.
    """
    return float(np.asarray(number_of(given, p)))
