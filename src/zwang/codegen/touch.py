"""The contact problem of a model at a state: all gaps and dry frictions, none of them active."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.compile.hints import shared_code
from zwang.dynamics.scales import size_of
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, ConstrainedVectorField
from zwang.objects.record import replace


class Touched(NamedTuple):
    """Contact problem of all gaps and frictions at a state, none of them active.

    Attributes:
        gap: the gaps; inf beyond their ends.
        rate, left: velocity and acceleration of each row, gaps first.
        response: acceleration v̇ that a unit force along each row causes.
        D: acceleration of every row by a unit force along each (Delassus matrix); `free`: the same
            without the other constraints.
        multipliers, reactions: λ of all rows of the model, and its change by each unit force.
        speed, pull, place: sizes of v, of M⁻¹F and of the coordinates in the mass metric.
    """

    gap: Array
    rate: Array
    left: Array
    response: Array
    D: Array
    free: Array
    multipliers: Array
    reactions: Array
    speed: Array
    pull: Array
    place: Array

    @property
    def length(self) -> Array:
        """Length of each row in the metric of M⁻¹, 1 for a row of zeros."""
        square = jnp.diagonal(self.free)
        return jnp.sqrt(jnp.where(square > 0, square, 1.0))


@shared_code
def touch(
    rows: tuple[int, ...],
    switches: int,
    loaded: bool,
    flow: ConstrainedVectorField,
    t: Array,
    y: Array,
) -> Touched:
    """Return the contact problem at a state.

    Args:
        rows: rows of the model that are gaps and frictions; −1 for a row that is zero.
        switches: number of gaps and frictions.
        loaded: whether joints load a friction, so that their forces matter.
    """
    state, bare = flow.state(t, y), flow
    every = flow.with_input(jnp.full(switches, HELD_ON)).dynamics
    if not flow.dynamics.structure.sparse:
        bare = replace(flow, open=True)
    bare = bare.with_input(jnp.full(switches, HELD_OFF)).dynamics
    c, p, at = every.constraints, every.p, bare.equation_at(state)
    gaps, every_row = c.one_sided_rows, np.array(rows)
    phi, psi = every.residuals(state)
    gap = jnp.zeros(c.m).at[c.position_rows].set(phi)[gaps]
    # for a gap of velocities, the velocity has to stay above zero
    rate = jnp.zeros(c.m + 1).at[c.velocity_rows].set(psi)
    if (beyond := c.beyond(state.q, t, p)) is not None:
        gap = jnp.where(beyond > 0, jnp.inf, gap)
    A = jnp.append(every.matrix(state), jnp.zeros((1, len(state.v))), axis=0)[every_row]
    b = jnp.append(every.rhs(state), 0.0)[every_row]
    response, alone = jax.vmap(at.gauss.mobility)(A), jax.vmap(at.mass.solve)(A)
    multipliers, reactions = jnp.zeros(c.m), jnp.zeros((len(A), c.m))
    if loaded:
        kept = c.rows_where(lambda level: not level.lets_go)
        own = slice(None) if len(kept) == at.gauss.A.shape[0] else kept
        added = jax.vmap(lambda x: at.gauss.multipliers(at.gauss.A @ x))(alone)
        multipliers = multipliers.at[kept].set(at.multipliers[own])
        reactions = reactions.at[:, kept].set(-added[:, own])
    unit = jnp.sqrt(jnp.mean(jnp.abs(at.mass.diag())))
    place, inverse = jnp.maximum(size_of(jnp, state.q, unit), unit), bare.inverse_length
    place = jnp.minimum(place, jnp.where(inverse > 0, 1 / inverse, jnp.inf))
    return Touched(
        gap,
        rate[every_row],
        A @ bare.acceleration(at) - b,
        response,
        response @ A.T,
        alone @ A.T,
        multipliers,
        reactions,
        at.mass.size(state.v),
        jnp.sqrt(jnp.abs(at.free_acceleration @ at.force)),
        place,
    )
