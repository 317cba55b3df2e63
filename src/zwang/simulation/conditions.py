"""Conditions that end a run or switch a constraint: what their functions may return."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.vector_field import ConstrainedVectorField, Events
from zwang.equations.constraint.equation import first_line
from zwang.errors import ModelError
from zwang.stepping.step import Progress

EXPECTED = "expected one real number that passes zero where the condition is met"


def conditions_of(events: Events, stops: Sequence[str], switches: Sequence[str]) -> list[str]:
    """What each function of `events` is called in messages, from the names of the stop conditions
    and those of the switched constraints.
    """
    switching = [
        f"condition {'off' if condition.off else 'on'}= of zw.Switch {switches[condition.switch]!r}"
        for condition in events.conditions
    ]
    return [*(f"stop condition {name!r}" for name in stops), *switching]


def check_conditions(events: Events, flow: ConstrainedVectorField, names: Sequence[str]) -> None:
    """Evaluate the shapes and kinds of what conditions return, which compiles nothing.

    Raises:
        ModelError: if one fails, or does not return one real number.
    """
    system, p = flow.dynamics.system, flow.dynamics.p
    number = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float64)
    state = (number(system.nq), number(system.nv), number())
    functions = [(f, ()) for f in events.stops]
    functions += [
        (
            condition.function,
            (number(condition.rows[1] - condition.rows[0]),) if condition.off else (),
        )
        for condition in events.conditions
    ]
    for (function, further), name in zip(functions, names, strict=True):
        takes = "(q, v, t, p, multipliers)" if further else "(q, v, t, p)"
        if not callable(function):
            raise ModelError(f"{name} is {function!r:.60}, expected a function {takes}.")
        try:
            found = jax.eval_shape(lambda *x, f=function: f(*x[:3], p, *x[3:]), *state, *further)
        except ModelError:
            raise
        except Exception as error:
            branches = isinstance(error, jax.errors.TracerBoolConversionError)
            why = (
                "it decides with if, and, or or not on numbers that are unknown while the run is "
                "compiled; write it with jnp.where, or as a difference that passes zero"
                if branches
                else f"{first_line(error):.200}"
            )
            raise ModelError(
                f"{name} failed as a function {takes} of {system.nq} coordinates and {system.nv} "
                f"velocities: {why}."
            ) from error
        _check_answer(found, name)


def _check_answer(found, name: str) -> None:
    """Refuse an answer that is not one real number, given by shape and kind."""
    if not hasattr(found, "shape") or not hasattr(found, "dtype"):
        raise ModelError(f"{name} returns {type(found).__name__}, {EXPECTED}.")
    if found.size != 1:
        raise ModelError(
            f"{name} returns shape {found.shape}, {EXPECTED}; give each entry a condition of "
            "its own."
        )
    if jnp.issubdtype(found.dtype, jnp.bool_):
        raise ModelError(
            f"{name} returns True or False, {EXPECTED}: the difference q[0] - 1, not the "
            "comparison q[0] > 1."
        )
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise ModelError(
            f"{name} returns {found.dtype}, {EXPECTED}: a whole number steps over zero, and an "
            "imaginary part has no sign."
        )


def refuse_undefined(here: Progress, names: Sequence[str]) -> None:
    """Raise if a condition had no value where a run has been: it may have been missed there.

    Raises:
        ModelError: then.
    """
    # The loop keeps the largest value of each condition so far, in which a NaN stays.
    bad = np.flatnonzero(np.isnan(np.asarray(here.largest)))
    if len(bad):
        now = np.isnan(np.asarray(here.events)[bad[0]])
        when = "is NaN at" if now else "was NaN on the way to"
        raise ModelError(
            f"{names[bad[0]]} {when} t = {float(here.t):.6g} s, {EXPECTED}; make it defined "
            "at every state of the run."
        )
