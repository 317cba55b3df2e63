"""Inverse dynamics of closed chains: the control for a given acceleration."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.metric import dense_metric, dense_rows
from zwang.dynamics.control_law import Control
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.model import Model
from zwang.equations.constraint import AccelerationConstraint
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import flag, instance, labels
from zwang.inputs.arrays import is_concrete, vector
from zwang.inputs.call import misfits_named
from zwang.objects.record import Record
from zwang.servo.control import control_of, controller, raise_on_failure
from zwang.servo.null_space import AbstractNullSpace
from zwang.servo.servo import Servo
from zwang.thresholds import ACCEPTED_VIOLATION, ALL_BUT_ZERO


class Wanted(Record):
    """One entry of the given acceleration as a row `A v̇ = b`, in arrays, so that another
    acceleration needs no new compilation.
    """

    row: Float[Array, " nv"]
    value: Float[Array, ""]

    def A(self, q, v, t, p):
        return self.row

    def b(self, q, v, t, p):
        return self.value


@misfits_named
def inverse_dynamics(
    model: Model,
    q,
    v,
    a,
    actuation,
    t=0.0,
    *,
    params: PyTree = None,
    actuators=None,
    null_space: AbstractNullSpace | None = None,
    throw: bool = True,
) -> Control:
    """The control that produces a given acceleration, with the forces of the passive constraints.

        (P M⁻¹ B) u = a − a₀,    P = I − A⊕A

    It is the servo problem with A_s = I and b_s = a. If a closed chain has more actuators than
    degrees of freedom, the control of least norm is returned, or the choice of `null_space`. All
    forces that give a,

        B u + Aᵀ λ = M a − F,

    differ by the null space of (B Aᵀ). A component that is zero throughout this null space is
    unique.

    Args:
        model: the passive model.
        q, v: state, shapes (nq,) and (nv,).
        a: the given v̇, shape (nv,), consistent with the passive constraints.
        actuation: `(q, t, p)` → B, shape (nv, nu), or a matrix.
        t: time [s].
        params: parameters that differ from the model's.
        actuators, null_space: see `Servo`.
        throw: raise on failure; otherwise read `Control.result`.

    Returns:
        A `Control`; `.u`, `.passive_force`, and by name of the velocity `.missed` and `.authority`.
        Outside `jit`, `vmap` and `grad` it also states which forces are unique: `.unique_u`,
        `.unique_force`, and, if the constraints are ideal, `.force_by_constraint`.

    Raises:
        ModelError: if a contradicts the passive constraints, with their names, or if the actuators
            cannot produce it, with the names of the velocities concerned.
    """
    instance(model, Model, "inverse_dynamics: model", "a zw.Model")
    nv = model.system.nv
    actuators = None if actuators is None else labels(actuators, "inverse_dynamics: actuators")
    a = vector(a, nv, "a", model.system.velocities)
    servo = Servo(
        [
            AccelerationConstraint(wanted.A, wanted.b, name=f"acceleration of {name}")
            for name, wanted in zip(
                model.system.velocities,
                (Wanted(jnp.eye(nv)[i], a[i]) for i in range(nv)),
                strict=True,
            )
        ],
        actuation,
        actuators=actuators,
        null_space=null_space,
    )
    bound, state = controller(model, servo, params), model.state(q, v, t)
    answer = control_of(bound.dynamics, servo, state)
    if flag(throw, "throw") and is_concrete(answer):
        _refuse_inconsistent(model, bound.dynamics, state, a)
        raise_on_failure(answer, model)
    return _judged(answer, bound.dynamics, servo, state) if is_concrete(answer) else answer


def _judged(answer: Control, dynamics: Dynamics, servo: Servo, state: State) -> Control:
    """The control with the statement of which forces are unique."""
    c, at = dynamics.constraints, evaluate(dynamics, state)
    A = dense_rows(at.A)
    B, nu = np.asarray(servo.actuation_matrix(state.q, state.t, dynamics.p)), len(answer.u)
    metric = dense_metric(at.M, A if dynamics.singular_mass else None)
    both = metric.rows(np.concatenate([B.T, A]))
    null = both.split.left_kernel
    # with columns of unit length, so that each force is compared with its own size
    open_to = {n: both.C[nu:][s].T @ null[nu:][s] for n, s in c.row_slices.items()}
    forces = None
    if all(x.nonideal is None for x in c.members):
        multipliers = metric.rows(A).multipliers(np.asarray(answer.passive_force))
        forces = {n: jnp.asarray(A[s].T @ multipliers[s]) for n, s in c.row_slices.items()}
    return dataclasses.replace(
        answer,
        unique_u=jnp.asarray(both.unique[:nu]),
        unique_force={n: jnp.all(jnp.abs(x) <= ALL_BUT_ZERO) for n, x in open_to.items()},
        force_by_constraint=forces,
    )


def _refuse_inconsistent(model: Model, dynamics, state, a) -> None:
    """Raise if `A a ≠ b` for the passive constraints."""
    A, b = dynamics.matrix(state), dynamics.rhs(state)
    miss, size = jnp.abs(A @ a - b), jnp.abs(A) @ jnp.abs(a) + jnp.abs(b)
    wrong = {
        n: float(jnp.max(miss[s], initial=0.0))
        for n, s in model.constraints.row_slices.items()
        if jnp.any(miss[s] > ACCEPTED_VIOLATION * size[s])
    }
    if wrong:
        named = ", ".join(f"{name!r} by {size:.3g}" for name, size in wrong.items())
        raise ModelError(
            f"{model.name}: the wanted acceleration violates passive constraints, whatever the "
            f"actuators do: {named}."
        )
