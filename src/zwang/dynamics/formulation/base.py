"""Abstract formulation of the equation of motion."""

from __future__ import annotations

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Pseudoinverse
from zwang.objects.record import AbstractClassVar, Record


class AbstractFormulation(Record):
    """Equation for the acceleration of a system `M v̇ = F + Aᵀλ` with constraints `A v̇ = b`.

    Attributes:
        equation: name and number of the equation in its paper.
        singular_mass: whether M may be singular if [M; A] has full column rank.
        redundant_constraints: whether rows of A may be dependent.
    """

    equation: AbstractClassVar[str]
    singular_mass: AbstractClassVar[bool]
    redundant_constraints: AbstractClassVar[bool]

    @abc.abstractmethod
    def acceleration(
        self,
        M: Float[Array, "n n"],
        F: Float[Array, " n"],
        A: Float[Array, "m n"],
        b: Float[Array, " m"],
        pseudoinverse: AbstractPseudoinverse,
    ) -> Float[Array, " n"]:
        """Return `v̇` [unit of v per s], shape (n,).

        Args:
            M: mass matrix [kg, kg·m² …], shape (n, n), symmetric; singular only where the
                formulation allows it.
            F: generalized force, all but constraint forces [N, N·m …], shape (n,).
            A: constraint matrix, shape (m, n).
            b: right-hand side of `A v̇ = b`, shape (m,), in the range of A.
            pseudoinverse: method for pseudoinverses, with its rank threshold.

        No error is raised, because the method runs inside compiled programs: if M is singular and
        must not be, the result is not finite. Rows of A are not scaled; the caller provides rows of
        equal units and lengths.
        """

    @abc.abstractmethod
    def operations(self, m: int, n: int) -> dict[str, float]:
        """Return the floating-point operations of each step for A of shape (m, n), with a diagonal
        M where it is inverted.

        A product (m, n) by (n, p) counts `2mnp`, the pseudoinverse of an (m, n) matrix `4m²n + 8mn²
        + 9n³`, whatever method is used (pseudoinverse paper, section on the formulation,
        assumptions 1-3).
        """

    def flops(self, m: int, n: int) -> float:
        """Sum of `operations`."""
        return sum(self.operations(m, n).values())


def columns(apply, X: Float[Array, "m k"]) -> Float[Array, "n k"]:
    """Apply a linear map of vectors to every column of X."""
    return jax.vmap(apply, in_axes=1, out_axes=1)(X)


def null_projector(pinv: Pseudoinverse) -> Float[Array, "n n"]:
    """Return `E = I − A⁺A`, the symmetric orthogonal projector onto the null space of A.

    It is orthogonal in the coordinates and not in a metric, so it adds coordinates of different
    units. The motion does not depend on these units, but round-off does.
    """
    row_space = columns(pinv.solve, pinv.C)
    n = len(row_space)
    return jnp.eye(n) - (row_space + row_space.T) / 2
