"""The control that enforces servo constraints, with hinges reacting to it.

With a₀ the acceleration of the passive system without control and P = I − A⊕A,

    v̇ = a₀ + P M⁻¹ B u         hinges react to the actuators
    (A_s P M⁻¹ B) u = b_s − A_s a₀     one linear solve, no algebraic loop

Reference: servo paper, eq. (16)-(35); the projection P is what its eq. (24) leaves open by putting Q^c into a.
"""

from __future__ import annotations

import enum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from zwang.arrays import is_concrete
from zwang.constraint import Constraints
from zwang.dynamics import Dynamics, Equation
from zwang.errors import ModelError, Result
from zwang.kernel import WeightedPseudoinverse, row_lengths
from zwang.model import CONSISTENT, Model
from zwang.pseudoinverse import AbstractPseudoinverse
from zwang.servo.null_space import Reach
from zwang.servo.prolonged import Prolonged, chain
from zwang.servo.servo import NATURAL_DEGREE, THRESHOLD, Servo
from zwang.state import State

SOLVED = 1e-8
"""Largest servo residual, relative to the accelerations involved, that counts as solved."""

ROUND_OFF = 1e-7
"""Residuals up to `ROUND_OFF · SOLVED` of all accelerations, in the mass metric, are round-off: where a row asks for no acceleration
and gets none, there is nothing else to compare them with."""

NEWTON_STEPS = 8
"""Corrections of u where nonideal passive forces depend on the ideal ones, and so on u, in a way that is not linear."""


class ServoResult(enum.IntEnum):
    """How a control came out, as an integer that fits into compiled programs; `.sentence` says it in words."""

    SUCCESS = int(Result.SUCCESS)
    NON_FINITE = int(Result.NON_FINITE)
    SINGULAR_MASS = int(Result.SINGULAR_MASS)
    INCONSISTENT = int(Result.INCONSISTENT)
    NO_AUTHORITY = 20
    TOO_FEW_ACTUATORS = 21

    @property
    def sentence(self) -> str:
        if self is ServoResult.NO_AUTHORITY:
            return "no actuator accelerates what the servo constraint needs at this state"
        if self is ServoResult.TOO_FEW_ACTUATORS:
            return "the actuators cannot meet all servo constraints together at this state"
        return Result(int(self)).sentence


class Control(eqx.Module):
    """The control at one instant; every member is an array, so it passes through `jit`, `vmap` and `grad`.

    Attributes:
        u: control [N, N·m …], shape (nu,); the least-squares one where the servo constraints cannot be met.
        actuator_force: B u, shape (nv,).
        passive_force: force of the passive constraints, which reacts to u, ideal and nonideal [N, N·m …], shape (nv,).
        acceleration: v̇ under control, shape (nv,).
        residual: ‖A_s v̇ − b_s‖ relative to the accelerations involved, rows at unit length.
        passive_residual: the same for the passive constraints.
        rank: rank of `C B̄`, i.e. of A_s P M⁻¹ B.
        authority: by servo constraint, between 0 (no actuator moves it, its hinges given) and 1: the largest cosine, in the
            mass metric, between a row and what one actuator can accelerate; the least over its rows.
        missed: by servo constraint, its share of `residual`: what the actuators leave undone.
        result: a `ServoResult` code.
    """

    u: Float[Array, " nu"]
    actuator_force: Float[Array, " nv"]
    passive_force: Float[Array, " nv"]
    acceleration: Float[Array, " nv"]
    residual: Float[Array, ""]
    passive_residual: Float[Array, ""]
    rank: Int[Array, ""]
    authority: dict[str, Float[Array, ""]]
    missed: dict[str, Float[Array, ""]]
    result: Int[Array, ""]


