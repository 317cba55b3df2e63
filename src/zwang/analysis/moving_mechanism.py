"""Motions over an input and the torque that drives them, as functions of parameters that JAX
differentiates.

    φ(q, t, p) = 0,    A q′ = −∂φ/∂t,    A q″ = b(q, q′),    τ = q′ᵀ (M q̈ − F)

All are functions of a batch of samples near configurations that are known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.analysis.local_equations import force, mass
from zwang.analysis.newton import newton, unweighted
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.thresholds import ALL_BUT_ZERO


class Moving(NamedTuple):
    """A motion at samples of its input.

    Attributes:
        t: values of the input, shape (n,).
        q, v, a: coordinates, velocities and accelerations per unit of the input, shapes (n, …).
        p: parameters.
        smallest: smallest singular value of the rows at unit length that decides about the branch,
            shape (n,).
        residual: largest row residual at unit length, shape (n,).
    """

    t: Any
    q: Any
    v: Any
    a: Any
    p: Any
    smallest: Any
    residual: Any


def with_parameters(dynamics: Dynamics, p) -> Dynamics:
    """The same equations with other parameters, as its functions take them."""
    return eqx.tree_at(lambda d: d.p, dynamics, p, is_leaf=lambda x: x is None)


def closed(dynamics: Dynamics, q, t, steps: int):
    """Newton's iteration for q of one sample; the last step carries the derivatives.

    With A held, `q − A⊕ φ(q, p)` has the exact value and first derivatives where φ(q, p) = 0.
    """
    c, p, still = dynamics.constraints, dynamics.p, jnp.zeros(dynamics.system.nv)
    rows = lambda q: (c.matrix(q, still, t, p), c.position_residual(q, t, p))
    return newton(rows, lambda q, dv: dynamics.system.move(q, dv, t, p), q, steps)


def moving(dynamics: Dynamics, q, t, steps: int = 1) -> Moving:
    """The motion through configurations near q, shapes (n, nq) and (n,)."""
    c, p, nv = dynamics.constraints, dynamics.p, dynamics.system.nv

    def one(q, t):
        q = closed(dynamics, q, t, steps)
        still = jnp.zeros(nv)
        gauss = unweighted(c.matrix(q, still, t, p))
        v = -gauss.correct(c.velocity_residual(q, still, t, p))
        a = gauss.correct(c.rhs(q, v, t, p))
        left = jnp.max(jnp.abs(gauss.scale * c.position_residual(q, t, p)))
        return q, v, a, jnp.linalg.svd(gauss.rows, compute_uv=False)[nv - 1], left

    q, v, a, smallest, left = jax.vmap(one)(q, t)
    return Moving(t, q, v, a, p, smallest, left)


def limit_input(dynamics: Dynamics, q, t):
    """The input at a limit position near q and t: a left null vector y of A there sees no change of
    q, so that `yᵀ φ = 0` gives the first derivatives of t.
    """
    c, p, nv = dynamics.constraints, dynamics.p, dynamics.system.nv
    q, t, still = jnp.asarray(q), jnp.asarray(t), jnp.zeros(nv)
    gauss = unweighted(c.matrix(q, still, t, p))
    by_input = gauss.scale * c.velocity_residual(q, still, t, p)
    U, sigma, _ = jnp.linalg.svd(gauss.rows, full_matrices=True)
    # of all left null vectors the one along ∂φ/∂t: those of redundant rows are orthogonal to it
    # at a limit position, which is found to the root of round-off, more count as zero
    kept = jnp.pad(sigma > ALL_BUT_ZERO * sigma[0], (0, U.shape[0] - len(sigma)))
    y = gauss.scale * (U @ jnp.where(kept, 0.0, U.T @ by_input))
    y, slope = jax.lax.stop_gradient((y, y @ c.velocity_residual(q, still, t, p)))
    return t - (y @ c.position_residual(q, t, p)) / slope


def torques(dynamics: Dynamics, m: Moving, rate):
    """Force or torque on the input at a constant rate of it, shape (n,)."""

    def one(q, v, a, t):
        when = (t - m.t[0]) / rate
        F = force(dynamics, State(q, rate * v, when))
        return v @ (mass(dynamics.system, q, t, dynamics.p) @ (rate**2 * a) - F)

    return jax.vmap(one)(m.q, m.v, m.a, m.t)


def balanced(dynamics: Dynamics, q, multipliers, t):
    """q and λ of an equilibrium nearby as functions of parameters, by one step of Newton's
    iteration on `F + Aᵀλ = 0, φ = 0` with its matrix held.
    """
    system, c, p = dynamics.system, dynamics.constraints, dynamics.p
    nv, still = system.nv, jnp.zeros(system.nv)

    def left(x):
        there = system.move(q, x[:nv], t, p)
        A = c.matrix(there, still, t, p)
        F = force(dynamics, State(there, still, t)) + A.T @ x[nv:]
        return jnp.concatenate([F, c.position_residual(there, t, p)])

    at = jnp.concatenate([still, multipliers])
    J = jax.lax.stop_gradient(jax.jacfwd(left)(at))
    x = at - jnp.linalg.pinv(J, rtol=DEPENDENT_ROWS) @ left(at)
    return system.move(q, x[:nv], t, p), x[nv:]
