"""The closed loop: a model whose force contains the control."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from zwang.model import Model
from zwang.servo.control import Control, Controller, control_of, controller
from zwang.servo.prolonged import with_parameters
from zwang.servo.servo import Servo
from zwang.state import State


class ServoForce(eqx.Module):
    """`F(q, v, t) + B u(q, v, t)`; gains are arrays in it, so that other gains compile nothing.

    Attributes:
        controller: knows the passive model.
    """

    controller: Controller

    def __call__(self, q, v, t, p):
        dynamics = with_parameters(self.controller.dynamics, p)
        choice = Controller(dynamics, self.controller.servo).choose(State(q, v, t))
        return jnp.asarray(dynamics.system.force(q, v, t, p)) + choice.B @ choice.u


def with_servo(model: Model, servo: Servo) -> Model:
    """The closed loop as a model of its own: passive constraints as before, the control in its force.

        M v̇ = F + Q_c + B u(q, v, t, p)

    Everything that works on a model works on it: `zw.simulate` keeps the passive constraints by projection, while the servo
    constraints hold as well as their gains make them. Where the servo constraints cannot be met, u is the least-squares
    control; `control_along` says where that happened.

    Args:
        model: the passive model.
        servo: what actuators enforce.

    Raises:
        ModelError: if the actuation matrix does not fit the model.
    """
    return Model(
        _with_force(model, ServoForce(controller(model, servo))),
        model.constraints.members,
        model.params,
        singular_mass=model.singular_mass,
        name=model.name,
    )


def _with_force(model: Model, force: Callable):
    return eqx.tree_at(lambda s: s.force, model.system, force, is_leaf=callable)


def control_along(run, servo: Servo, model: Model | None = None) -> xr.Dataset:
    """The control at the samples of a run, one column per actuator.

    Args:
        run: a `zwang.Run` of a closed loop (`with_servo`).
        servo: the servo that closed it.
        model: the passive model; that of the closed loop without its control, unless given.

    Returns:
        A dataset over `time`: `u` (time, actuator), `passive_force` (time, velocity), `authority` and `missed`
        (time, servo_constraint), `residual`, `rank`, `result`.
    """
    data = run.dataset
    passive = passive_model(run.model) if model is None else model
    bound = Controller(with_parameters(controller(passive, servo).dynamics, run.flow.dynamics.p), servo)
    states = State(*(jnp.asarray(data[name].values) for name in ("q", "v", "time")))
    seen: Control = jax.tree_util.tree_map(np.asarray, _control_all(bound, states))
    names = [c.name for c in servo.constraints]

    def per_constraint(x):
        return np.stack([x[n] for n in names], axis=1) if names else np.zeros((len(data.time), 0))

    variables = {
        "u": (("time", "actuator"), seen.u, "", "control"),
        "passive_force": (("time", "velocity"), seen.passive_force, "", "force of the passive constraints"),
        "authority": (("time", "servo_constraint"), per_constraint(seen.authority), "1", "authority over each servo constraint"),
        "missed": (("time", "servo_constraint"), per_constraint(seen.missed), "1", "what the actuators leave undone, relative"),
        "residual": (("time",), seen.residual, "1", "relative residual of the servo constraints"),
        "rank": (("time",), seen.rank, "1", "rank of what the actuators reach of the servo constraints"),
        "result": (("time",), seen.result, "1", "result code of the control"),
    }
    return xr.Dataset(
        {n: (d, x, {"units": unit, "long_name": long}) for n, (d, x, unit, long) in variables.items()},
        {
            "time": data.time,
            "velocity": data.velocity,
            "actuator": list(servo.names(seen.u.shape[1])),
            "servo_constraint": names,
        },
    )


def passive_model(model: Model) -> Model:
    """The model without its control; the model itself if it has none."""
    if not isinstance(model.system.force, ServoForce):
        return model
    system = model.system.force.controller.dynamics.system
    return eqx.tree_at(lambda m: (m.system, m.constraints.system), model, (system, system))


@eqx.filter_jit
def _control_all(bound: Controller, states: State) -> Control:
    return jax.lax.map(lambda s: control_of(bound, s), states)
