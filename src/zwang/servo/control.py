"""The control at one state."""

from __future__ import annotations

import dataclasses

from jaxtyping import PyTree

from zwang.algebra.judgement import misses_by
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal
from zwang.compile import model_program
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.labels import labels_of
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import flag, instance, shown
from zwang.inputs.arrays import is_concrete
from zwang.inputs.call import misfits_named, written
from zwang.servo.controller import SOLVED, Controller
from zwang.servo.extended_servo import ExtendedServo
from zwang.servo.null_space import AUTHORITY_THRESHOLD
from zwang.servo.servo import Servo


def controller(
    model: Model,
    servo: AbstractControlLaw | None = None,
    params: PyTree = None,
) -> Controller:
    """A servo, by default the model's own, bound to the model without its control. The arguments
    are checked; nothing is compiled.

    Raises:
        ModelError: if there is no servo, or if it does not fit the model.
    """
    dynamics, given = _acting(model, servo, params, None)
    if not isinstance(given, (Servo, ExtendedServo)):
        raise ModelError(
            f"{model.name}: expected a zw.Servo with the constraints to analyze, got "
            f"{shown(given)}."
        )
    if wishes := [c.name for c in given.constraints if c.level.lets_go]:
        raise ModelError(
            f"{model.name}: servo constraint {wishes[0]!r} is a zw.Inequality, which is not "
            "always active; remove it, because this analysis needs equations."
        )
    return given.bound(dynamics)


def _acting(
    model: Model,
    law: AbstractControlLaw | None,
    params: PyTree,
    pseudoinverse: AbstractPseudoinverse | None,
) -> tuple[Dynamics, AbstractControlLaw]:
    """The model without its control, and the control law, both checked."""
    instance(model, Model, "control: model", "a zw.Model")
    given = model.servo if law is None else law
    if not isinstance(given, AbstractControlLaw):
        found = "it has none" if given is None else f"got {shown(given)}"
        raise ModelError(
            f"{model.name}: expected a zw.Servo, {found}; "
            "write f(model, servo, q, v), or f(model, q=q, v=v) for a model with a servo of its "
            "own."
        )
    passive = model.passive.dynamics(params, Proximal() if pseudoinverse is None else pseudoinverse)
    if passive.structure.sparse:
        raise ModelError(
            f"{model.name}: zw.methods.Sparse() cannot be used where a servo acts; leave "
            "pseudoinverse= out."
        )
    given.checked(passive)
    return passive, given


@misfits_named
def control(
    model: Model,
    servo: AbstractControlLaw | None = None,
    q=None,
    v=None,
    t=0.0,
    *,
    params: PyTree = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    throw: bool = True,
) -> Control:
    """The control that enforces servo constraints at one state.

        (A_s P M⁻¹ B) u = b_s − A_s a₀,    P = I − A⊕A

    Args:
        model: the model; its passive constraints react to the control.
        servo: servo constraints, actuators, gains and the choice among controls, or another
            control law (`zw.servo.Feedback`); the model's own by default: `zw.control(model, q=q,
            v=v)`. A law given here replaces the model's own.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        t: time [s].
        params: parameters that differ from the model's.
        pseudoinverse: method for A⊕ of the passive constraints; `zw.methods.Proximal()` by default.
        throw: raise on failure; otherwise read `Control.result`. Inside `jit`, `vmap` and `grad`
            nothing is raised.

    Returns:
        A `Control`: `.u`, `.passive_force`, `.acceleration`, `.residual`, `.rank`, `.authority`,
        `.missed`, `.result`.

    Raises:
        ModelError: if the servo constraints cannot be met, with the names of those without
            authority. If only the limits of the actuators prevent it, nothing is raised: see
            `.result` and `.missed`.

    Reference: servo paper, eq. (35).
    """
    passive, law = _acting(model, servo, params, pseudoinverse)
    refuse_no_state("control", q, v)
    answer = control_of(passive, law, model.state(q, v, t))
    if flag(throw, "throw") and is_concrete(answer):
        raise_on_failure(answer, model)
    nu = answer.u.shape[-1]
    labels = labels_of(model.name, model.system)._replace(
        actuators=law.names(nu), actuator_units=law.units(nu)
    )
    return dataclasses.replace(answer, labels=labels)


def refuse_no_state(name: str, q, v) -> None:
    """Raise unless q and v are given."""
    if q is None or v is None:
        raise ModelError(
            f"{name} needs a state: {written(name)}(model, servo, q, v) or "
            f"{written(name)}(model, q=q, v=v)."
        )


@model_program
def control_of(passive: Dynamics, law: AbstractControlLaw, state: State) -> Control:
    """`control` without checks."""
    return law.control(passive, state)


def raise_on_failure(answer: Control, model: Model) -> None:
    """Raise the error that `Control.result` states, with the names of the servo constraints
    concerned.
    """
    result = Result(int(answer.result))
    # a servo at its limits works as designed, so this is not a failure
    if result in (
        Result.SUCCESS,
        Result.AT_LIMIT,
    ):
        return
    if result in (Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS, Result.NOT_KEPT):
        further = (
            "; zw.servo.with_found_degrees(model, servo, q, v) differentiates it until one does"
            if result is Result.NO_AUTHORITY
            else ""
        )
        raise ModelError(f"{model.name}: {result.sentence} ({unmet(answer)}){further}.")
    raise ModelError(f"{model.name}: {result.sentence}.")


def unmet(answer: Control) -> str:
    """Name the servo constraints that are missed, the worst first, and those that no actuator
    reaches.
    """
    missed = {name: float(x) for name, x in answer.missed.items()}
    named = []
    for name, size in sorted(missed.items(), key=lambda x: -x[1]):
        if size > SOLVED:
            none = (
                " without authority" if float(answer.authority[name]) <= AUTHORITY_THRESHOLD else ""
            )
            named.append(f"{name!r}{none} {misses_by(size)}")
    return "; ".join(named[:4])
