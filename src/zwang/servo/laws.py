"""Control laws of robotics by name: each is a `zw.Servo` or a `zw.servo.Feedback` of a task
φ(q, t) = 0.

| law | asks for |
|---|---|
| gravity compensation | Q = −F(q, 0, t), forces under which the system rests where it is |
| impedance | Q = −F(q, 0, t) − Aᵀ(K φ + D φ̇): springs and dampers along the task |
| computed torque | φ̈ + (gain) (φ, φ̇) = 0: error dynamics, whatever masses move |

A task of joints, φ = q − q_d(t), makes of an impedance a PD law with gravity compensation, and of
the second one computed torque as textbooks have it; a task in space makes an impedance or the
operational-space law there. Loops react to the actuators (`zwang.servo.feedback`).

Source: Siciliano, Sciavicco, Villani and Oriolo (2009), Robotics, sections 8.5, 8.6 and 9.2; Khatib
    (1987), IEEE J. Robotics and Automation 3, 43-53.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from zwang.dynamics.model import Model
from zwang.equations.constraint import Constraints, Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, known, mapping, real_array
from zwang.inputs.call import misfits_named
from zwang.objects.record import Record, field
from zwang.servo.actuation import AbstractActuated
from zwang.servo.feedback import Feedback
from zwang.servo.servo import Servo


@misfits_named
def law(
    name: str,
    model: Model,
    actuation,
    *,
    task: Holonomic | None = None,
    target: Mapping[str, Any] | None = None,
    stiffness: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    gains=None,
    **options,
) -> AbstractActuated:
    """A control law of robotics by its name, for `zw.Model(..., servo=...)` or
    `robot.driven(servo=...)`.

    Args:
        name: "gravity compensation", "impedance" or "computed torque".
        model: the model; its own numbers and constraints are what the law counts on.
        actuation: as in `zw.Servo`.
        task: what is to be zero, as a servo constraint; or
        target: coordinate → where it is to be, a number or a function of time.
        stiffness, damping: K and D of an impedance along the task [N/m, N·m/rad; N·s/m, N·m·s/rad]:
            a number, one for each row, or a matrix.
        gains: of computed torque, as in `zw.Servo`.
        options: `actuators`, `actuator_units`, `limits` and `null_space` of the law.

    Returns:
        A `zw.Servo` for computed torque, else a `zw.servo.Feedback`.

    Raises:
        ModelError: for an unknown name, or for numbers that the law lacks or has no use for.

    Example:
        >>> hold = zw.servo.law("gravity compensation", arm, np.eye(2))
        >>> run = zw.simulate(zw.Model(arm.system, params=arm.params, servo=hold), q0, v0, ...)
    """
    instance(model, Model, "law: model", "a zw.Model")
    make, needs = LAWS[known(name, LAWS, "there is no law")]
    if task is not None:
        instance(task, Holonomic, "law: task", "a zw.Holonomic")
    elif target is not None:
        task = _joints(model, target)
    given = {"task": task, "stiffness": stiffness, "damping": damping, "gains": gains}
    for key, value in given.items():
        if (value is None) is (key in needs):
            said = "needs" if value is None else "has no use for"
            aim = " or target={coordinate: value}" if key == "task" else ""
            takes = ", ".join(needs) or "nothing of these"
            raise ModelError(f"law {name!r} {said} {key}={aim}; it takes {takes}.")
    return make(model, actuation, *(given[key] for key in needs), **options)


def _weight(model: Model, actuation, **options) -> Feedback:
    function = Weight(model.system)
    return Feedback(function, actuation, forces=True, name="gravity compensation", **options)


def _impedance(model: Model, actuation, task, stiffness, damping, **options) -> Feedback:
    K, D = _gain(stiffness, "law: stiffness"), _gain(damping, "law: damping")
    function = Impedance(Weight(model.system), task, K, D)
    return Feedback(function, actuation, forces=True, name=f"impedance {task.name}", **options)


def _computed_torque(model: Model, actuation, task, gains, **options) -> Servo:
    return Servo([task], actuation, gains=gains, **options)


LAWS: dict[str, tuple[Callable[..., AbstractActuated], tuple[str, ...]]] = {
    "gravity compensation": (_weight, ()),
    "impedance": (_impedance, ("task", "stiffness", "damping")),
    "computed torque": (_computed_torque, ("task", "gains")),
}
"""Laws by name, and what each of them takes beside a model and its actuators."""


class Weight(Record):
    """−F(q, 0, t): what holds a system at rest against its weight and its springs."""

    system: System

    def __call__(self, q, v, t, p):
        return -self.system.force(q, jnp.zeros_like(v), t, p)


class Impedance(Record):
    """Springs and dampers along a task, beside what holds the weight.

    Attributes:
        rest: what is held beside them.
        task: the task φ.
        stiffness, damping: K and D, matrices, or numbers of each row.
    """

    rest: Weight
    task: Holonomic
    stiffness: Float[Array, "..."]
    damping: Float[Array, "..."]

    def __call__(self, q, v, t, p):
        rows = Constraints((self.task,), self.rest.system, p)
        A, phi, psi = rows.linearized(q, v, t, p)
        pull = _times(self.stiffness, phi) + _times(self.damping, psi)
        return self.rest(q, v, t, p) - A.T @ pull


class Coordinates(Record):
    """φ = q − target(t) of some coordinates.

    Attributes:
        entries: their places in q.
        targets: a number or a function of time for each.
    """

    entries: tuple[int, ...] = field(static=True)
    targets: tuple[Any, ...]

    def __call__(self, q, t, p):
        wanted = [x(t) if callable(x) else x for x in self.targets]
        return q[np.array(self.entries)] - jnp.stack([jnp.asarray(x, float) for x in wanted])


def _joints(model: Model, target: Mapping[str, Any]) -> Holonomic:
    """The task that brings coordinates where they are asked for."""
    given = mapping(target, "law: target", '{"elbow": 0.3}')
    system = model.system
    names = [known(n, system.coordinates, f"law: target: {model.name} has no") for n in given]
    if not names:
        raise ModelError("law: target is empty, expected coordinates by name.")
    entries = tuple(system.coordinates.index(n) for n in names)
    units = [system.units[i] for i in entries]
    values = tuple(
        x if callable(x) else jnp.asarray(real_array(x, f"law: target of {n!r}"), float)
        for n, x in given.items()
    )
    return Holonomic(Coordinates(entries, values), name="joints", unit=units)


def _gain(value, name: str) -> Array:
    x = real_array(value, name, "a number, one for each row, or a matrix")
    return jnp.asarray(x, jnp.float64)


def _times(gain: Array, x: Array) -> Array:
    return gain @ x if gain.ndim == 2 else gain * x
