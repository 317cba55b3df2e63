"""Abstract treatment of drift: the rate at a stage, and the treatment of a finished step."""

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
    """Step after the treatment of drift.

    Attributes:
        state: state from which the motion continues.
        error: error estimate of q and v, without the component that the projection removes.
        violation: remaining dimensionless position violation.
        slip: remaining velocity residual, relative to the velocities in it.
        creep: rate at which `slip` increases the dimensionless violation [1/s]; inf if unknown.
        converged: whether the projection converged.
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
    """Solution of the equation of motion at one state.

    Attributes:
        q, v: q̇, shape (nq,), and v̇, shape (nv,).
        phi, psi: residuals at the state before the projection.
        equation: operands of the equation of motion.
    """

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    phi: Float[Array, " holonomic"]
    psi: Float[Array, " rows"]
    equation: Equation


class AbstractStabilization(Record):
    """Stabilization term that is added to b."""

    @abc.abstractmethod
    def gains(self) -> tuple:
        """Return the velocity gain [1/s] and the position gain [1/s²], each a number or one per row
        at that level.
        """

    def term(self, dynamics: Dynamics, state: State) -> Float[Array, " m"]:
        """Return `−(velocity gain) ψ − (position gain) φ`, shape (m,), 0 on acceleration rows."""
        phi, psi = dynamics.position_residual(state), dynamics.velocity_residual(state)
        return self.term_of(dynamics.constraints, phi, psi)

    def term_of(self, constraints, phi, psi) -> Float[Array, " m"]:
        """Return the term for known residuals."""
        velocity_gain, position_gain = self.gains()
        term = jnp.zeros(constraints.m).at[constraints.velocity_rows].add(-velocity_gain * psi)
        return term.at[constraints.position_rows].add(-position_gain * phi)


class AbstractDrift(Record):
    """Treatment of drift, which limits the growth of φ and ψ.

    Attributes:
        stabilization: a term added to b at the stages, or None.
        projects: whether a finished step is on its constraints.
        keeps_clear: whether stages must keep a distance from singular configurations.
    """

    stabilization: AbstractVar[AbstractStabilization | None]
    projects: ClassVar[bool] = False
    keeps_clear: ClassVar[bool] = False

    def term(self, dynamics: Dynamics, state: State) -> Float[Array, " m"] | float:
        """Return the term that is added to b."""
        return 0.0 if self.stabilization is None else self.stabilization.term(dynamics, state)

    @abc.abstractmethod
    def equation(
        self, dynamics: Dynamics, state: State, treated: bool = True
    ) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"], Equation]:
        """Return φ and ψ at a state that may be off the constraints, and the equation of motion
        there.

        If `treated` is False, b and F are those of the state without a projection of its velocity.
        """

    def rate(self, dynamics: Dynamics, state: State, treated: bool = True) -> Rate:
        """Return `q̇, v̇` at a state that may be off the constraints."""
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
    """Return the state with its coordinates projected onto their manifold (unit quaternions), by a
    retraction along zero.
    """
    system = dynamics.system
    if system.retract is None:
        return state
    return State(dynamics.move(state, 0 * state.v), state.v, state.t)


def corrections(dynamics: Dynamics, moving: Gauss, A: Float[Array, "m nv"], velocity, position):
    """Apply A⊕ to residuals at the velocity level and at the position level, with one factor for
    both if every constraint is holonomic.

    Args:
        moving: Gauss's problem with the velocity-level rows of A.
        velocity: residuals of the velocity-level rows, a list.
        position: residuals of the holonomic rows, a list; they are corrected with the holonomic
            rows only.

    Returns:
        Two lists, each entry of shape (nv,).
    """
    c, n = dynamics.constraints, len(velocity)
    if len(c.position_rows) == len(c.velocity_rows):
        change = moving.columns(jnp.stack([*velocity, *position], axis=1))
        return list(change[:n]), list(change[n:])
    # nonholonomic rows do not restrict coordinates: with them φ would be corrected along allowed
    # motions only
    held = dynamics.gauss(moving.mass, A, c.position_rows)
    return [
        list(gauss.columns(jnp.stack(residuals, axis=1)))
        for gauss, residuals in ((moving, velocity), (held, position))
    ]
