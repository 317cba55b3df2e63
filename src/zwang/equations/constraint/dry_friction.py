"""Dry friction that sticks and slides, as a constraint that lets go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.equations.constraint.base import AbstractConstraint, number_of
from zwang.equations.constraint.level import FRICTION, AbstractLevel
from zwang.equations.constraint.nonideal import length, sliding
from zwang.errors import ModelError
from zwang.inputs.arguments import count, function, label, number, text
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned
from zwang.objects.record import field


class DryFriction(AbstractConstraint):
    """Coulomb's law of dry friction along a sliding velocity s, one number or two:

        s(q, v, t, p) = 0 with a force |f| ≤ μ₀ N    it sticks
        f = −μ N s/|s|                               it slides

    While it sticks it is a constraint like any other, and lets go where the force that this asks
    for would exceed μ₀ N. While it slides its force follows the load N, which it may change. It
    sticks again where s comes back to zero, if μ₀ N suffices there.

    Args:
        slip: `(q, v, t, p)` → sliding velocity s, linear in v: one number, of a contact in the
            plane along its tangent [m/s], of a hinge its rate [rad/s]; or two, of a contact in
            space along two directions of its tangent plane that are at right angles and of unit
            length.
        load: the load N: a number, the name of a parameter, a function of the parameters, or the
            name of the constraint whose force it is: of a `zw.Inequality` λ, of joints the length
            of λ of their rows. Times μ it must be the force that does work on s: the coefficient of
            a hinge of radius r is μ r [m].
        static: coefficient μ₀ while it sticks; the name of a parameter, or a function of the
            parameters.
        kinetic: μ while it slides, likewise; that of `static` by default. A function takes
            `(speed, p)`: Stribeck's curve.
        load_rows: which rows of the constraint that it names are the load, of joints that transmit
            moments, too; all by default.
        name: name in results; "friction" by default.
        unit: unit of s, such as "m/s", whose multiplier is then the force in newtons.

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
        """None: its force is no function of its own ideal force (`sliding_force`)."""
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
        """N, given the multipliers of the constraint that it names, if it names one."""
        if multipliers is None:
            return number_of(self.load, p)
        return length(multipliers[np.array(self.load_rows)] if self.load_rows else multipliers)

    def limit(self, p, load) -> Float[Array, ""]:
        """Largest force that sticks, `μ₀ N`."""
        return number_of(self.static, p) * load

    def kinetic_coefficient(self, speed, p) -> Float[Array, ""]:
        """μ while it slides with a speed."""
        return self.kinetic(speed, p) if callable(self.kinetic) else number_of(self.kinetic, p)

    def sliding_force(self, q, v, t, p, load, direction, straight) -> Float[Array, " nv"]:
        """`−μ N (∂s/∂v)ᵀ s/|s|`; where it slides straight on, along the direction that is given:
        while its zero is looked for, s may come to the other side. `−μ₀ N` along one of length
        two, where it gives all it may and does not slide.
        """
        s, pull = jax.vjp(lambda v: self.sliding_velocity(q, v, t, p), v)
        spent = gives_all(direction)
        along = direction if s.shape == (1,) else jnp.where(straight, direction, sliding(s, 0.0))
        along = jnp.where(spent, direction / 2, along)
        mu = self.kinetic_coefficient(length(s), p)
        mu = jnp.where(spent, number_of(self.static, p), mu)
        return -mu * load * pull(along)[0]


def gives_all(direction: Float[Array, " tangents"]) -> Bool[Array, ""]:
    """Whether a direction is that of friction which gives all it may without sliding: of length
    two, where one that slides has one, or √2 if it turns.
    """
    return jnp.sum(direction**2) > 3


def _given(value: float | str | Callable, name: str, call: str) -> float | str | Callable:
    if isinstance(value, str):
        return value
    return function(value, name, call) if callable(value) else number(value, name, least=0.0)
