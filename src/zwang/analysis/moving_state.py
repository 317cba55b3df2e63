"""An equilibrium or a steady motion as a function of parameters that JAX differentiates.

The state that a linearization is about moves along with the parameters, by one step of Newton's
iteration on its equations (`implicit.py`), which has the exact value and first derivatives at the
parameters of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from zwang.analysis.implicit import Motion, Root, steady_root
from zwang.analysis.local_equations import Generator, departures, lifted
from zwang.analysis.moving_mechanism import balanced
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import ModelError

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization


class MovingState(NamedTuple):
    """A balance of forces, at rest or along a symmetry.

    Attributes:
        dynamics: the equations, with the parameters.
        state: q, v and t.
        w: v̇; multipliers: λ.
        along: the generator that it moves along, zero at rest.
    """

    dynamics: Dynamics
    state: State
    w: Any
    multipliers: Any
    along: Generator


def at_rest(dynamics: Dynamics, q, multipliers, t) -> MovingState:
    """An equilibrium near q."""
    t, nq, nv = jnp.asarray(t), dynamics.system.nq, dynamics.system.nv
    q, multipliers = balanced(dynamics, jnp.asarray(q), jnp.asarray(multipliers), t)
    still = jnp.zeros(nv)
    none = Generator(jnp.zeros(nq), jnp.zeros((nq, nq)))
    return MovingState(dynamics, State(q, still, t), still, multipliers, none)


def steady_balance(linear: Linearization) -> tuple[Motion, Root]:
    """The equations of a steady motion, and their solution."""
    here, found = linear.here, linear.found
    if found is None or found.base is None:
        raise ModelError(f"{linear.model.name}: no symmetry moves the state by its velocities.")
    with jax.ensure_compile_time_eval():  # it may be asked for first inside a program
        rates, _ = found.rates(here.dynamics, here.state, here.w)
        motion = Motion.of(linear.q, linear.t, found.base, found.fields)
        return motion, steady_root(motion, here.dynamics, rates, here.multipliers)


def steadily(motion: Motion, found: Root, dynamics: Dynamics, v: Any = None) -> MovingState:
    """A steady motion at other parameters, and at velocities v if they are given: the rates of its
    symmetries are then those that come nearest to them.
    """
    nv, k = dynamics.system.nv, motion.k
    x = jnp.asarray(found.x)
    if v is not None:
        along = jax.lax.stop_gradient(motion.gauge(dynamics, x))
        towards = jnp.linalg.pinv(along, rtol=1e-10)
        x = x.at[nv : nv + k].add(towards @ (v - motion.velocity(dynamics, x)))
    x = x - jnp.asarray(found.inverse) @ motion.residual(dynamics, x)
    q, v = motion.configuration(dynamics, x), motion.velocity(dynamics, x)
    field, t, p = motion.field(dynamics, x), jnp.asarray(motion.t), dynamics.p
    w = lifted(dynamics.system, field, q, v, t, p)
    return MovingState(dynamics, State(q, v, t), w, x[nv + k :], field)


def moving_state(linear: Linearization, dynamics: Dynamics, v: Any = None) -> MovingState:
    """The state of a linearization at other parameters.

    Raises:
        ModelError: for a moving state, and for velocities at rest.
    """
    name = linear.model.name
    if linear.kind == "moving state":
        raise ModelError(
            f"{name}: derivatives are those about an equilibrium or a steady motion; this is a "
            "moving state."
        )
    if linear.kind == "steady motion":
        return steadily(*linear.balance, dynamics, None if v is None else jnp.asarray(v))
    if v is not None:
        raise ModelError(f"{name}: v is that of a steady motion, and this is an equilibrium.")
    return at_rest(dynamics, linear.q, linear.multipliers, linear.t)


def varied(at: MovingState) -> Callable:
    """`departures` of a state as a function of (ξ, δv), shape (2 nv,)."""
    s, p = at.state, at.dynamics.p

    def residuals(step):
        step = jnp.append(step, 0.0)
        return departures(at.dynamics, s, at.w, at.multipliers, at.along, step, p)

    return residuals
