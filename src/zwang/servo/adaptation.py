"""Adaptive gains. The bound that a gain estimates is a state of the controller, behind one
integrator.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Float

from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint, AccelerationConstraint
from zwang.equations.constraint.units import MIXED, MODEL_UNITS, per_second
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.objects.record import Record, replace
from zwang.servo.extended_servo import extended_model
from zwang.servo.gains.adaptive import Adaptive
from zwang.servo.input_chain import Chains
from zwang.servo.servo import Servo


def learning(servo: Servo) -> dict[str, Adaptive]:
    """Gains that have a state, by name of the constraint."""
    return {name: gain for name, gain in servo.gains.items() if isinstance(gain, Adaptive)}


def adapted_model(model: Model, servo: Servo, state: State) -> tuple[Model, np.ndarray, np.ndarray]:
    """The closed loop of a servo with adaptive gains; also q and v extended by the initial
    estimates.

    Raises:
        ModelError: if the relative degree of a constraint is higher than its natural degree.
    """
    adaptive, natural = learning(servo), {c.name: c for c in servo.constraints}
    names = list(adaptive)
    nu = servo.checked(model.dynamics())
    for name in names:
        if servo.degrees[name] != natural[name].level.order:
            raise ModelError(
                f"gain Adaptive of {name!r}: its relative degree is {servo.degrees[name]}, but "
                f"Adaptive needs the natural degree {natural[name].level.order} of the constraint."
            )
    bounds = [f"bound of {name!r}" for name in names]
    chains = Chains(
        model.system,
        (0,) * nu + (1,) * len(names),
        (*servo.names(nu), *bounds),
        (*servo.units(nu), *(_unit(natural[name]) for name in names)),
        tuple(map(tuple, np.eye(nu, nu + len(names)).tolist())),
    )
    gains, rows = dict(servo.gains), []
    for i, name in enumerate(names):
        place = chains.velocity(nu + i)
        made = replace(adaptive[name], place=place)
        gains[name] = made
        adapting = Adapting(natural[name], model.system, made)
        row = np.eye(chains.nv)[place]
        rows.append(AccelerationConstraint(lambda q, v, t, p, x=row: x, adapting, name=bounds[i]))
    degrees = {name: servo.degrees[name] for name in natural}
    made = extended_model(model, servo, chains, rows, gains=gains, degrees=degrees)
    q, v = chains.state(state.q, state.v, np.zeros(nu), state.t, model.parameters())
    v[-len(names) :] = [gain.estimate for gain in adaptive.values()]
    return made, q, v


def _unit(constraint: AbstractConstraint) -> str:
    """Unit of α, that of ψ per second; empty if the unit of ψ is not stated or mixed."""
    _, unit = constraint.residual_units
    return "" if unit in (MODEL_UNITS, MIXED) else per_second(unit)


class Adapting(Record):
    """α̇ of one gain, as a function of the extended state."""

    constraint: AbstractConstraint
    home: System
    gain: Adaptive

    def __call__(self, q, v, t, p) -> Float[Array, ""]:
        own = q[: self.home.nq], v[: self.home.nv]
        phi, psi = self.constraint.residuals(self.home, *own, t, p)
        chain = [phi, psi] if self.constraint.level.has_phi else [psi]
        return replace(self.gain, estimate=v[self.gain.place]).adaptation(chain)
