"""Dry friction with sticking and sliding, as a constraint whose force is bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from zwang.equations.constraint.base import AbstractConstraint, number_of
from zwang.equations.constraint.level import FRICTION, AbstractLevel
from zwang.equations.constraint.nonideal import length, sliding
from zwang.errors import ModelError
from zwang.inputs.arguments import count, function, label, number, text
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned
from zwang.objects.record import field


class DryFriction(AbstractConstraint):
    """Coulomb's law of dry friction for a sliding velocity s with one or two components:

                s(q, v, t, p) = 0 with a force |f| ≤ μ₀ N    sticking
        f = −μ N s/|s|                               sliding

    A sticking contact is an ordinary constraint. It begins to slide when the constraint force would
    exceed μ₀ N. The force of a sliding contact follows the load N, which the friction may change.
    The contact sticks again when s returns to zero, if μ₀ N is large enough there.

    Args:
        slip: `(q, v, t, p)` → sliding velocity s, linear in v. It has one component for a contact
            in the plane, along its tangent [m/s], or for a hinge, its rate [rad/s]. It has two
            components for a contact in space, along two orthogonal unit vectors of its tangent
            plane.
        load: the load N: a number, the name of a parameter, a function of the parameters, or the
            name of the constraint whose force is the load: λ of a `zw.Inequality`, or the norm of λ
            of the rows of a joint. The product μ N must be the force that does work on s: the
            coefficient of a hinge of radius r is μ r [m].
        static: coefficient μ₀ of sticking: a number, the name of a parameter, or a function of the
            parameters.
        kinetic: coefficient μ of sliding, given in the same way, equal to `static` by default. A
            function is called with `(speed, p)`, for example for a Stribeck curve.
        load_rows: rows of the constraint named by `load` that form the load, for joints that also
            transmit moments; all by default.
        name: name in results; "friction" by default.
        unit: unit of s; for "m/s" the multiplier is the force in newtons.

    Raises:
        ModelError: if the sliding velocity has more than two components.

    Reference: Pfeiffer and Glocker (1996), Multibody Dynamics with Unilateral Contacts, Wiley.

    Example:
        >>> grip = zw.DryFriction(lambda q, v, t, p: v[0], load="floor", static=0.4, kinetic=0.3)
        >>> puck = zw.DryFriction(lambda q, v, t, p: v[:2], load="table", static=0.2)
    """

    slip: Callable
    load: float | str | Callable
    static: float | str | Callable
    kinetic: float | str | Callable
    name: str
    unit: str = field(static=True)
    load_rows: tuple[int, ...] = field(static=True)

    @misfits_named
    def __init__(
        self,
        slip: Callable,
        *,
        load: float | str | Callable,
        static: float | str | Callable,
        kinetic: float | str | Callable | None = None,
        name: str = "friction",
        unit: str = "",
        load_rows: Sequence[int] = (),
    ):
        self.name = label(name, "DryFriction: name")
        said = f"constraint {name!r}:"
        self.slip = function(slip, f"{said} slip", "(q, v, t, p) → sliding velocity")
        self.load = _given(load, f"{said} load", "(p) → load")
        self.static = _given(static, f"{said} static", "(p) → coefficient")
        if kinetic is None:
            mu = self.static
            self.kinetic = (lambda speed, p: mu(p)) if callable(mu) else mu
        else:
            self.kinetic = _given(kinetic, f"{said} kinetic", "(speed, p) → coefficient")
        self.unit = text(unit, f"{said} unit")
        self.load_rows = tuple(count(x, f"{said} load_rows") for x in load_rows)

    @property
    def nonideal(self) -> None:
        """None, because the force is not a function of the ideal force (`sliding_force`)."""
        return None

    @property
    def row_units(self) -> tuple[str, ...]:
        return (self.unit,) if self.unit else ()

    @property
    def level(self) -> AbstractLevel:
        return FRICTION

    def velocity_residual(self, system, q, v, t, p):
        return self.sliding_velocity(q, v, t, p)

    def sliding_velocity(self, q, v, t, p) -> Float[Array, " tangents"]:
        """s, shape (1,) or (2,)."""
        s = returned(self.slip(q, v, t, p), f"constraint {self.name!r}: slip(q, v, t, p)")
        s = jnp.asarray(s)
        if s.shape not in ((), (1,), (2,)):
            raise ModelError(
                f"constraint {self.name!r}: slip returns shape {s.shape}, expected one sliding "
                "velocity, or two of a contact in space: give each contact its own zw.DryFriction."
            )
        return s.reshape(-1)

    def normal_load(self, p, multipliers: Float[Array, " rows"] | None) -> Float[Array, ""]:
        """Return N from the multipliers of the constraint named by `load`, if it names one."""
        if multipliers is None:
            return number_of(self.load, p)
        return length(multipliers[np.array(self.load_rows)] if self.load_rows else multipliers)

    def limit(self, p, load) -> Float[Array, ""]:
        """Return the largest force of sticking, `μ₀ N`."""
        return number_of(self.static, p) * load

    def kinetic_coefficient(self, speed, p) -> Float[Array, ""]:
        """Return μ at a sliding speed."""
        return self.kinetic(speed, p) if callable(self.kinetic) else number_of(self.kinetic, p)


class Friction(NamedTuple):
    """Dry friction with the rows that it depends on.

    Attributes:
        rows: its one or two rows.
        loaded: rows of the constraint whose force is the load; None if the load is given directly.
        law: the constraint.
    """

    rows: slice
    loaded: slice | None
    law: DryFriction

    @property
    def indices(self) -> np.ndarray:
        return np.arange(self.rows.start, self.rows.stop)

    @property
    def in_space(self) -> bool:
        """True if it slides in a plane and not along a line."""
        return self.rows.stop - self.rows.start == 2

    def load(self, p, multipliers: Float[Array, " m"]) -> Float[Array, ""]:
        """N."""
        return self.law.normal_load(p, None if self.loaded is None else multipliers[self.loaded])

    @property
    def load_row(self) -> int | None:
        """The row whose force is the load, or None unless it is a single one."""
        if self.loaded is None or self.law.load_rows or self.loaded.stop - self.loaded.start > 1:
            return None
        return self.loaded.start


class FrictionGroup(NamedTuple):
    """Dry frictions with the same number of rows.

    Attributes:
        numbers: of the frictions among all, shape (k,).
        rows: their rows, shape (k, 1 or 2).
        places: of their components in `Constraints.slips`, shape (k, 1 or 2).
    """

    numbers: Int[np.ndarray, " k"]
    rows: Int[np.ndarray, "k width"]
    places: Int[np.ndarray, "k width"]

    @property
    def in_space(self) -> bool:
        """True if they slide in a plane and not along a line."""
        return self.rows.shape[1] == 2


def in_order(groups: Sequence[FrictionGroup], found: Sequence[Array]) -> Array:
    """Return the values of all frictions in their order, from those of each group."""
    order = np.argsort(np.concatenate([x.numbers for x in groups]))
    return jnp.concatenate(found)[order]


def sliding_direction(
    direction: Float[Array, " tangents"], slip: Float[Array, " tangents"], straight: Bool[Array, ""]
) -> Float[Array, " tangents"]:
    """Return s/|s| of one friction. For sliding along a fixed direction, this `direction` takes the
    place of s/|s|, because s may change its sign while its zero is searched for. A direction of
    length two denotes friction at its limit without sliding.
    """
    along = direction
    if slip.shape != (1,):
        along = jnp.where(straight, direction, sliding(slip, 0.0))
    return jnp.where(gives_all(direction), direction / 2, along)


def gives_all(direction: Float[Array, "... tangents"]) -> Bool[Array, "..."]:
    """Return whether a direction denotes friction at its limit without sliding. Such a direction
    has length 2; that of sliding has length 1, or √2 if the direction of sliding changes.
    """
    return jnp.sum(direction**2, axis=-1) > 3


def _given(value: float | str | Callable, name: str, call: str) -> float | str | Callable:
    if isinstance(value, str):
        return value
    return function(value, name, call) if callable(value) else number(value, name, least=0.0)
