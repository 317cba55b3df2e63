"""One interval of an optimal control problem: multiple shooting over steps that end on the
constraints.

    x_{k+1} = Φ(x_k, c_k, T)

x = (q, v) are all coordinates and velocities, c the coefficients of the control over the interval,
and T the duration of its phase. Φ projects x_k onto φ = 0 and ψ = 0, makes one step of order 8, and
projects its end. Every solution therefore satisfies the constraints at the nodes and between them,
where the motion is Φ over a part of the interval. Each equation determines its own x_{k+1}, so the
equations are independent even if rows of constraints are redundant or lose rank. Near a loss of
rank, a constraint violation ε would require velocities ε/σ; because Φ starts with a projection, it
has no derivative in such directions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.analysis.control_pieces import ControlPieces, weights
from zwang.compile.blocks import mapped
from zwang.dynamics.drift import Projection
from zwang.dynamics.run_events import SwitchCondition
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.inputs.arrays import without_derivative
from zwang.objects.record import Record, field, replace
from zwang.servo.feedback import Feedback
from zwang.simulation.differentiable import Differentiable
from zwang.stepping.dopri8 import TABLEAU
from zwang.stepping.explicit import end_of, stage_rates

BESIDE = 0.01 * np.array([1.0, -1.0, 2.0, -2.0, 3.0, -3.0])
"""Relative displacements, in parts of an interval, at which a function without a value at 0 is
evaluated. They are far larger than constraint violations, and the interpolation error is 1e-12
times the sixth derivative.
"""
LAGRANGE = np.array([15.0, 15.0, -6.0, -6.0, 1.0, 1.0]) / 20
"""Weights of the values at these displacements."""


class Problem(Record):
    """The functions and data of an optimal control problem, in the form used by compiled programs.

    Attributes:
        flow: the motion, with a differentiable projection.
        law: the actuators.
        cost: (q, v, u, t, p) → the integrand.
        end_cost: (q, v, t, p) → the cost at the end.
        limited: (q, v, u, t, p) → numbers that are limited at both ends of an interval.
        watched: conditions of switches, which are limited there as well.
        last: 1 for the last phase, to which the cost at the end belongs, 0 for the others.
        multipliers: rows whose multipliers are limited at both ends.
        degree: of the control over an interval.
    """

    flow: ConstrainedVectorField
    law: Feedback
    cost: Callable
    end_cost: Callable
    limited: tuple[Callable, ...]
    watched: tuple[SwitchCondition, ...]
    last: Float[Array, ""]
    multipliers: tuple[int, ...] = field(static=True)
    degree: int = field(static=True)

    def under(self, pieces: ControlPieces) -> ConstrainedVectorField:
        """The motion under a control."""
        law = replace(self.law, function=pieces)
        return replace(self.flow, dynamics=replace(self.flow.dynamics, law=law))

    def limited_at(self, flow: ConstrainedVectorField, pieces: ControlPieces, t, x) -> Array:
        """The limited quantities at a state under a control."""
        s, p = flow.state(t, x), flow.dynamics.p
        u = pieces(s.q, s.v, t, p)
        found = [jnp.ravel(jnp.asarray(f(s.q, s.v, u, t, p), float)) for f in self.limited]
        multipliers = jnp.zeros(0)
        if self.multipliers or any(c.off for c in self.watched):
            multipliers = flow.dynamics.equation_at(s).multipliers
            found.append(multipliers[np.array(self.multipliers, int)])
        found += [jnp.ravel(c(s, p, multipliers)) for c in self.watched]
        return jnp.concatenate([*found, jnp.zeros(0)])


class Variables(NamedTuple):
    """The state at the beginning of an interval, the control's coefficients, shape (degree + 1,
    nu), and the duration and the initial time of the phase [s].
    """

    x: Array
    c: Array
    T: Array
    begin: Array


class Flight(NamedTuple):
    """One step over an interval, or over a part of it.

    Attributes:
        flow, pieces: the motion under the interval's control.
        t, h: initial time and length of the step [s].
        x: initial state.
        rates: ẋ at the stages.
        end: final state, on the constraints.
    """

    flow: ConstrainedVectorField
    pieces: ControlPieces
    t: Array
    h: Array
    x: Array
    rates: Array
    end: Array


def limits(function: Callable, fixed: tuple, singular: np.ndarray, *instants: np.ndarray) -> PyTree:
    """`function(*fixed, *instant, 0.0)` at each of many instants. Where the function cannot be
    evaluated at 0, its limit is that of the polynomial of degree 5 through values near 0. One
    program serves all.

    Args:
        function, fixed, instants: as in `mapped`; the last argument of the function is added.
        singular: mask of the instants at which it cannot be evaluated at 0.
    """
    many = np.where(singular, len(BESIDE), 1)
    beside, share = np.zeros(np.sum(many)), np.ones(np.sum(many))
    near, of = np.repeat(singular, many), np.repeat(np.arange(len(many)), many)
    beside[near], share[near] = np.tile([BESIDE, LAGRANGE], np.sum(singular))
    found = mapped(function, fixed, *(x[of] for x in instants), beside)
    first = np.cumsum(many) - many

    def joined(x):
        return np.add.reduceat(share.reshape(-1, *(1,) * (x.ndim - 1)) * x, first)

    return jax.tree.map(joined, found)


def carried(flow: ConstrainedVectorField, t, x, time) -> Array:
    """A state whose coordinates move along their velocities for a constant time. Its derivative by
    x is that of x.
    """
    s = flow.state(t, x)
    change = flow.dynamics.system.move(s.q, time * s.v, t, flow.dynamics.p) - s.q
    return x + without_derivative(jnp.concatenate([change, jnp.zeros_like(s.v)]))


def flown(of: Problem, tau, z: Variables, part, beside) -> Flight:
    """One step from the beginning of an interval.

    Args:
        of: the problem.
        tau: beginning and end of the interval, as fractions of the phase.
        z: its variables.
        part: length of the step as a fraction of the interval.
        beside: displacement of the beginning, and extension of the duration, as a fraction of the
            interval; not 0 where rows lose rank at an end.
    """
    t, whole = z.begin + tau[0] * z.T, (tau[1] - tau[0]) * z.T
    x, none = carried(of.flow, t, z.x, beside * whole), jnp.zeros_like(z.x)
    whole = (1 + beside) * whole
    pieces, h = ControlPieces(jnp.stack([t, t + whole]), z.c[None]), part * whole
    flow = of.under(pieces)
    if flow.dynamics.constraints.m:
        x = replace(flow, drift=Differentiable(Projection())).project_step(t, x, none).y
    rates, _ = stage_rates(flow.rate_and_residual, TABLEAU, t, x, h)
    end = flow.project_step(t + h, end_of(TABLEAU, x, h, rates), none).y
    return Flight(flow, pieces, t, h, x, rates, end)


def cost_of(of: Problem, tau, at: Flight) -> Array:
    """The cost of an interval. Its integral is an additional state of the same step, on which no
    rate depends.
    """
    p = at.flow.dynamics.p

    def integrand(a, s):
        state = at.flow.state(at.t + s * at.h, at.x + at.h * (at.rates @ a))
        u = weights(of.degree, s) @ at.pieces.c[0]
        return jnp.asarray(of.cost(state.q, state.v, u, state.t, p), float)

    along = jax.vmap(integrand)(jnp.asarray(TABLEAU.matrix), jnp.asarray(TABLEAU.c, float))
    end = at.flow.state(at.t + at.h, at.end)
    final = jnp.asarray(of.end_cost(end.q, end.v, end.t, p), float)
    ends = (tau[1] == 1) & (of.last > 0)
    return at.h * (jnp.asarray(TABLEAU.weights[0]) @ along) + jnp.where(ends, final, 0)


class Outcome(NamedTuple):
    """The results of an interval.

    Attributes:
        end: Φ, shape (nx,).
        limited: the limited quantities at its two ends.
        cost: its contribution to the cost.
    """

    end: Array
    limited: Array
    cost: Array


def outcome_of(of: Problem, tau, z: Variables, beside) -> tuple[Outcome, Array]:
    """The results of an interval, and the error of its step relative to the state."""
    at = flown(of, tau, z, 1.0, beside)
    ends = (at.t, at.x), (at.t + at.h, at.end)
    limited = [of.limited_at(at.flow, at.pieces, *y) for y in ends]
    error = at.h * jnp.max(jnp.abs(at.rates @ jnp.asarray(TABLEAU.weights[1])))
    found = Outcome(at.end, jnp.concatenate(limited), cost_of(of, tau, at)[None])
    return found, error / (1 + jnp.max(jnp.abs(at.end)))


class Between(NamedTuple):
    """The motion at instants between nodes: t, x, u, multipliers of all rows, and the norm of φ and
    ψ together, in their own units.
    """

    t: np.ndarray
    x: np.ndarray
    u: np.ndarray
    multipliers: np.ndarray
    off: np.ndarray


def between(of: Problem, tau, z: Variables, part, beside) -> tuple[Array, ...]:
    """The motion at a fraction of an interval, as in `Between`, without its last attribute."""
    at = flown(of, tau, z, part, beside)
    t = at.t + at.h
    s, dynamics = at.flow.state(t, at.end), at.flow.dynamics
    return t, at.end, at.pieces(s.q, s.v, t, dynamics.p), dynamics.equation_at(s).multipliers
