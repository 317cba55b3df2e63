"""Axes that move with a steady motion: where a state is relative to it.

A steady motion goes along a symmetry Ξ(q) = c + B q. A state is carried back by the flow of −Ξ, and
then along the model's symmetries until it is as near to the steady state as they can bring it:

    q′ = g⁻¹ q,    Pᵀ T⁺ (q′ ⊖ q₀, v′ − v₀) = 0,    P: directions of the symmetries

so that where a wheel is, and which way it heads, does not count as a deviation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import exponential
from zwang.analysis.local_equations import Generator
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.functions import as_velocity, velocity_map
from zwang.objects.record import Record

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization

NEAREST = 4
"""Steps towards the nearest place along the symmetries; deviations are small, and one step is exact
for translations."""


class MovingAxes(Record):
    """Axes of one steady motion.

    Attributes:
        dynamics: the model.
        q, v, t: the steady state.
        along: the symmetry that it moves along; fields: all symmetries, a leading axis over them.
        nearest: shape (k, 2 nv): how far along each symmetry a deviation (ξ, δv) lies.
    """

    dynamics: Dynamics
    q: jax.Array
    v: jax.Array
    t: jax.Array
    along: Generator
    fields: Generator
    nearest: jax.Array

    def deviation(self, q, v, t) -> tuple[jax.Array, jax.Array]:
        """(ξ, δv) of a state in these axes, shapes (nv,) twice."""
        q, v = self._back(self.along, t - self.t, q, v, t)
        for _ in range(NEAREST if len(self.fields.c) else 0):
            step = self.nearest @ jnp.concatenate(self._apart(q, v))
            field = Generator(*(jnp.tensordot(step, x, 1) for x in (self.fields.c, self.fields.B)))
            q, v = self._back(field, 1.0, q, v, t)
        return self._apart(q, v)

    def _apart(self, q, v):
        system, p = self.dynamics.system, self.dynamics.p
        return as_velocity(system, self.q, self.t, p, q - self.q), v - self.v

    def _back(self, field: Generator, amount, q, v, t):
        """A state carried back along the flow of a symmetry."""
        n, system, p = len(self.q), self.dynamics.system, self.dynamics.p
        matrix = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(field.B).at[:n, n].set(field.c)
        flow = exponential(-amount * matrix)
        there = flow[:n, :n] @ q + flow[:n, n]
        rate = flow[:n, :n] @ (velocity_map(system, q, t, p) @ v)
        return there, as_velocity(system, there, t, p, rate)


def axes_of(at: Linearization) -> MovingAxes:
    """The axes of a linearization about a steady motion."""
    here, found = at.here, at.found
    assert found is not None and at.along is not None
    P = at.neutral
    nearest = Decomposition(P.T @ at.symmetric_directions).solve(P.T @ at.project)
    q, v, t = (jnp.asarray(x, float) for x in (here.state.q, here.state.v, here.state.t))
    return MovingAxes(
        here.dynamics,
        q,
        v,
        t,
        at.along,
        found.fields,
        jnp.asarray(nearest),
    )
