"""The equations of the control u, with the reactions of the passive constraints.

With a₀ the acceleration of the passive system without control and P = I − A⊕A,

    v̇ = a₀ + P M⁻¹ B u         passive constraints react to the actuators
    (A_s P M⁻¹ B) u = b_s − A_s a₀     one linear solve, no algebraic loop

Reference: servo paper, eq. (16)-(35). Its eq. (24) includes Q^c in a; the projection P states this
    dependence on u explicitly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from zwang.algebra.judgement import relative_residual
from zwang.algebra.mass_matrix import row_lengths
from zwang.compile.hints import shared_code
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.errors import Result
from zwang.objects.record import Record, field, replace
from zwang.servo.keeping import keeping
from zwang.servo.lie_derivative import DifferentiatedConstraint, chain, differentiated
from zwang.servo.limits import Limits, limited
from zwang.servo.null_space import AUTHORITY_THRESHOLD, ReducedServoSystem
from zwang.thresholds import ACCEPTED_VIOLATION

if TYPE_CHECKING:
    from zwang.servo.servo import Servo

SOLVED = 1e-8
"""Largest servo residual, relative to the accelerations involved, that counts as solved."""

SERVO_ROUND_OFF = 1e-7
"""Residuals up to `SERVO_ROUND_OFF · SOLVED` times all accelerations, in the mass metric, count as
round-off. A row that requires no acceleration and gets none offers no other quantity for
comparison.
"""

NEWTON_STEPS = 8
"""Number of corrections of u where nonideal passive forces depend nonlinearly on the ideal ones,
and therefore on u.
"""


class Controller(Record):
    """A servo bound to the dynamics of a passive model.

    Attributes:
        dynamics: of the passive system, with the parameters that the controller assumes.
        servo: the servo.
        rows: the servo constraints, differentiated according to their degrees.
        one_sided: True for each of their rows that is an inequality.
    """

    dynamics: Dynamics
    servo: Servo
    rows: Constraints
    one_sided: tuple[bool, ...] = field(static=True)

    def __init__(self, dynamics: Dynamics, servo: Servo):
        self.dynamics, self.servo = dynamics, servo
        self.rows = differentiated(servo.constraints, dynamics, servo.degrees)
        which = np.zeros(self.rows.m, bool)
        for name in servo.inequalities:
            which[self.rows.row_slices[name]] = True
        self.one_sided = tuple(which.tolist())

    def target(self, s: State) -> Float[Array, " rows"]:
        """`b_s` including the feedback of the gains, shape (rows,)."""
        b, errors = self.rows.rhs(s.q, s.v, s.t, self.dynamics.p), self.errors(s)
        # without a gain the constraint is enforced only at the level of accelerations, and errors
        # persist
        for name, gain in self.servo.gains.items():
            b = b.at[self.rows.row_slices[name]].add(gain.at(s).pull(errors[name]))
        return b

    def errors(self, s: State) -> dict[str, list[Float[Array, " rows"]]]:
        """`y, ẏ …` of each servo constraint, up to the order below its degree."""
        found = {}
        for member in self.rows.members:
            together = isinstance(member, DifferentiatedConstraint)
            originals = member.originals if together else (member,)
            order = self.servo.degrees[originals[0].name]
            orders = chain(originals, self.dynamics, s, order)
            parts = [jnp.split(y, len(originals)) for y in orders]
            for i, c in enumerate(originals):
                found[c.name] = [part[i] for part in parts]
        return found

    def choose(
        self,
        eq: Equation,
        before: Float[Array, " nu"] | None = None,
        elapsed: Float[Array, ""] | float = 0.0,
    ) -> ServoSolution:
        """u and all quantities from which it was chosen, for a given passive system.

        Args:
            eq: the passive system.
            before: the control applied `elapsed` seconds ago, for limits of the rate; None if
                unknown.
            elapsed: time since then [s].
        """
        p, s = self.dynamics.p, eq.state
        A, b, B = _demands(self, s)
        weighed = eq.mass.weigh(jnp.concatenate([A, B.T]))
        rows, columns = weighed[: len(A)], weighed[len(A) :]  # A_s W and (Wᵀ B)ᵀ
        # only a choice of units: v̇ does not depend on it, so it needs no derivative
        length = row_lengths(jax.lax.stop_gradient(rows))
        scale = 1 / jnp.where(length > 0, length, 1.0)
        width = row_lengths(jax.lax.stop_gradient(columns))
        K = scale[:, None] * (rows @ columns.T)

        def solve(a0, G):
            # the cosine between a row and the acceleration that the best actuator causes, including
            # the reactions of the passive constraints
            authority = jnp.max(jnp.abs(G) / jnp.where(width > 0, width, 1.0), axis=1, initial=0.0)
            # a row without authority is left out, because inverting its round-off would give a huge
            # control
            G = (authority > AUTHORITY_THRESHOLD)[:, None] * G
            r, one_sided = scale * (b - A @ a0), np.array(self.one_sided, bool)
            held, kept = np.flatnonzero(~one_sided), np.flatnonzero(one_sided)
            reduced = ReducedServoSystem(G[held], K[held], r[held], self.servo.pseudoinverse)
            wanted = self.servo.null_space.choose(reduced, s, p)
            u = self._within_limits(reduced, G[kept], r[kept], wanted, s, before, elapsed)
            return u, ServoProblem(reduced, wanted, authority)

        if all(c.nonideal is None for c in self.dynamics.constraints.members):
            # I − C⁺C: the projection onto the accelerations that passive constraints admit
            passed = lambda w: w - eq.gauss.C.solve(eq.gauss.rows @ w)
            # the projection is applied to the rows or to the actuators, whichever are fewer
            few = len(rows) <= len(columns)
            G = jax.vmap(passed)(rows) @ columns.T if few else rows @ jax.vmap(passed)(columns).T
            a0 = self.dynamics.acceleration(eq)
            u, problem = solve(a0, scale[:, None] * G)
            return ServoSolution(
                self, eq, A, b, B, scale, u, a0 + eq.mass.unweigh(passed(columns.T @ u)), problem
            )

        def achieved(u):
            return self.dynamics.acceleration(replace(eq, force=eq.force + B @ u))

        def corrected(u):
            slope = jax.jacfwd(achieved)(u)
            return solve(achieved(u) - slope @ u, scale[:, None] * (A @ slope))

        # friction depends on the constraint force and therefore on u; a fixed number of corrections
        # keeps the program differentiable
        u = jax.lax.fori_loop(0, NEWTON_STEPS, lambda _, u: corrected(u)[0], jnp.zeros(B.shape[1]))
        return ServoSolution(self, eq, A, b, B, scale, u, achieved(u), corrected(u)[1])

    def _within_limits(
        self, reduced: ReducedServoSystem, C, d, wanted, s: State, before, elapsed
    ) -> Float[Array, " nu"]:
        """The control within its limits that satisfies the inequalities `C u ≥ d`."""
        limits, nu = self.servo.limits, len(wanted)
        if limits is None and not len(d):
            return wanted
        weights = self.servo.null_space.weights(nu, s, self.dynamics.p)
        box = (Limits() if limits is None else limits).box(nu, before, elapsed)
        if not len(d):
            return limited(reduced.G, reduced.r, wanted, weights, *box, reduced.method)
        return keeping(reduced.G, reduced.r, C, d, wanted, weights, box, reduced.method)

    def acceleration(self, eq: Equation, u: Float[Array, " nu"]) -> Float[Array, " nv"]:
        """v̇ of the passive system under a given control."""
        B = self.servo.actuation_matrix(eq.state.q, eq.state.t, self.dynamics.p)
        return self.dynamics.acceleration(dataclasses.replace(eq, force=eq.force + B @ u))

    def __call__(self, s: State) -> Control:
        """The control at a state, with its diagnosis."""
        return self.diagnosis(self.choose(self.dynamics.equation_at(s)))

    def diagnosis(self, best: ServoSolution, u: Float[Array, " nu"] | None = None) -> Control:
        """The effect of a choice; or the effect of a control u from another source in its place.

        For such a u, `result` says whether the servo constraints could be met at this state, and
        `missed` by how much u misses them.
        """
        c = best
        if u is not None:
            c = dataclasses.replace(c, u=u, acceleration=self.acceleration(c.eq, u))
        # a residual of 1e-12 is not small if the accelerations are 1e-12 as well
        involved = jnp.abs(c.acceleration) + jnp.abs(c.eq.free_acceleration)
        asked = jnp.linalg.norm(c.scale * c.b) + jnp.linalg.norm(
            c.scale * (jnp.abs(c.A) @ involved)
        )
        asked = asked + SERVO_ROUND_OFF * sum(
            jnp.sqrt(x @ c.eq.mass.apply(x)) for x in (c.acceleration, c.eq.free_acceleration)
        )
        per = 1 / jnp.where(asked > 0, asked, 1.0)
        miss = per * c.scale * (c.A @ c.acceleration - c.b)
        one_sided = np.array(self.one_sided, bool)
        miss = jnp.where(one_sided, jnp.minimum(miss, 0.0), miss)
        broken = jnp.any(one_sided & (miss < -SOLVED))
        slices = self.rows.row_slices
        authority = {
            name: jnp.min(c.problem.authority[rows], initial=1.0) for name, rows in slices.items()
        }
        missed = {name: jnp.linalg.norm(miss[rows]) for name, rows in slices.items()}
        actuator_force = c.B @ c.u
        # from the equation of motion, so that it contains the nonideal and the ideal part
        passive_force = c.eq.mass.apply(c.acceleration) - c.eq.force - actuator_force
        passive_residual = constraint_residual(c.eq, c.acceleration)
        code = self._code(c, best.u, per, broken, passive_residual)
        phi, psi = self._errors(c.eq.state)
        return Control(
            u=c.u,
            actuator_force=actuator_force,
            passive_force=passive_force,
            acceleration=c.acceleration,
            residual=jnp.linalg.norm(miss),
            passive_residual=passive_residual,
            rank=c.problem.reduced.rank(),
            authority=authority,
            missed=missed,
            violation=phi,
            velocity_violation=psi,
            result=code,
        )

    def _code(
        self, c: ServoSolution, best: Float[Array, " nu"], per, broken, passive_residual
    ) -> Int[Array, ""]:
        """State whether the servo constraints can be met, and the cause if not. `per` makes the
        accelerations of rows at unit length relative; `broken` is true if an inequality is
        violated.
        """
        reduced = c.problem.reduced
        # the residuals without limits, and within them
        without, within = (per * (reduced.r - reduced.G @ u) for u in (c.problem.u, best))
        authority = c.problem.authority[~np.array(self.one_sided, bool)]
        lost = jnp.any((authority <= AUTHORITY_THRESHOLD) & (jnp.abs(without) > SOLVED))
        # AT_LIMIT only if the control without limits would meet the constraints
        code = jnp.where(jnp.linalg.norm(within) <= SOLVED, Result.SUCCESS, Result.AT_LIMIT)
        code = jnp.where(
            jnp.linalg.norm(without) <= SOLVED,
            code,
            jnp.where(lost, Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS),
        )
        code = jnp.where(broken, Result.NOT_KEPT, code)
        # causes that make all others meaningless overwrite them, the most severe last
        code = jnp.where(passive_residual <= ACCEPTED_VIOLATION, code, Result.INCONSISTENT)
        code = jnp.where(jnp.all(jnp.isfinite(c.acceleration)), code, Result.NON_FINITE)
        return jnp.where(c.eq.mass.is_positive(), code, Result.SINGULAR_MASS)

    def _errors(self, s: State) -> tuple[dict, dict]:
        """Largest |φ| and |ψ| of each servo constraint, NaN for a level that it does not have."""
        system, p, none = self.dynamics.system, self.dynamics.p, jnp.asarray(jnp.nan)

        def largest(c, x):
            # an open gap is not an error, and neither is its rate
            return jnp.max(jnp.maximum(-x, 0.0) if c.level.lets_go else jnp.abs(x), initial=0.0)

        phi = {
            c.name: largest(c, c.position_residual(system, s.q, s.t, p))
            if c.level.has_phi
            else none
            for c in self.servo.constraints
        }
        psi = {
            c.name: largest(c, c.velocity_residual(system, s.q, s.v, s.t, p))
            if c.level.has_psi and not (c.level.lets_go and c.level.has_phi)
            else none
            for c in self.servo.constraints
        }
        return phi, psi


@shared_code
def _demands(controller: Controller, s: State) -> tuple:
    """`A_s`, `b_s` including the feedback of the gains, and B; shared by all programs of a closed
    loop.
    """
    p = controller.dynamics.p
    A, b = controller.rows.matrix(s.q, s.v, s.t, p), controller.target(s)
    return A, b, controller.servo.actuation_matrix(s.q, s.t, p)


class ServoProblem(Record):
    """The servo problem at one state, the u without limits, and the authority over each row."""

    reduced: ReducedServoSystem
    u: Float[Array, " nu"]
    authority: Float[Array, " rows"]


class ServoSolution(Record):
    """The result of `Controller.choose`: the passive equation, `A_s v̇ = b_s`, B, row scale, u, v̇,
    and the servo problem that was solved.
    """

    controller: Controller
    eq: Equation
    A: Float[Array, "rows nv"]
    b: Float[Array, " rows"]
    B: Float[Array, "nv nu"]
    scale: Float[Array, " rows"]
    u: Float[Array, " nu"]
    acceleration: Float[Array, " nv"]
    problem: ServoProblem

    @property
    def actuator_force(self) -> Float[Array, " nv"]:
        """`B u`."""
        return self.B @ self.u


def blank(law: AbstractControlLaw, names: Iterable[str], passive: Dynamics) -> Control:
    """A `Control` filled with zeros, with the shapes of a law's diagnosis; `names` are the keys of
    its mappings.
    """
    system, zero, code = passive.system, jnp.zeros(()), jnp.zeros((), int)
    q, _, t = system.shapes
    nu = jax.eval_shape(law.actuation_matrix, q, t, passive.p).shape[1]
    force, each = jnp.zeros(system.nv), dict.fromkeys(names, zero)
    return Control(
        u=jnp.zeros(nu),
        actuator_force=force,
        passive_force=force,
        acceleration=force,
        residual=zero,
        passive_residual=zero,
        rank=code,
        authority=each,
        missed=each,
        violation=each,
        velocity_violation=each,
        result=code,
    )


def constraint_residual(eq: Equation, acceleration) -> Float[Array, ""]:
    """Residual of the passive constraints relative to the size of the terms in it."""
    A, b = eq.gauss.A, eq.b
    terms = jnp.abs(b) + abs(A) @ (jnp.abs(acceleration) + jnp.abs(eq.free_acceleration))
    return relative_residual(jnp, A @ acceleration - b, terms, eq.gauss.units())
