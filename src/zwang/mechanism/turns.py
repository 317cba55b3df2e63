"""Angles in space that count whole turns.

A rotation determines its angle modulo 2π. If a law needs whole turns (a torsion spring, an effort
that is a formula of the angle, a servo, a cam), the angle becomes one more coordinate θ of the
system, without a velocity of its own:

    θ̇ = (∂α/∂q) q̇,    angle = θ + wrap(α(q) − θ)

with α the angle of the rotation. The angle is that of the bodies to the last digit, and θ only
determines the turn. In joint coordinates the coordinate of the joint itself counts turns.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from zwang.equations.system import AbstractVelocityMap, System
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.relative_pose import counted
from zwang.mechanism.resolution import Ends


class Turns:
    """The angles that count turns, and their entries of q.

    Args:
        geometry: bodies and points.
        own: ends → the entry of q that is their coordinate, if one is.
        coordinates: number of coordinates of the bodies; those of the rough start by default.
    """

    def __init__(self, geometry: Geometry, own: Callable, coordinates: int | None):
        self._d, self._own = geometry.d, own
        self.bodies = len(geometry.q) if coordinates is None else coordinates
        self._entries: dict[tuple[int, int, str], int] = {}
        self.added: dict[str, Ends] = {}

    def count(self, ends: Ends, name: str) -> None:
        """Count the turns of an angle, for a part of that name."""
        key = _key(ends)
        if self._d == 2 or not ends.coordinate.angular or key in self._entries:
            return
        entry = self._own(ends)
        if entry is None:
            entry = self.bodies + len(self.added)
            self.added[f"{name}.turned"] = ends
        self._entries[key] = entry

    def entry(self, ends: Ends) -> int | None:
        """The entry of q that counts the turns of an angle, or None."""
        return self._entries.get(_key(ends))


def _key(ends: Ends) -> tuple[int, int, str]:
    return ends.a, ends.b, ends.coordinate.name


class CountingSystem:
    """Bodies with angles that count turns.

    Args:
        bodies: the system of the bodies alone, without forces and springs.
        angles: `(q, p)` → the angles modulo 2π, shape (k,), of the coordinates of bodies.
        applied: `(q, v, t, p)` → further generalized forces, or None.
        further: `(q, t, p)` → further potential energy, or None.
    """

    def __init__(
        self, bodies: System, angles: Callable, applied: Callable | None, further: Callable | None
    ):
        self.bodies, self.angles = bodies, angles
        self.applied, self.further = applied, further

    def system(self, names: list[str]) -> System:
        """The system, whose last coordinates have these names."""
        b = self.bodies
        return System(
            b.nq + len(names),
            lambda q, t, p: b.mass_matrix(q[: b.nq], t, p),
            self.force,
            nv=b.nv,
            velocity_map=_Rates(self),
            retract=self.retract,
            potential=self.energy,
            coordinates=[*b.coordinates, *names],
            velocities=list(b.velocities),
            units=[*b.units, *["rad"] * len(names)],
            velocity_units=list(b.velocity_units),
            parameters={k: (list(x), unit) for k, x, unit in b.parameters},
        )

    def energy(self, q, t, p):
        """Potential energy of the bodies and of the springs."""
        potential = self.bodies.potential
        assert potential is not None
        weight = potential(q[: self.bodies.nq], t, p)
        return weight if self.further is None else weight + self.further(q, t, p)

    def force(self, q, v, t, p):
        """Forces of the bodies and further applied forces."""
        n = self.bodies.nq
        F = self.bodies.force(q[:n], v, t, p)
        F = F if self.applied is None else F + self.applied(q, v, t, p)
        if self.further is None:
            return F
        # An angle does not depend on the coordinate that counts its turns.
        slope = jax.grad(self.further)(q, t, p)[:n]
        pull = jax.vjp(lambda v: self.bodies.rate(q[:n], v, t, p), v)[1]
        return F - pull(slope)[0]

    def rate(self, q, v, t, p):
        """q̇ of the bodies and of the angles."""
        n = self.bodies.nq
        moving = self.bodies.rate(q[:n], v, t, p)
        turning = jax.jvp(lambda x: self.angles(x, p), (q[:n],), (moving,))[1]
        return jnp.concatenate([moving, turning])

    def retract(self, q, dv, t, p):
        """Move the bodies, and update the counted angles."""
        n = self.bodies.nq
        moved = self.bodies.move(q[:n], dv, t, p)
        ahead = q[n:] + self.rate(q, dv, t, p)[n:]
        return jnp.concatenate([moved, counted(self.angles(moved, p), ahead)])


class _Rates(AbstractVelocityMap):
    """N of bodies and angles."""

    def __init__(self, counting: CountingSystem):
        self.counting = counting

    def __call__(self, q, t, p):
        nv = self.counting.bodies.nv
        return jax.vmap(lambda v: self.counting.rate(q, v, t, p), out_axes=1)(jnp.eye(nv))

    def along(self, q, dv, t, p):
        return self.counting.rate(q, dv, t, p)
