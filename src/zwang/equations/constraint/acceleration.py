"""Constraints stated directly as A(q, v, t) v̇ = b(q, v, t)."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp

from zwang.equations.constraint.base import NONIDEAL, AbstractConstraint
from zwang.equations.constraint.level import ACCELERATION, AbstractLevel
from zwang.inputs.arguments import function, label, optional_function
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned


class AccelerationConstraint(AbstractConstraint):
    """Relation between accelerations that has no residual at position or velocity level:

        A(q, v, t, p) v̇ = b(q, v, t, p)

    Args:
        A: `(q, v, t, p)` → constraint matrix, shape (rows, nv) or (nv,).
        b: `(q, v, t, p)` → right-hand side, shape (rows,) or a scalar.
        name: name in results; "acceleration" by default.
        nonideal: see `AbstractConstraint`.
    """

    A: Callable
    b: Callable
    name: str
    nonideal: Callable | None

    @misfits_named
    def __init__(
        self,
        A: Callable,
        b: Callable,
        *,
        name: str = "acceleration",
        nonideal: Callable | None = None,
    ):
        self.name = label(name, "AccelerationConstraint: name")
        self.A = function(A, f"constraint {name!r}: A", "(q, v, t, p) → matrix")
        self.b = function(b, f"constraint {name!r}: b", "(q, v, t, p) → right-hand side")
        self.nonideal = optional_function(nonideal, f"constraint {name!r}: nonideal", NONIDEAL)

    @property
    def level(self) -> AbstractLevel:
        return ACCELERATION

    def acceleration_rows(self, system, q, v, t, p):
        A, b = (
            returned(f(q, v, t, p), f"constraint {self.name!r}: {x}(q, v, t, p)", integers=True)
            for x, f in (("A", self.A), ("b", self.b))
        )
        return jnp.atleast_2d(A), jnp.atleast_1d(b)
