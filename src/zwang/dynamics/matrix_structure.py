"""Operators that evaluate, check and factor A, as an array or from its entries alone."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.elimination.newton import NewtonPlan
from zwang.algebra.gauss import Gauss
from zwang.algebra.mass_matrix import AbstractMass, Matrix
from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.compile.hints import shared_code
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.objects.record import Record


class AbstractStructure(Record):
    """Structure of a constraint matrix, and its operators.

    Attributes:
        sparse: whether only entries are kept; methods that need A as an array refuse it or omit
            that part.
    """

    sparse: ClassVar[bool]

    @abc.abstractmethod
    def matrix(self, constraints: Constraints, s: State, p: PyTree) -> Matrix:
        """Return A at a state, an array or a `SparseMatrix` with the same products."""

    def linearized(self, constraints: Constraints, s: State, p: PyTree) -> tuple:
        """Return A, φ and ψ at a state."""
        return self.matrix(constraints, s, p), *constraints.residuals(s.q, s.v, s.t, p)

    @abc.abstractmethod
    def gauss(
        self,
        mass: AbstractMass,
        A: Matrix,
        method: AbstractPseudoinverse,
        row_length: Float[Array, " m"] | None,
        pattern: Callable[[], np.ndarray],
    ) -> Gauss:
        """Return Gauss's problem of a mass and rows; `pattern()` returns the positions of possible
        entries.
        """

    @abc.abstractmethod
    def missed(self, constraints: Constraints, s: State, p: PyTree) -> Float[Array, ""]:
        """Return the relative part of `A w` outside the kept entries, along a random w."""

    @property
    def newton_plan(self) -> NewtonPlan | None:
        """Return the sparse structure for a Newton step; None for an array."""
        return None


class DenseStructure(AbstractStructure):
    """A as an array."""

    sparse = False

    def matrix(self, constraints, s, p):
        return constraints.matrix(s.q, s.v, s.t, p)

    def linearized(self, constraints, s, p):
        return constraints.linearized(s.q, s.v, s.t, p)

    def gauss(self, mass, A, method, row_length, pattern):
        return Gauss(mass, A, method.knowing(mass.spread(pattern())), row_length)

    def missed(self, constraints, s, p):
        return jnp.zeros(())


DENSE = DenseStructure()


@shared_code
def linearized(
    structure: AbstractStructure, constraints: Constraints, s: State, p: PyTree
) -> tuple:
    """Return A, φ and ψ at a state."""
    return structure.linearized(constraints, s, p)
