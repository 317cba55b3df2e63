"""A control that is a function of the state: of the controls themselves, or of generalized forces
that the actuators reproduce.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics.control_law import Control
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.dynamics.sparse_structure import relative
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import flag, function, label, strategy
from zwang.inputs.arrays import require_float64
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import outcome, returned
from zwang.objects.display import present
from zwang.objects.record import Record, field, replace
from zwang.servo.actuation import AbstractActuated
from zwang.servo.controller import SOLVED, blank, constraint_residual
from zwang.servo.limits import Limits, limited
from zwang.servo.null_space import (
    AUTHORITY_THRESHOLD,
    AbstractNullSpace,
    LeastNorm,
    ReducedServoSystem,
)


class Feedback(AbstractActuated):
    """A control u = f(q, v, t, p), or the control that gives the same acceleration as generalized
    forces Q = f(q, v, t, p):

        P M⁻¹ (B u − Q) = 0,    P = I − A⊕A

    The forces of the passive constraints supply the difference B u − Q. If several u satisfy this
    equation, `Control.rank` is less than the number of actuators, and u is the solution of least
    norm, or the choice of `null_space`. If no u satisfies it, u is the least-squares solution, in
    the mass metric if there are constraints, and `missed` is the relative residual.

    Args:
        function: `(q, v, t, p)` → u, shape (nu,), or Q, shape (nv,).
        actuation, actuators, actuator_units: as in `zw.Servo`.
        forces: whether the function gives Q.
        limits: `zw.servo.Limits` of the actuators; within them u comes as near as possible.
        null_space: the choice among controls where the function gives Q; see
            `zwang.servo.null_space`.
        name: the name in messages about forces that are missed.

    Example:
        >>> damper = zw.servo.Feedback(lambda q, v, t, p: -2.0 * v[:1], [[1.0], [0.0]])
        >>> model = zw.Model(system, servo=damper)
    """

    function: Callable
    actuation: Callable
    actuators: tuple[str, ...] | None
    actuator_units: tuple[str, ...] | None
    limits: Limits | None
    null_space: AbstractNullSpace
    forces: bool = field(static=True)
    name: str = field(static=True)

    @misfits_named
    def __init__(
        self,
        function_: Callable,
        actuation,
        *,
        actuators: Sequence[str] | None = None,
        actuator_units: Sequence[str] | None = None,
        forces: bool = False,
        limits: Limits | None = None,
        null_space: AbstractNullSpace | None = None,
        name: str = "feedback",
    ):
        require_float64()
        self.forces = flag(forces, "Feedback: forces")
        what = "Q, shape (nv,)" if self.forces else "u, shape (nu,)"
        self.function = function(function_, "Feedback: function", f"(q, v, t, p) → {what}")
        self._take_actuators(actuation, actuators, actuator_units, limits)
        strategy(null_space, AbstractNullSpace, "Feedback: null_space", "zw.servo.LeastNorm() ...")
        self.null_space = LeastNorm() if null_space is None else null_space
        self.name = label(name, "Feedback: name")

    def __repr__(self) -> str:
        return present("text_of_values", self)

    @property
    def by_constraints(self) -> bool:
        return False

    def checked(self, passive):
        nu, system = super().checked(passive), passive.system
        given = outcome(self._given, "function(q, v, t, p)", *system.shapes, passive.p).shape
        size = system.nv if self.forces else nu
        if given != (size,):
            names = ", ".join(self.names(nu))
            each = f"a number for each actuator ({names})"
            what = "the force on each velocity" if self.forces else each
            raise ModelError(
                f"{self.name}: function(q, v, t, p) returns shape {given}, expected ({size},), "
                f"{what}."
            )
        if self.forces and self.name in passive.constraints.names:
            raise ModelError(
                f"{self.name!r} is the name of a constraint and of a feedback; give it another "
                "name=."
            )
        return nu

    def _given(self, q, v, t, p):
        found = self.function(q, v, t, p)
        found = returned(found, "function(q, v, t, p)", integers=True, lists=True)
        return jnp.atleast_1d(jnp.asarray(found, jnp.float64))

    def choose(self, passive, eq, before=None, elapsed=0.0) -> Fed:
        s, p = eq.state, passive.p
        B, given = self.actuation_matrix(s.q, s.t, p), self._given(s.q, s.v, s.t, p)
        nu = B.shape[1]
        box = None if self.limits is None else self.limits.box(nu, before, elapsed)
        if not self.forces:
            u = given if box is None else jnp.clip(given, *box)
            return Fed(eq, B, u, given, None)
        reduced = self._reduced(passive, eq, B, given)
        wanted = u = self.null_space.choose(reduced, s, p)
        if box is not None:
            weights = self.null_space.weights(nu, s, p)
            u = limited(reduced.G, reduced.r, wanted, weights, *box, reduced.method)
        return Fed(eq, B, u, wanted, reduced)

    def _reduced(self, passive: Dynamics, eq: Equation, B, Q) -> ReducedServoSystem:
        # forces that no actuator reaches are common (the base of a walking robot); the rows then
        # contradict each other, which needs a method with a rank decision
        method = SVD(AUTHORITY_THRESHOLD)
        if not passive.constraints.m:
            return ReducedServoSystem(B, B, Q, method)
        weighed = eq.mass.weigh(jnp.concatenate([B.T, Q[None]]))
        # I − C⁺C: the projection onto the accelerations that constraints admit
        passed = jax.vmap(lambda w: w - eq.gauss.C.solve(eq.gauss.rows @ w))(weighed)
        return ReducedServoSystem(passed[:-1].T, weighed[:-1].T, passed[-1], method)

    def diagnose(self, passive, choice, u=None) -> Control:
        u = choice.u if u is None else u
        eq, force, reduced = choice.eq, choice.B @ u, choice.reduced
        total = passive.acceleration(replace(eq, force=eq.force + force))
        code, missed, none = jnp.asarray(Result.SUCCESS), jnp.zeros(()), {}
        if reduced is None:
            rank = SVD(AUTHORITY_THRESHOLD).factor(choice.B).rank()
        else:
            missed, rank = _missed(reduced, u), reduced.rank()
            code = jnp.where(_missed(reduced, choice.u) <= SOLVED, code, Result.AT_LIMIT)
            met = _missed(reduced, choice.wanted) <= SOLVED
            code = jnp.where(met, code, Result.TOO_FEW_ACTUATORS)
            none = {self.name: jnp.asarray(jnp.nan)}
        code = jnp.where(jnp.all(jnp.isfinite(total)), code, Result.NON_FINITE)
        return Control(
            u=u,
            actuator_force=force,
            passive_force=eq.mass.apply(total) - eq.force - force,
            acceleration=total,
            residual=missed,
            passive_residual=constraint_residual(eq, total),
            rank=rank,
            authority=none,
            missed=dict.fromkeys(none, missed),
            violation=none,
            velocity_violation=none,
            result=jnp.where(eq.mass.is_positive(), code, Result.SINGULAR_MASS),
        )

    def blank(self, passive):
        names = (self.name,) if self.forces else ()
        return blank(self, names, passive)


class Fed(Record):
    """The choice of a `Feedback`: the passive equation, B, u, the u without limits, and, where
    forces are given, the problem that was solved.
    """

    eq: Equation
    B: Float[Array, "nv nu"]
    u: Float[Array, " nu"]
    wanted: Float[Array, " nu"]
    reduced: ReducedServoSystem | None

    @property
    def actuator_force(self) -> Float[Array, " nv"]:
        """`B u`."""
        return self.B @ self.u


def _missed(reduced: ReducedServoSystem, u) -> Float[Array, ""]:
    """Share of the forces that a control does not reproduce."""
    return relative(reduced.G @ u - reduced.r, reduced.r)
