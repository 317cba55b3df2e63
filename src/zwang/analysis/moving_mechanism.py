"""Motions over an input and the torque that drives them, as functions of parameters that JAX
differentiates.

    φ(q, t, p) = 0,    A q′ = −∂φ/∂t,    A q″ = b(q, q′),    τ = q′ᵀ (M q̈ − F)

All are functions of a batch of samples near configurations that are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.gauss import Gauss
from zwang.analysis.local_equations import force, mass
from zwang.analysis.newton import newton, rows_at, unweighted
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import replace


class Moving(NamedTuple, Generic[AnyArray]):
    """A motion at samples of its input.

    Attributes:
        t: values of the input, shape (n,).
        q, v, a: coordinates, velocities and accelerations per unit of the input, shapes (n, …).
        p: parameters.
        smallest: smallest singular value of the rows at unit length that decides about the branch,
            shape (n,).
        residual: largest row residual at unit length, shape (n,).
    """

    t: AnyArray
    q: AnyArray
    v: AnyArray
    a: AnyArray
    p: PyTree
    smallest: AnyArray
    residual: AnyArray


def with_parameters(dynamics: Dynamics, p) -> Dynamics:
    """The same equations with other parameters, as its functions take them."""
    return replace(dynamics, p=p)


def closed(dynamics: Dynamics, q, t, steps: int):
    """Newton's iteration for q of one sample; the last step carries the derivatives.

    With A held, `q − A⊕ φ(q, p)` has the exact value and first derivatives where φ(q, p) = 0.
    """
    return newton(dynamics, rows_at(dynamics, t), q, t, steps)


def rates(dynamics: Dynamics, q, t) -> tuple[Array, Array]:
    """q′ and q″ of one sample as velocities and accelerations per unit of t, shapes (nv,)."""
    v, a, _ = _rates(dynamics, q, t)
    return v, a


def _rates(dynamics: Dynamics, q, t) -> tuple[Array, Array, Gauss]:
    """The same with their rows."""
    c, p, still = dynamics.constraints, dynamics.p, jnp.zeros(dynamics.system.nv)
    gauss = unweighted(c.matrix(q, still, t, p))
    v = -gauss.correct(c.velocity_residual(q, still, t, p))
    return v, gauss.correct(c.rhs(q, v, t, p)), gauss


def moving(dynamics: Dynamics, q, t, steps: int = 1) -> Moving:
    """The motion through configurations near q, shapes (n, nq) and (n,)."""
    c, p, nv = dynamics.constraints, dynamics.p, dynamics.system.nv

    def one(q, t):
        q = closed(dynamics, q, t, steps)
        v, a, gauss = _rates(dynamics, q, t)
        left = jnp.max(jnp.abs(gauss.scale * c.position_residual(q, t, p)))
        return q, v, a, gauss.singular_values()[nv - 1], left

    q, v, a, smallest, left = over_rows(one)(q, t)
    return Moving(t, q, v, a, p, smallest, left)


def over_input(q) -> Callable:
    """φ near a configuration as a function of the dynamics, and then of (ξ, t): a `fold` of it is a
    limit position.
    """

    def equations(dynamics: Dynamics) -> Callable:
        system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
        return lambda xi, t: rows.position_residual(system.move(jnp.asarray(q), xi, t, p), t, p)

    return equations


def over_output(value: Callable, q) -> Callable:
    """The same with t among the unknowns, y = (ξ, t), and an output that has the value s: a `fold`
    of it is a dead point.
    """

    def equations(dynamics: Dynamics) -> Callable:
        def rows(y, s):
            xi, t = y[:-1], y[-1]
            there = dynamics.system.move(jnp.asarray(q), xi, t, dynamics.p)
            off = jnp.reshape(value(there, t, dynamics.p), (1,)) - s
            return jnp.append(over_input(q)(dynamics)(xi, t), off)

        return rows

    return equations


def rows_and_rates(dynamics: Dynamics, q, t) -> tuple[np.ndarray, np.ndarray]:
    """A, and the rates of φ by t with q held, shapes (m, nv) and (m,)."""
    still, c, p = jnp.zeros(dynamics.system.nv), dynamics.constraints, dynamics.p
    with jax.ensure_compile_time_eval():  # it may be asked for inside a program
        A = c.matrix(jnp.asarray(q), still, t, p)
        return np.asarray(A), np.asarray(c.velocity_residual(jnp.asarray(q), still, t, p))


def torques(dynamics: Dynamics, m: Moving, rate):
    """Force or torque on the input at a constant rate of it, shape (n,)."""

    def one(q, v, a, t):
        when = (t - m.t[0]) / rate
        # constraints are holonomic: no dry friction is loaded by their multipliers
        F = force(dynamics, State(q, rate * v, when), jnp.zeros(dynamics.constraints.m))
        return v @ (mass(dynamics.system, q, t, dynamics.p) @ (rate**2 * a) - F)

    return over_rows(one)(m.q, m.v, m.a, m.t)
