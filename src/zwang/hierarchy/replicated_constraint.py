"""Constraint of a module at every place of the module in a larger system."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.equations.constraint import AbstractConstraint
from zwang.equations.constraint.base import AbstractForwarding
from zwang.equations.system import System
from zwang.hierarchy.instances import Instances, below, taken


class ReplicatedConstraint(AbstractForwarding):
    """Constraint that is stated for a module alone, evaluated by one `vmap` at all places of
    modules of its kind. Each place has a name, rows and a force.

    Args:
        constraint: the constraint of the module.
        home: the system of the module.
        places: where it acts.
    """

    constraint: AbstractConstraint
    home: System
    instances: Instances
    name: str

    def __init__(self, constraint: AbstractConstraint, home: System, instances: Instances):
        self.constraint, self.home, self.instances = constraint, home, instances
        first, more = below(instances.prefixes[0], constraint.name), len(instances) - 1
        self.name = f"{first} and {more} more" if more else first

    @property
    def kind(self):
        return id(self.constraint), id(self.home)

    def at(self, instances: Instances) -> ReplicatedConstraint:
        return ReplicatedConstraint(self.constraint, self.home, instances)

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(
            below(prefix, part)
            for prefix in self.instances.prefixes
            for part in self.constraint.parts
        )

    @property
    def nonideal(self) -> Callable | None:
        if self.constraint.nonideal is None:
            return None

        def placed(q, v, t, p, ideal_force):
            at = jnp.asarray(self.instances.v(self.home))
            # by place, and by part of the module's constraint
            whole = jnp.reshape(ideal_force, (len(at), -1, len(v)))
            own = jax.vmap(lambda forces, at: forces[:, at])(whole, at)
            impressed = lambda q, v, ideal, p: self.constraint.impressed(q, v, t, p, ideal)
            c = self.instances.each(impressed, p, *self._own(q, v), own)
            return jax.vmap(lambda x, c, at: x.at[:, at].set(c))(
                jnp.zeros_like(whole), c, at
            ).reshape(jnp.shape(ideal_force))

        return placed

    def _own(self, q, v):
        return taken(q, self.instances.q(self.home)), taken(v, self.instances.v(self.home))

    def position_residual(self, system, q, t, p) -> Float[Array, " rows"]:
        residual = lambda q, p: self.constraint.position_residual(self.home, q, t, p)
        return self.instances.each(residual, p, taken(q, self.instances.q(self.home))).ravel()

    def velocity_residual(self, system, q, v, t, p) -> Float[Array, " rows"]:
        residual = lambda q, v, p: self.constraint.velocity_residual(self.home, q, v, t, p)
        return self.instances.each(residual, p, *self._own(q, v)).ravel()

    def residuals(self, system, q, v, t, p):
        both = lambda q, v, p: self.constraint.residuals(self.home, q, v, t, p)
        phi, psi = self.instances.each(both, p, *self._own(q, v))
        return phi.ravel(), psi.ravel()

    def acceleration_rows(self, system, q, v, t, p):
        rows = lambda q, v, p: self.constraint.acceleration_rows(self.home, q, v, t, p)
        A, b = self.instances.each(rows, p, *self._own(q, v))
        # the function of the module returns its own columns, which are placed at its velocities
        spread = lambda A, at: jnp.zeros((len(A), system.nv)).at[:, at].set(A)
        return jax.vmap(spread)(A, jnp.asarray(self.instances.v(self.home))).reshape(
            -1, system.nv
        ), b.ravel()
