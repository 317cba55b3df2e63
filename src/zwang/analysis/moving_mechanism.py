"""Configurations, motions over an input and the driving torque as differentiable functions of
parameters.

    q ← q ⊕ (−A⊕ r),    r(q) = 0 the equations, A their derivative by velocities
    φ(q, t, p) = 0,    A q′ = −∂φ/∂t,    A q″ = b(q, q′),    τ = q′ᵀ (M q̈ − F)

A⊕ is that of equal masses, because an analysis needs a nearby configuration and not the one nearest
in the mass metric. With constant A, the last step of Newton's iteration has exact first derivatives
by all arguments of r.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.gauss import Gauss
from zwang.algebra.lapack import LU
from zwang.algebra.mass_matrix import DiagonalMass
from zwang.algebra.pseudoinverse import SVD
from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.analysis.local_equations import force
from zwang.compile.compatibility import outside_of_programs
from zwang.compile.hints import over_rows
from zwang.dynamics import functions
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.inputs.arrays import AnyArray
from zwang.thresholds import ROUND_OFF, SMALL_PART

Rows = Callable[[Array], tuple[Array, Array]]
"""`q → A, r`: rows and their residual."""


def unweighted(A: Float[Array, "m nv"]) -> Gauss:
    """Rows of a system with equal masses, by singular values."""
    return Gauss(DiagonalMass(jnp.ones(A.shape[1], A.dtype)), A, SVD(DEPENDENT_ROWS))


def least(A: Float[Array, "m nv"], r: Float[Array, " m"]) -> Float[Array, " nv"]:
    """`A⊕ r`."""
    return unweighted(A).correct(r)


def damped(A: Float[Array, "m nv"], r: Float[Array, " m"]) -> Float[Array, " nv"]:
    """`A⊕ r` for rows of unit length with the damping of Levenberg and Marquardt, which vanishes
    with the residual. It is used for thousands of starts far from solutions.
    """
    damping = SMALL_PART * (r @ r) + ROUND_OFF
    return A.T @ LU(A @ A.T + damping * jnp.eye(len(r))).solve(r)


def rows_at(dynamics: Dynamics, t: Array, held: Callable[[Array], Array] | None = None) -> Rows:
    """All rows of holonomic constraints and their residual, those of `held(q) = 0` last."""
    c, p, system = dynamics.constraints, dynamics.p, dynamics.system
    still = jnp.zeros(system.nv)

    own = lambda q: (c.matrix(q, still, t, p), c.position_residual(q, t, p))
    if held is None:
        return own

    def rows(q):
        A, r = own(q)
        along = jax.jacfwd(lambda s: held(system.move(q, s, t, p)))(still)
        return jnp.concatenate([A, along]), jnp.concatenate([r, held(q)])

    return rows


def newton(
    dynamics: Dynamics,
    rows: Rows,
    q: Array,
    t: Array,
    steps: int,
    *,
    longest: float = jnp.inf,
    solve: Callable[[Array, Array], Array] = least,
) -> Array:
    """The configuration after a number of steps; the last step carries first derivatives.

    Args:
        dynamics, t: the model, whose retraction moves q, and the time.
        rows: q → A, r, shapes (m, nv) and (m,), as returned by `rows_at`.
        q: initial configuration.
        steps: number of steps, at least one.
        longest: largest length of a step; longer steps are shortened to it.
        solve: A, r → the correction of q, without its sign.
    """

    def step(q):
        A, r = rows(q)
        dv = -solve(jax.lax.stop_gradient(A), r)
        size = jnp.linalg.norm(jax.lax.stop_gradient(dv))
        dv = dv * jnp.minimum(1.0, longest / jnp.maximum(size, 1e-300))
        return dynamics.system.move(q, dv, t, dynamics.p)

    if steps > 1:
        begun = jax.lax.stop_gradient(q)
        q = jax.lax.fori_loop(0, steps - 1, lambda _, q: jax.lax.stop_gradient(step(q)), begun)
    return step(q)


class Moving(NamedTuple, Generic[AnyArray]):
    """A motion at samples of its input.

    Attributes:
        t: values of the input, shape (n,).
        q, v, a: coordinates, velocities and accelerations per unit of the input, shapes (n, …).
        p: parameters.
        smallest: the nv-th singular value of the rows of unit length, 0 where branches meet, shape
            (n,).
        residual: largest residual of the rows of unit length, shape (n,).
    """

    t: AnyArray
    q: AnyArray
    v: AnyArray
    a: AnyArray
    p: PyTree
    smallest: AnyArray
    residual: AnyArray


def closed(dynamics: Dynamics, q, t, steps: int):
    """Newton's iteration for q of one sample; the last step carries the derivatives.

    With constant A, `q − A⊕ φ(q, p)` has the exact value and first derivatives if φ(q, p) = 0.
    """
    return newton(dynamics, rows_at(dynamics, t), q, t, steps)


def rates(dynamics: Dynamics, q, t) -> tuple[Array, Array]:
    """q′ and q″ of one sample as velocities and accelerations per unit of t, shapes (nv,)."""
    v, a, _ = _rates(dynamics, q, t)
    return v, a


def _rates(dynamics: Dynamics, q, t) -> tuple[Array, Array, Gauss]:
    """q′ and q″ of one sample, and the rows."""
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
    """φ near a configuration: dynamics → a function of (ξ, t). A `fold` of it is a limit
    position.
    """

    def equations(dynamics: Dynamics) -> Callable:
        system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
        return lambda xi, t: rows.position_residual(system.move(jnp.asarray(q), xi, t, p), t, p)

    return equations


def over_output(value: Callable, q) -> Callable:
    """As `over_input`, with unknowns y = (ξ, t) and an output of value s. A `fold` of it is a dead
    point.
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
    """A, and the rates of φ by t at constant q, shapes (m, nv) and (m,)."""
    still, c, p = jnp.zeros(dynamics.system.nv), dynamics.constraints, dynamics.p
    with outside_of_programs():
        A = c.matrix(jnp.asarray(q), still, t, p)
        return np.asarray(A), np.asarray(c.velocity_residual(jnp.asarray(q), still, t, p))


def push_and_force(dynamics: Dynamics, q, v, a, t, when) -> tuple[Array, Array]:
    """M v̇ and F of one sample, with F at the time at which the input has this value."""
    push = functions.inertial_force(dynamics.system, q, t, dynamics.p, a)
    # constraints are holonomic, so their multipliers load no dry friction
    return push, force(dynamics, State(q, v, when), jnp.zeros(dynamics.constraints.m))


def torques(dynamics: Dynamics, m: Moving, rate):
    """Force or torque on the input at a constant input rate, shape (n,)."""

    def one(q, v, a, t):
        when = (t - m.t[0]) / rate
        push, F = push_and_force(dynamics, q, rate * v, rate**2 * a, t, when)
        return v @ (push - F)

    return over_rows(one)(m.q, m.v, m.a, m.t)
