"""A servo constraint whose residual is differentiated further than accelerations, along the passive
motion.

With f the passive motion without control, ẋ = f(x) for x = (q, v, t), and y the residual,

    z = L_f^(r−1) y      is a function of q, v, t like any velocity residual,

so that the constraint at relative degree r is the nonholonomic constraint z and needs no machinery
of its own: A_s = ∂z/∂v, b_s = −(dz/dt at fixed v). It is right where no control acts on y, ẏ …
y^(r−1), i.e. where r is the relative degree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.state import State

NATURAL_DEGREE = {"position": 2, "velocity": 1, "acceleration": 0}
"""Derivatives of a constraint's residual until accelerations appear in it."""


def passive_acceleration(dynamics: Dynamics, s: State) -> Float[Array, " nv"]:
    """a₀: v̇ with passive constraints and without control."""
    A = dynamics.matrix(s)
    weighted = dynamics.weighted(dynamics.mass(s, A), A)
    return dynamics.acceleration(dynamics.equation(s, weighted))


def chain(
    constraint: AbstractConstraint, dynamics: Dynamics, s: State, order: int
) -> list[Float[Array, " rows"]]:
    """`y, ẏ … y^(order−1)` along the passive motion without control, each of shape (rows,).

    Args:
        constraint: at position level y = φ, at velocity level y = ψ.
        dynamics: of the passive system.
        s: state.
        order: how many.
    """
    if order == 0:
        return []
    position = constraint.level == "position"
    residuals: list[Callable] = []
    if position:
        residuals.append(
            lambda q, v, t: constraint.position_residual(dynamics.system, q, t, dynamics.p)
        )
    residuals.append(
        lambda q, v, t: constraint.velocity_residual(dynamics.system, q, v, t, dynamics.p)
    )
    while len(residuals) < order:
        residuals.append(_along(residuals[-1], dynamics))
    return [y(s.q, s.v, s.t) for y in residuals[:order]]


def _along(y: Callable, dynamics: Dynamics) -> Callable:
    """`L_f y`."""

    def rate(q, v, t):
        # without control: below the relative degree no actuator appears in the derivative
        acceleration = passive_acceleration(dynamics, State(q, v, t))
        return jax.jvp(
            y,
            (q, v, t),
            (dynamics.system.rate(q, v, t, dynamics.p), acceleration, jnp.ones_like(t)),
        )[1]

    return rate


class DifferentiatedConstraint(AbstractConstraint):
    """`z(q, v, t) = L_f^(degree−1) y = 0`, at velocity level.

    Attributes:
        original: the constraint with residual y.
        dynamics: of the passive system; its own parameters are replaced by those of the call.
        degree: r.
    """

    original: AbstractConstraint
    dynamics: Dynamics
    degree: int = eqx.field(static=True)
    name: str
    nonideal: Callable | None

    def __init__(self, original: AbstractConstraint, dynamics: Dynamics, degree: int):
        self.original, self.dynamics, self.degree = original, dynamics, degree
        self.name, self.nonideal = original.name, None

    @property
    def level(self) -> str:
        return "velocity"

    def velocity_residual(self, system, q, v, t, p):
        dynamics = dataclasses.replace(self.dynamics, p=p)
        return chain(self.original, dynamics, State(q, v, t), self.degree)[-1]
