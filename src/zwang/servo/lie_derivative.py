"""Servo constraints of higher relative degree, whose residuals are differentiated along the passive
motion.

With f the passive motion without control, ẋ = f(x) for x = (q, v, t), and y the residual,

    z = L_f^(r−1) y      is a function of q, v, t, like any velocity residual.

The constraint of relative degree r is therefore treated as the nonholonomic constraint z = 0: A_s =
∂z/∂v, b_s = −(dz/dt at fixed v). This is valid if no control acts on y, ẏ … y^(r−1), i.e. if r is
the relative degree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.compile.hints import traced_once
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.constraint.level import VELOCITY, AbstractLevel
from zwang.equations.state import State
from zwang.objects.record import field


@traced_once
def passive_acceleration(dynamics: Dynamics, s: State) -> Float[Array, " nv"]:
    """a₀: v̇ with passive constraints and without control."""
    return dynamics.acceleration(dynamics.equation_at(s))


def chain(
    constraints: Sequence[AbstractConstraint], dynamics: Dynamics, s: State, order: int
) -> list[Float[Array, " rows"]]:
    """`y, ẏ … y^(order−1)` along the passive motion without control, each of shape (rows,).

    Args:
        constraints: y contains their φ if they are given at position level, otherwise their ψ. All
            are at one level, so that they share the motion along which they are differentiated.
        dynamics: of the passive system.
        s: state.
        order: number of entries of the chain.
    """
    if order == 0:
        return []
    system, p = dynamics.system, dynamics.p
    stacked = lambda found: jnp.concatenate(list(found))
    phi = lambda: stacked(c.position_residual(system, s.q, s.t, p) for c in constraints)
    has_phi = constraints[0].level.has_phi
    if order == 1:
        return [phi() if has_phi else _ladder(tuple(constraints), dynamics, 0, s.q, s.v, s.t)[0]]
    # ψ, which is given as a function, and its derivatives, from one evaluation
    derived = _ladder(tuple(constraints), dynamics, order - 1 - has_phi, s.q, s.v, s.t)
    return [phi(), *derived] if has_phi else derived


@traced_once
def _ladder(constraints: tuple, dynamics: Dynamics, more: int, q, v, t) -> list:
    """ψ and `more` derivatives of it along the passive motion. The part that longer chains
    differentiate is traced once for all of them.
    """
    if not more:
        system, p = dynamics.system, dynamics.p
        return [jnp.concatenate([c.velocity_residual(system, q, v, t, p) for c in constraints])]
    # without control, because no actuator appears in derivatives below the relative degree
    acceleration = passive_acceleration(dynamics, State(q, v, t))
    along = dynamics.system.rate(q, v, t, dynamics.p), acceleration, jnp.ones_like(t)
    shorter = lambda q, v, t: _ladder(constraints, dynamics, more - 1, q, v, t)
    values, rates = jax.jvp(shorter, (q, v, t), along)
    return [values[0], *rates]


class DifferentiatedConstraint(AbstractConstraint):
    """`z(q, v, t) = L_f^(degree−1) y = 0` at velocity level, for one constraint, or for several
    constraints at one level with equal numbers of rows.

    Attributes:
        originals: the constraints with residuals y.
        dynamics: of the passive system; its own parameters are replaced by those of the call.
        degree: r.
    """

    originals: tuple[AbstractConstraint, ...]
    dynamics: Dynamics
    degree: int = field(static=True)
    name: str
    nonideal: Callable | None

    def __init__(self, originals: Sequence[AbstractConstraint], dynamics: Dynamics, degree: int):
        self.originals, self.dynamics, self.degree = tuple(originals), dynamics, degree
        self.name, self.nonideal = " and ".join(c.name for c in originals), None

    @property
    def level(self) -> AbstractLevel:
        return VELOCITY

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.originals)

    @property
    def equally_long(self) -> tuple[AbstractConstraint, ...]:
        return self.originals

    @property
    def is_full(self) -> bool:
        # the passive motion couples the velocities, and tracing the structure of its derivatives is
        # slow
        return True

    def velocity_residual(self, system, q, v, t, p):
        dynamics = dataclasses.replace(self.dynamics, p=p)
        return chain(self.originals, dynamics, State(q, v, t), self.degree)[-1]


def differentiated(
    constraints: Sequence[AbstractConstraint], dynamics: Dynamics, degrees: Mapping[str, int]
) -> Constraints:
    """Constraints differentiated according to their degrees, so that v̇ appears in them.

    Constraints of the same level, degree and number of rows are differentiated together, because
    most of the work is the motion along which they are differentiated.

    Args:
        constraints: the constraints.
        dynamics: of the passive system.
        degrees: by name of constraint.
    """
    sizes = Constraints(constraints, dynamics.system, dynamics.p).sizes
    alike: dict[Any, list[AbstractConstraint]] = {}
    for c, size in zip(constraints, sizes, strict=True):
        natural = degrees[c.name] == c.level.order
        key = c.name if natural else (c.level, degrees[c.name], size)
        alike.setdefault(key, []).append(c)
    members = [
        group[0]
        if isinstance(key, str)
        else DifferentiatedConstraint(group, dynamics, degrees[group[0].name])
        for key, group in alike.items()
    ]
    return Constraints(members, dynamics.system, dynamics.p)