class Controller(eqx.Module):
    """A servo bound to the dynamics of a passive model.

    Attributes:
        dynamics: of the passive system, with the parameters that the controller believes in.
        servo: what is to be enforced.
        rows: the servo constraints, differentiated as often as their degree says.
    """

    dynamics: Dynamics
    servo: Servo
    rows: Constraints

    def __init__(self, dynamics: Dynamics, servo: Servo):
        self.dynamics, self.servo = dynamics, servo
        members = [
            c if servo.degrees[c.name] == NATURAL_DEGREE[c.level] else Prolonged(c, dynamics, servo.degrees[c.name])
            for c in servo.constraints
        ]
        self.rows = Constraints(members, dynamics.system, dynamics.p)

    def target(self, s: State) -> Float[Array, " rows"]:
        """`b_s` with the pull of the gains, shape (rows,)."""
        b = self.rows.rhs(s.q, s.v, s.t, self.dynamics.p)
        for c in self.servo.constraints:
            if c.name in self.servo.gains:
                errors = chain(c, self.dynamics, s, self.servo.degrees[c.name])
                b = b.at[self.rows.row_slices[c.name]].add(self.servo.gains[c.name].pull(errors))
        return b

    def equation(self, s: State) -> Equation:
        """The passive system at a state."""
        A = self.dynamics.matrix(s)
        return self.dynamics.equation(s, self.dynamics.weighted(self.dynamics.mass(s, A), A))

    def choose(self, s: State) -> Choice:
        """u, and everything that it was chosen from."""
        p, eq = self.dynamics.p, self.equation(s)
        A = self.rows.matrix(s.q, s.v, s.t, p)
        b, B = self.target(s), self.servo.actuation_matrix(s.q, s.t, p)
        weighed = eq.mass.weigh(jnp.concatenate([A, B.T]))
        rows, columns = weighed[: len(A)], weighed[len(A) :]  # A_s W and (Wᵀ B)ᵀ
        length = row_lengths(jax.lax.stop_gradient(rows))
        scale = 1 / jnp.where(length > 0, length, 1.0)
        width = row_lengths(jax.lax.stop_gradient(columns))
        K = scale[:, None] * (rows @ columns.T)

        def solve(a0, G):
            authority = jnp.max(jnp.abs(G) / jnp.where(width > 0, width, 1.0), axis=1, initial=0.0)
            reachable = (authority > THRESHOLD)[:, None]
            reach = Reach(reachable * G, K, scale * (b - A @ a0), self.servo.pseudoinverse)
            return self.servo.null_space.choose(reach, s, p), authority, reach

        if all(c.nonideal is None for c in self.dynamics.constraints.members):
            passed = lambda w: w - eq.weighted.C.solve(eq.weighted.C.C @ w)  # I − C⁺C: what hinges let through
            few = len(rows) <= len(columns)
            G = jax.vmap(passed)(rows) @ columns.T if few else rows @ jax.vmap(passed)(columns).T
            a0 = self.dynamics.acceleration(eq)
            u, authority, reach = solve(a0, scale[:, None] * G)
            return Choice(eq, A, b, B, scale, u, a0 + eq.mass.unweigh(passed(columns.T @ u)), authority, reach)

        def achieved(u):
            return self.dynamics.acceleration(eqx.tree_at(lambda e: e.force, eq, eq.force + B @ u))

        def corrected(u):
            slope = jax.jacfwd(achieved)(u)
            return solve(achieved(u) - slope @ u, scale[:, None] * (A @ slope))

        u = jax.lax.fori_loop(0, NEWTON_STEPS, lambda _, u: corrected(u)[0], jnp.zeros(B.shape[1]))
        _, authority, reach = corrected(u)
        return Choice(eq, A, b, B, scale, u, achieved(u), authority, reach)

    def __call__(self, s: State) -> Control:
        """The control at a state, with its diagnosis."""
        c = self.choose(s)
        involved = jnp.abs(c.acceleration) + jnp.abs(c.eq.free_acceleration)
        miss = c.scale * (c.A @ c.acceleration - c.b)
        asked = jnp.linalg.norm(c.scale * c.b) + jnp.linalg.norm(c.scale * (jnp.abs(c.A) @ involved))
        asked = asked + ROUND_OFF * sum(jnp.sqrt(x @ c.eq.mass.apply(x)) for x in (c.acceleration, c.eq.free_acceleration))
        miss = miss / jnp.where(asked > 0, asked, 1.0)
        slices = self.rows.row_slices
        authority = {name: jnp.min(c.authority[rows], initial=1.0) for name, rows in slices.items()}
        missed = {name: jnp.linalg.norm(miss[rows]) for name, rows in slices.items()}
        actuator_force = c.B @ c.u
        passive_force = c.eq.mass.apply(c.acceleration) - c.eq.force - actuator_force
        passive_residual = _passive_residual(c.eq.weighted, c.acceleration, c.eq.b)
        residual = jnp.linalg.norm(miss)
        lost = jnp.stack([(authority[n] <= THRESHOLD) & (missed[n] > SOLVED) for n in slices] or [jnp.asarray(False)])
        code = jnp.where(jnp.any(lost), ServoResult.NO_AUTHORITY, ServoResult.TOO_FEW_ACTUATORS)
        code = jnp.where(residual <= SOLVED, ServoResult.SUCCESS, code)
        code = jnp.where(passive_residual <= CONSISTENT, code, ServoResult.INCONSISTENT)
        code = jnp.where(jnp.all(jnp.isfinite(c.acceleration)), code, ServoResult.NON_FINITE)
        code = jnp.where(c.eq.mass.is_positive(), code, ServoResult.SINGULAR_MASS)
        return Control(
            c.u,
            actuator_force,
            passive_force,
            c.acceleration,
            residual,
            passive_residual,
            c.reach.rank(),
            authority,
            missed,
            code,
        )


