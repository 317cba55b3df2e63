"""Nonholonomic constraints, ψ(q, v, t) = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp

from zwang.equations.constraint.base import NONIDEAL, AbstractRows, checked_units
from zwang.equations.constraint.level import VELOCITY, AbstractLevel
from zwang.inputs.arguments import function, label, labels, optional_function
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned
from zwang.objects.record import field


class Nonholonomic(AbstractRows):
    """Relation between velocities, linear (rolling, knife edges) or nonlinear (Appell-Hamel):

        ψ(q, v, t, p) = 0

    Args:
        psi: `(q, v, t, p)` → residual, a scalar or shape (rows,).
        name: name in results; "nonholonomic" by default.
        nonideal: see `AbstractConstraint`.
        parts: names of equal constraints whose rows `psi` returns one after another, the same
            number for each: one function serves many joints, and results list each by its name;
            none by default.
        unit: unit of ψ, one for all rows or one per row (of one part). For a sliding velocity in
            "m/s" the multiplier is a force in newtons. Without a unit, results are in model units.

    Example:
        >>> knife = Nonholonomic(
        ...     lambda q, v, t, p: v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]), name="knife edge")
    """

    psi: Callable
    name: str
    nonideal: Callable | None
    labels: tuple[str, ...]
    unit: tuple[str, ...] = field(static=True)

    @misfits_named
    def __init__(
        self,
        psi: Callable,
        *,
        name: str = "nonholonomic",
        nonideal: Callable | None = None,
        parts: Sequence[str] = (),
        unit: str | Sequence[str] = (),
    ):
        self.name = label(name, "Nonholonomic: name")
        self.psi = function(psi, f"constraint {name!r}: psi", "(q, v, t, p) → residual")
        self.nonideal = optional_function(nonideal, f"constraint {name!r}: nonideal", NONIDEAL)
        self.labels = labels(parts, f"constraint {name!r}: parts")
        self.unit = checked_units(unit, name)

    @property
    def level(self) -> AbstractLevel:
        return VELOCITY

    def velocity_residual(self, system, q, v, t, p):
        psi = returned(self.psi(q, v, t, p), f"constraint {self.name!r}: psi(q, v, t, p)")
        return jnp.atleast_1d(psi)
