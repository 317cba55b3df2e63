"""A start on its constraints, and the scales of a motion, inside a compiled program.

`zw.simulate` finds both on the host (`zwang.dynamics.placement`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.arithmetic import without_derivative
from zwang.dynamics.drift import Projection
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.placement import directions_of, extent_of, scales_of, size_of
from zwang.equations.state import State
from zwang.simulation.differentiable import corrected, position_violation


def placed(
    dynamics: Dynamics, given: State, target: Float[Array, ""]
) -> tuple[State, Float[Array, ""]]:
    """The start on its constraints, and the violation that it had: of position, or of velocity
    relative to the speed.
    """
    if not dynamics.constraints.m:
        return given, jnp.zeros(())
    fixed, at = without_derivative(dynamics), without_derivative(given)
    A = fixed.matrix(at)
    moving = fixed.weighted(fixed.mass(at, A), A, fixed.constraints.velocity_rows)
    slip, speed = (
        jnp.linalg.norm(moving.scale * fixed.velocity_residual(at)),
        jnp.sqrt(jnp.abs(at.v @ moving.mass.apply(at.v))),
    )
    before = jnp.maximum(
        position_violation(fixed, at),
        jnp.where(slip > 0, slip / jnp.maximum(speed, 1e-300), 0.0),
    )
    # a start has no error of a step that could be projected along
    nothing = (jnp.zeros_like(at.q), jnp.zeros_like(at.v))
    found = Projection().project_step(fixed, at, nothing, target).state
    s = State(
        given.q + without_derivative(found.q - given.q),
        given.v + without_derivative(found.v - given.v),
        given.t,
    )
    return corrected(dynamics, s), before


def scales_at(dynamics: Dynamics, s: State, span: Float[Array, ""]) -> Scales:
    """`zwang.dynamics.drift.measure` inside a program."""
    A = dynamics.matrix(s)
    mass = dynamics.mass(s, A)
    length = dynamics.row_lengths(mass, A)
    speed = lambda w: jnp.sqrt(jnp.abs(w @ mass.apply(w)))
    unit = jnp.sqrt(jnp.mean(jnp.abs(mass.diag())))
    place = speed(s.q) if len(s.q) == len(s.v) else size_of(jnp, s.q, unit)
    free = mass.solve(jnp.asarray(dynamics.system.force(s.q, s.v, s.t, dynamics.p)))
    extent = extent_of(jnp, place, speed(s.v), speed(free), unit, span)
    directions = jax.vmap(mass.unweigh)(jnp.asarray(directions_of(dynamics.system.nv)))
    still = 0 * directions[:1]
    b = jax.vmap(lambda w: dynamics.rhs(State(s.q, w, s.t)))(
        jnp.concatenate([directions, -directions, still])
    )
    half = len(directions)
    return scales_of(jnp, length, 0.5 * (b[:half] + b[half:-1]) - b[-1], extent)