class Choice(eqx.Module):
    """What `Controller.choose` found: the passive equation, `A_s v̇ = b_s`, B, row scale, u, v̇, authority per row, the problem."""

    eq: Equation
    A: Float[Array, "rows nv"]
    b: Float[Array, " rows"]
    B: Float[Array, "nv nu"]
    scale: Float[Array, " rows"]
    u: Float[Array, " nu"]
    acceleration: Float[Array, " nv"]
    authority: Float[Array, " rows"]
    reach: Reach


def controller(
    model: Model, servo: Servo, params: PyTree = None, pseudoinverse: AbstractPseudoinverse | None = None
) -> Controller:
    """A servo bound to a model, checked; compiles nothing."""
    servo.checked(model)
    return Controller(model.dynamics(params, pseudoinverse), servo)


def control(
    model: Model,
    servo: Servo,
    q,
    v,
    t=0.0,
    *,
    params: PyTree = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    throw: bool = True,
) -> Control:
    """The control that enforces servo constraints at one state.

        (A_s P M⁻¹ B) u = b_s − A_s a₀,    P = I − A⊕A

    Args:
        model: the passive model; its constraints react to the control.
        servo: servo constraints, actuators, gains and the choice among controls.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        t: time [s].
        params: parameters that differ from the model's.
        pseudoinverse: method for A⊕ of the passive constraints; `zw.Proximal()` unless given.
        throw: raise on failure; otherwise read `Control.result`. Inside `jit`, `vmap` and `grad` nothing is raised.

    Returns:
        A `Control`: `.u`, `.passive_force`, `.acceleration`, `.residual`, `.rank`, `.authority`, `.missed`, `.result`.

    Raises:
        ModelError: if the servo constraints cannot be met, with the names of those without authority.

    Reference: servo paper, eq. (35).
    """
    answer = control_of(controller(model, servo, params, pseudoinverse), model.state(q, v, t))
    if throw and is_concrete(answer):
        raise_on_failure(answer, model)
    return answer


@eqx.filter_jit
def control_of(controller: Controller, state: State) -> Control:
    """`control` for a `Controller`, without checks."""
    return controller(state)


def raise_on_failure(answer: Control, model: Model) -> None:
    """Raise what `Control.result` says, with the servo constraints concerned."""
    result = ServoResult(int(answer.result))
    if result is ServoResult.SUCCESS:
        return
    if result in (ServoResult.NO_AUTHORITY, ServoResult.TOO_FEW_ACTUATORS):
        raise ModelError(f"{model.name}: {result.sentence} ({unmet(answer)}).")
    raise ModelError(f"{model.name}: {result.sentence}.")


def unmet(answer: Control) -> str:
    """Which servo constraints are missed, the worst first, and which of them no actuator reaches."""
    missed = {name: float(x) for name, x in answer.missed.items()}
    named = []
    for name, size in sorted(missed.items(), key=lambda x: -x[1]):
        if size > SOLVED:
            none = " without authority" if float(answer.authority[name]) <= THRESHOLD else ""
            named.append(f"{name!r}{none}, misses by {size:.3g}")
    return "; ".join(named[:4])


def _passive_residual(weighted: WeightedPseudoinverse, acceleration, b) -> Float[Array, ""]:
    """‖A v̇ − b‖ relative to ‖b‖ + ‖A‖‖v̇‖ entry by entry, rows at unit length."""
    asked = jnp.linalg.norm(weighted.scale * b) + jnp.linalg.norm(weighted.scale * (jnp.abs(weighted.A) @ jnp.abs(acceleration)))
    miss = jnp.linalg.norm(weighted.scale * (weighted.A @ acceleration - b))
    return miss / jnp.where(asked > 0, asked, 1.0)
