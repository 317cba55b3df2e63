"""Inequality (unilateral) constraints g(q, t) ≥ 0: stops, contacts, ropes, play, ratchets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.equations.constraint.base import AbstractPosition, checked_units
from zwang.equations.constraint.level import GAP, ONE_WAY, AbstractLevel
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, flag, function, label, labels, number
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned
from zwang.objects.record import field


class Inequality(AbstractPosition):
    """Gap that may open and close and never becomes negative:

        0 ≤ g(q, t, p),   λ ≥ 0,   λ g = 0

    A closed gap acts as a holonomic constraint with λ ≥ 0, and opens when λ would become negative.
    By Gauss's principle the acceleration is the one closest to the free acceleration, in the mass
    metric, among all accelerations that the constraints allow: `g̈ ≥ 0` for every closed gap. When
    a gap closes with nonzero speed, the velocity jumps (`zwang.simulation.contact`).

    With `velocity=True` the function returns a velocity that never becomes negative, as in a
    ratchet or a one-way clutch, whose gap is always closed:

        0 ≤ ψ(q, v, t, p),   λ ≥ 0,   λ ψ = 0

    Args:
        gap: `(q, t, p)` → gap, a scalar or shape (rows,), positive if open; each row opens and
            closes independently. With `velocity`, `(q, v, t, p)` → ψ.
        name: name in results; "inequality" by default.
        restitution: coefficient e from 0 (no rebound) to 1 (no loss); a number, the name of a
            parameter, or a function of the parameters.
        impact: law in which e is used: "newton" for velocities, `ġ⁺ = −e ġ⁻`, or "poisson" for
            impulses, in which the impulse of expansion is e times that of compression. The laws
            differ if friction acts.
        parts: names of equal gaps that the function returns one after another, the same number for
            each.
        unit: unit of g or ψ. For "m" or "m/s" the multiplier is the normal force in newtons.
        velocity: whether the function returns a velocity.
        within: `(q, t, p)` → a number for each gap that is nonnegative where the gap is defined,
            such as the distance to the end of a floor. Where the number is negative, the gap counts
            as open whatever its value; a closed gap becomes inactive at the end. By default gaps
            have no end.

    Reference: Kalaba and Udwadia (1994), Appl. Math. Comput. 60, 1-13 (Gauss's principle with
        inequalities); Moreau (1988), in Nonsmooth Mechanics and Applications, Springer, 1-82
        (impacts).

    Example:
        >>> floor = zw.Inequality(lambda q, t, p: q[1], name="floor", restitution=0.5, unit="m")
        >>> ratchet = zw.Inequality(lambda q, v, t, p: v[0], name="ratchet", velocity=True)
    """

    gap: Callable
    name: str
    restitution: float | str | Callable
    impact: str = field(static=True)
    labels: tuple[str, ...]
    unit: tuple[str, ...] = field(static=True)
    velocity: bool = field(static=True)
    within: Callable | None

    @misfits_named
    def __init__(
        self,
        gap: Callable,
        *,
        name: str = "inequality",
        restitution: float | str | Callable = 0.0,
        impact: Literal["newton", "poisson"] = "newton",
        parts: Sequence[str] = (),
        unit: str | Sequence[str] = (),
        velocity: bool = False,
        within: Callable | None = None,
    ):
        self.name = label(name, "Inequality: name")
        self.velocity = flag(velocity, f"constraint {name!r}: velocity")
        form = "(q, v, t, p) → velocity" if velocity else "(q, t, p) → gap"
        self.gap = function(gap, f"constraint {name!r}: gap", form)
        said = f"constraint {name!r}: restitution"
        self.restitution = (
            restitution
            if isinstance(restitution, str) or callable(restitution)
            else number(restitution, said, least=0.0, most=1.0)
        )
        self.impact = choice(impact, f"constraint {name!r}: impact", ("newton", "poisson"))
        self.labels = labels(parts, f"constraint {name!r}: parts")
        self.unit = checked_units(unit, name)
        if within is not None:
            function(within, f"constraint {name!r}: within", "(q, t, p) → way to the end of a gap")
            if velocity:
                raise ModelError(
                    f"constraint {name!r}: within is given beside velocity=True, whose gap is "
                    "always closed; leave one of them out."
                )
        self.within = within

    @property
    def nonideal(self) -> None:
        """None, because a normal force does no virtual work; for friction use `zw.DryFriction`."""
        return None

    @property
    def level(self) -> AbstractLevel:
        return ONE_WAY if self.velocity else GAP

    def position_residual(self, system, q, t, p):
        gap = returned(self.gap(q, t, p), f"constraint {self.name!r}: gap(q, t, p)")
        return jnp.atleast_1d(gap)

    def way_to_end(self, q, t, p, gaps: int) -> Float[Array, " rows"]:
        """Return the distance of each gap to its end, inf without `within`."""
        if self.within is None:
            return jnp.full(gaps, jnp.inf)
        found = returned(self.within(q, t, p), f"constraint {self.name!r}: within(q, t, p)")
        if jnp.shape(found) not in ((), (gaps,)):
            raise ModelError(
                f"constraint {self.name!r}: within returns shape {jnp.shape(found)}, expected "
                f"({gaps},), a number for each gap."
            )
        return jnp.broadcast_to(found, (gaps,))

    def velocity_residual(self, system, q, v, t, p):
        if not self.velocity:
            return super().velocity_residual(system, q, v, t, p)
        psi = returned(self.gap(q, v, t, p), f"constraint {self.name!r}: gap(q, v, t, p)")
        return jnp.atleast_1d(psi)

    def residuals(self, system, q, v, t, p):
        if not self.velocity:
            return super().residuals(system, q, v, t, p)
        return jnp.zeros(0), self.velocity_residual(system, q, v, t, p)
