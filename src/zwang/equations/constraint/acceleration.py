"""Constraints given outright as A(q, v, t) v̇ = b(q, v, t)."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp

from zwang.equations.constraint.base import AbstractConstraint


class AccelerationConstraint(AbstractConstraint):
    """A relation between accelerations, with nothing to be kept at position or velocity level:

        A(q, v, t, p) v̇ = b(q, v, t, p)

    Args:
        A: `(q, v, t, p)` → constraint matrix, shape (rows, nv) or (nv,).
        b: `(q, v, t, p)` → right-hand side, shape (rows,) or a scalar.
        name: name in results; "acceleration" unless given.
        nonideal: see `AbstractConstraint`.
    """

    A: Callable
    b: Callable
    name: str
    nonideal: Callable | None

    def __init__(
        self,
        A: Callable,
        b: Callable,
        *,
        name: str = "acceleration",
        nonideal: Callable | None = None,
    ):
        self.A, self.b, self.name, self.nonideal = A, b, name, nonideal

    @property
    def level(self) -> str:
        return "acceleration"

    def acceleration_rows(self, system, q, v, t, p):
        return jnp.atleast_2d(self.A(q, v, t, p)), jnp.atleast_1d(self.b(q, v, t, p))
