"""What every way to treat drift offers: the rate at a stage, and what happens to a finished
step.
"""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.algebra.gauss import Gauss
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.equations.state import State
from zwang.objects.record import AbstractVar, Record


class ProjectedStep(NamedTuple):
    """A step after its drift was treated.

    Attributes:
        state: the state to go on from.
        error: the step's error estimate for q and v, without what is no error.
        violation: dimensionless position violation that remains.
        slip: velocity residual that remains, relative to the velocities in it.
        creep: rate at which it would let the dimensionless violation grow [1/s]; inf if unknown.
        converged: whether the projection came to an end.
        log_det: log-determinant of the rows at unit length (`Gauss.log_det`).
    """

    state: State
    error: tuple[Float[Array, " nq"], Float[Array, " nv"]]
    violation: Float[Array, ""]
    slip: Float[Array, ""]
    creep: Float[Array, ""]
    converged: Bool[Array, ""]
    log_det: Float[Array, ""]


class Rate(Record):
    """The equation of motion at one state.

    Attributes:
        q, v: q̇, shape (nq,), and v̇, shape (nv,).
        phi, psi: residuals at the state, before it was projected.
        equation: what the equation of motion was solved with.
    """

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    phi: Float[Array, " holonomic"]
    psi: Float[Array, " rows"]
    equation: Equation


class AbstractStabilization(Record):
    """A term added to b."""

    @abc.abstractmethod
    def gains(self) -> tuple:
        """Velocity gain [1/s] and position gain [1/s²], each a number or one per row at that
        level.
        """

    def term(self, dynamics: Dynamics, state: State) -> Float[Array, " m"]:
        """`−(velocity gain) ψ − (position gain) φ`, zero on acceleration rows, shape (m,)."""
        phi, psi = dynamics.position_residual(state), dynamics.velocity_residual(state)
        return self.term_of(dynamics.constraints, phi, psi)

    def term_of(self, constraints, phi, psi) -> Float[Array, " m"]:
        """The same where the residuals are known."""
        velocity_gain, position_gain = self.gains()
        term = jnp.zeros(constraints.m).at[constraints.velocity_rows].add(-velocity_gain * psi)
        return term.at[constraints.position_rows].add(-position_gain * phi)


class AbstractDrift(Record):
    """How φ and ψ are kept from growing.

    Attributes:
        stabilization: a term added to b at the stages, or None.
        projects: whether a settled step is on its constraints.
        keeps_clear: whether stages are to keep clear of singular configurations.
    """

    stabilization: AbstractVar[AbstractStabilization | None]
    projects: ClassVar[bool] = False
    keeps_clear: ClassVar[bool] = False

    def term(self, dynamics: Dynamics, state: State) -> Float[Array, " m"] | float:
        """What is added to b."""
        return 0.0 if self.stabilization is None else self.stabilization.term(dynamics, state)

    @abc.abstractmethod
    def equation(
        self, dynamics: Dynamics, state: State, treated: bool = True
    ) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"], Equation]:
        """φ and ψ at a state that may be off the constraints, and the equation of motion there.

        Where `treated` is False, b and F are those of the state itself, without a projection of its
        velocity.
        """

    def rate(self, dynamics: Dynamics, state: State, treated: bool = True) -> Rate:
        """`q̇, v̇` at a state that may be off the constraints."""
        phi, psi, equation = self.equation(dynamics, state, treated)
        acceleration, s = dynamics.acceleration(equation), equation.state
        along = dynamics.system.rate(s.q, s.v, s.t, dynamics.p)
        return Rate(along, acceleration, phi, psi, equation)

    @abc.abstractmethod
    def project_step(
        self, dynamics: Dynamics, state: State, error, target: Float[Array, ""]
    ) -> ProjectedStep:
        """Treat a finished step; `target` is the violation below which it counts as zero."""


def renormalized(dynamics: Dynamics, state: State) -> State:
    """The state with its coordinates back on their manifold (unit quaternions), by an empty
    retraction.
    """
    system = dynamics.system
    if system.retract is None:
        return state
    return State(dynamics.move(state, 0 * state.v), state.v, state.t)


def corrections(dynamics: Dynamics, moving: Gauss, A: Float[Array, "m nv"], velocity, position):
    """A⊕ of residuals at the velocity level and at the position level; one factor for all where
    every constraint is holonomic.

    Args:
        moving: the problem with the velocity-level rows of A.
        velocity: residuals of the velocity-level rows, a list.
        position: residuals of the holonomic rows, a list; they are corrected by the holonomic rows
            alone.

    Returns:
        Two lists, each entry of shape (nv,).
    """
    c, n = dynamics.constraints, len(velocity)
    if len(c.position_rows) == len(c.velocity_rows):
        change = moving.columns(jnp.stack([*velocity, *position], axis=1))
        return list(change[:n]), list(change[n:])
    # rolling rows hold no coordinate: with them φ would be corrected along allowed motions only
    held = dynamics.gauss(moving.mass, A, c.position_rows)
    return [
        list(gauss.columns(jnp.stack(residuals, axis=1)))
        for gauss, residuals in ((moving, velocity), (held, position))
    ]
