"""Zero dynamics: the motion that remains free if the servo constraints hold exactly, and its
stability.

Let Z be the set of states with y = ẏ = … = y^(r−1) = 0 for every servo constraint and φ = ψ = 0 for
the passive ones, and T a basis of its tangent space. At an equilibrium on Z the closed loop ẋ =
f(x) + g(x) u(x) has the Jacobian J, and

    T⁺ J T

is the linearization of the zero dynamics. No gain can change its eigenvalues; the other eigenvalues
of J are the poles of the gains.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import eigenvalues
from zwang.compile import program
from zwang.dynamics import functions
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.inputs.arguments import host_only
from zwang.servo.control import controller, refuse_no_state
from zwang.servo.controller import Controller
from zwang.servo.servo import Servo

EQUILIBRIUM_SPEED = 1e-6
"""Largest rate of a state on Z, relative to the size of the Jacobian, that counts as an
equilibrium.
"""

GROWTH_MARGIN = 1e-6
"""Real parts up to this times the largest eigenvalue count as zero: neither decaying nor growing.
"""


@dataclasses.dataclass(frozen=True)
class ZeroDynamics:
    """Result of `zero_dynamics`.

    Attributes:
        eigenvalues: of the linearized zero dynamics [1/s], largest real part first; empty if no
            motion remains free.
        off: largest servo or passive residual of the state; the result is valid on Z, where it is
            0.
        rate: size of ẋ at the state; the eigenvalues decide about stability if it is 0, otherwise
            they are those of the frozen linearization.
    """

    eigenvalues: np.ndarray
    off: float
    rate: float

    def __repr__(self) -> str:
        shown = ", ".join(f"{x.real:.4g}{x.imag:+.4g}i" for x in self.eigenvalues)
        return f"{self.sentence}{f'; eigenvalues {shown} 1/s' if shown else ''}"

    @property
    def unstable(self) -> bool:
        """True if an eigenvalue has a positive real part."""
        return bool(
            np.any(
                np.real(self.eigenvalues)
                > GROWTH_MARGIN * np.max(np.abs(self.eigenvalues), initial=1.0)
            )
        )

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not len(self.eigenvalues):
            return "the servo constraints leave nothing free"
        kind = f"the zero dynamics have {len(self.eigenvalues)} states"
        where = (
            ""
            if self.rate <= EQUILIBRIUM_SPEED
            else f" (linearized at a moving state, rate {self.rate:.3g}: no proof of stability)"
        )
        fastest = float(np.max(np.real(self.eigenvalues)))
        if self.unstable:
            return (
                f"{kind} and are unstable: they grow at {fastest:.4g} 1/s, whatever the "
                f"gains{where}"
            )
        if fastest > -GROWTH_MARGIN * np.max(np.abs(self.eigenvalues), initial=1.0):
            return f"{kind} and neither decay nor grow in linear approximation{where}"
        return f"{kind} and decay, the slowest at {-fastest:.4g} 1/s{where}"


@host_only("call it outside of them, with the numbers of one state")
def zero_dynamics(
    model: Model, servo: Servo | None = None, q=None, v=None, t=0.0, *, params: PyTree = None
) -> ZeroDynamics:
    """Linearized zero dynamics at a state, preferably an equilibrium, that meets the servo and
    passive constraints.

    Args:
        model: the model.
        servo: with its degrees (`with_found_degrees(...).servo`); the model's own by default.
        q, v, t: the state; t is held constant.
        params: parameters that differ from the model's.

    Reference: Isidori (1995), Nonlinear Control Systems, 3rd ed., section 4.3 and 5.1.
    """
    bound = controller(model, servo, params)
    refuse_no_state("zero_dynamics", q, v)
    residual, D, J, rate = (np.asarray(x) for x in linearized_on_z(bound, model.state(q, v, t)))
    # a basis of the tangent space of Z, on which the closed loop’s linearization is restricted
    T = Decomposition(D).kernel
    return ZeroDynamics(
        eigenvalues(T.T @ J @ T),
        float(np.max(np.abs(residual), initial=0.0)),
        float(np.linalg.norm(rate)),
    )


def beside(dynamics: Dynamics, s: State, step: Float[Array, " 2nv"]) -> State:
    """The state displaced by (N⁺ δq, δv) from a given one, at the same time.

    Changes of q are expressed as velocities, so that a quaternion has three directions and not
    four.
    """
    nv = dynamics.system.nv
    moved = dynamics.system.along(s.q, step[:nv], s.t, dynamics.p)
    return State(s.q + moved, s.v + step[nv:], s.t)


def off_servo(bound: Controller, s: State) -> Float[Array, " rows"]:
    """All residuals that are 0 on Z: φ and ψ of passive constraints, y … y^(r−1) of servo
    constraints.
    """
    dynamics = bound.dynamics
    chains = [y for orders in bound.errors(s).values() for y in orders]
    return jnp.concatenate([dynamics.position_residual(s), dynamics.velocity_residual(s), *chains])


def speed_of(bound: Controller, s: State) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """q̇ and v̇ under the control that keeps the servo constraints."""
    dynamics = bound.dynamics
    acceleration = bound.choose(dynamics.equation_at(s)).acceleration
    return dynamics.system.rate(s.q, s.v, s.t, dynamics.p), acceleration


@partial(program)
def linearized_on_z(bound: Controller, s: State):
    """Residuals that are 0 on Z, their Jacobian D, the closed loop's Jacobian J, and ẋ; in
    directions (N⁺ δq, δv).
    """
    dynamics = bound.dynamics
    system, p = dynamics.system, dynamics.p

    def residual(step):
        return off_servo(bound, beside(dynamics, s, step))

    def rate(step):
        moved, acceleration = speed_of(bound, beside(dynamics, s, step))
        return jnp.concatenate([functions.as_velocity(system, s.q, s.t, p, moved), acceleration])

    zero = jnp.zeros(2 * system.nv)
    return residual(zero), jax.jacfwd(residual)(zero), jax.jacfwd(rate)(zero), rate(zero)
