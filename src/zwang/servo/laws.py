"""Control laws of robotics by name: each is a `zw.Servo` or a `zw.servo.Feedback` of a task
φ(q, t) = 0.

| law | requirement |
|---|---|
| gravity compensation | Q = −F(q, 0, t), forces under which the system stays at rest |
| impedance | Q = −F(q, 0, t) − Aᵀ(K φ + D φ̇): springs and dampers along the task |
| computed torque | φ̈ + (gain) (φ, φ̇) = 0: error dynamics independent of the masses |
| path following | ẋ = speed τ − stiffness φ_x⁺ φ: toward φ(x) = 0 and along its tangent τ |

With a task of joints, φ = q − q_d(t), an impedance is a PD law with gravity compensation, and
computed torque is the law of the textbooks. With a task in space, they are an impedance in space
and the operational-space law. Closed loops react to the actuators (`zwang.servo.feedback`).

A path is followed without a schedule in time: the velocity ẋ of some coordinates is controlled to a
vector field that depends on their position alone. This field satisfies φ̇ = −stiffness φ exactly
and vanishes nowhere.

Source: Siciliano, Sciavicco, Villani and Oriolo (2009), Robotics, sections 8.5, 8.6 and 9.2; Khatib
    (1987), IEEE J. Robotics and Automation 3, 43-53; Kapitanyuk, Proskurnikov and Cao (2018), IEEE
    Trans. Control Systems Technology 26, 1372-1385 (guiding vector fields).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from zwang.dynamics.model import Model
from zwang.equations.constraint import Constraints, Holonomic, Nonholonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, known, labels, mapping, number, real_array
from zwang.inputs.call import misfits_named
from zwang.inputs.text import counted
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
    along: Sequence[str] | None = None,
    speed: float | None = None,
    **options,
) -> AbstractActuated:
    """A control law of robotics by its name, for `zw.Model(..., servo=...)` or
    `robot.driven(servo=...)`.

    Args:
        name: "gravity compensation", "impedance", "computed torque" or "path following".
        model: the model, whose parameters and constraints the law uses.
        actuation: as in `zw.Servo`.
        task: the task φ = 0 as a servo constraint; or
        target: coordinate → its desired value, a number or a function of time.
        stiffness, damping: K and D of an impedance along the task [N/m, N·m/rad; N·s/m, N·m·s/rad]:
            a number, one for each row, or a matrix; for path following, `stiffness` is the decay
            rate of φ [1/s].
        gains: for computed torque and path following, as in `zw.Servo`.
        along: for path following, the two or three coordinates x that the task depends on, one more
            than it has rows.
        speed: for path following, the speed along the path [unit of x per s].
        options: `actuators`, `actuator_units`, `limits` and `null_space` of the law.

    Returns:
        A `zw.Servo` for computed torque and path following, else a `zw.servo.Feedback`.

    Raises:
        ModelError: for an unknown name, and for arguments that are missing or that the law does not
            use.

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
    given |= {"along": along, "speed": speed}
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


def _path(model: Model, actuation, task, stiffness, gains, along, speed, **options) -> Servo:
    names = labels(along, "law: along")
    entries = tuple(
        model.system.coordinates.index(
            known(n, model.system.coordinates, f"law: along: {model.name} has no")
        )
        for n in names
    )
    rows = Constraints((task,), model.system, model.parameters()).row_slices[task.name].stop
    if len(entries) != rows + 1 or len(entries) not in (2, 3):
        raise ModelError(
            f"law 'path following': task {task.name!r} has {counted(rows, 'row')} and along= names "
            f"{counted(len(entries), 'coordinate')}, expected 1 and 2 in a plane, 2 and 3 in space."
        )
    decay = number(stiffness, "law: stiffness", above=0.0, unit="1/s")
    rate = number(speed, "law: speed")
    field_ = PathField(task, model.system, entries, jnp.asarray(decay), jnp.asarray(rate))
    units = [model.system.units[i] + "/s" * bool(model.system.units[i]) for i in entries]
    led = Nonholonomic(field_, name=f"along {task.name}", unit=units)
    return Servo([led], actuation, gains=gains, **options)


LAWS: dict[str, tuple[Callable[..., AbstractActuated], tuple[str, ...]]] = {
    "gravity compensation": (_weight, ()),
    "impedance": (_impedance, ("task", "stiffness", "damping")),
    "computed torque": (_computed_torque, ("task", "gains")),
    "path following": (_path, ("task", "stiffness", "gains", "along", "speed")),
}
"""Laws by name, with the arguments that each takes in addition to a model and its actuators."""


class Weight(Record):
    """−F(q, 0, t): the forces that hold a system at rest against its weight and its springs."""

    system: System

    def __call__(self, q, v, t, p):
        return -self.system.force(q, jnp.zeros_like(v), t, p)


class Impedance(Record):
    """Springs and dampers along a task, plus the forces that hold the weight.

    Attributes:
        rest: the forces that hold the weight.
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


class PathField(Record):
    """ψ = ẋ − (speed τ − decay φ_x⁺ φ) of the coordinates x of a path φ(x, t) = 0.

    Attributes:
        task: φ.
        system: of the model.
        entries: places of x in q.
        decay, speed: see `law`.
    """

    task: Holonomic
    system: System
    entries: tuple[int, ...] = field(static=True)
    decay: Float[Array, ""]
    speed: Float[Array, ""]

    def __call__(self, q, v, t, p):
        places = np.array(self.entries)
        of = lambda x: self.task.position_residual(self.system, q.at[places].set(x), t, p)
        x, rate = q[places], self.system.rate(q, v, t, p)[places]
        G, phi = jax.jacfwd(of)(x), of(x)
        if len(G) == 1:
            tangent, back = jnp.stack([-G[0, 1], G[0, 0]]), phi[0] * G[0]
        else:
            tangent = jnp.cross(G[0], G[1])
            back = phi[0] * jnp.cross(G[1], tangent) + phi[1] * jnp.cross(tangent, G[0])
        # G⁺ φ is back/|tangent|², by the products of the rows
        square = tangent @ tangent
        return rate - self.speed * tangent / jnp.sqrt(square) + self.decay * back / square


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
    """The task that brings coordinates to their desired values."""
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
