"""Holonomic constraints, φ(q, t) = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp

from zwang.equations.constraint.base import NONIDEAL, AbstractPosition, checked_units
from zwang.inputs.arguments import function, label, labels, optional_function
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned
from zwang.objects.record import field


class Holonomic(AbstractPosition):
    """Relation between coordinates and, if rheonomic, time:

        φ(q, t, p) = 0,    ψ = φ̇ = φ_q N v + φ_t

    Args:
        phi: `(q, t, p)` → residual, a scalar or shape (rows,), in any unit; rows may be linearly
            dependent.
        name: name in results; "holonomic" by default.
        nonideal: see `AbstractConstraint`.
        parts: names of equal constraints whose rows `phi` returns one after another, the same
            number for each: one function serves many joints, and results list each by its name;
            none by default.
        unit: unit of φ, one for all rows or one per row (of one part). For a distance in "m" the
            multiplier is the force along it in newtons. Without a unit, results are in model units.

    Example:
        >>> rod = Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    """

    phi: Callable
    name: str
    nonideal: Callable | None
    labels: tuple[str, ...]
    unit: tuple[str, ...] = field(static=True)

    @misfits_named
    def __init__(
        self,
        phi: Callable,
        *,
        name: str = "holonomic",
        nonideal: Callable | None = None,
        parts: Sequence[str] = (),
        unit: str | Sequence[str] = (),
    ):
        self.name = label(name, "Holonomic: name")
        self.phi = function(phi, f"constraint {name!r}: phi", "(q, t, p) → residual")
        self.nonideal = optional_function(nonideal, f"constraint {name!r}: nonideal", NONIDEAL)
        self.labels = labels(parts, f"constraint {name!r}: parts")
        self.unit = checked_units(unit, name)

    def position_residual(self, system, q, t, p):
        phi = returned(self.phi(q, t, p), f"constraint {self.name!r}: phi(q, t, p)")
        return phi if jnp.ndim(phi) else jnp.reshape(phi, 1)
