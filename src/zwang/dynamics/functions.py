"""Functions of a model at a state, the only ones that call the user's functions along a motion.

Native programs trace each of them once (`zwang.compile.hints.shared_code`).
"""

from __future__ import annotations

import jax.numpy as jnp

from zwang.algebra.cholesky import Cholesky
from zwang.algebra.mass_matrix import dense_mass
from zwang.compile.hints import shared_code
from zwang.equations.constraint import Constraints
from zwang.equations.system import AbstractMassMatrix, System


@shared_code
def residuals(constraints: Constraints, q, v, t, p):
    return constraints.residuals(q, v, t, p)


# A part of the result of another function is not traced on its own: that would take longer than
# removing the other parts from the code.


def position_residual(constraints: Constraints, q, t, p):
    still = jnp.zeros(constraints.system.nv, q.dtype)
    return residuals(constraints, q, still, t, p)[0]


def velocity_residual(constraints: Constraints, q, v, t, p):
    return residuals(constraints, q, v, t, p)[1]


@shared_code
def rhs(constraints: Constraints, q, v, t, p):
    return constraints.rhs(q, v, t, p)


@shared_code
def mass_matrix(system: System, q, t, p):
    """Return M in the form in which the model gives it."""
    return system.mass_as_given(q, t, p)


def inertial_force(system: System, q, t, p, w):
    """Return `M w`."""
    if isinstance(system.mass_matrix, AbstractMassMatrix):
        return system.mass_matrix.times(q, t, p, w)
    return dense_mass(mass_matrix(system, q, t, p)) @ w


def velocity_map(system: System, q, t, p):
    """Return N, the identity included."""
    return jnp.eye(system.nv) if system.velocity_map is None else system.velocity_map(q, t, p)


def as_velocity(system: System, q, t, p, rate):
    """Return `N⁺` of a rate of q."""
    if system.velocity_map is None:
        return rate
    N = velocity_map(system, q, t, p)
    return Cholesky(N.T @ N).solve(N.T @ rate)


@shared_code
def force(system: System, q, v, t, p):
    """Return F without the force of actuators."""
    return jnp.asarray(system.force(q, v, t, p), dtype=v.dtype)
