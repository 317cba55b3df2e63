"""Actuators of a control law: B, names, units and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.errors import ModelError
from zwang.inputs.arguments import function, labels, optional, real_array, texts
from zwang.inputs.arrays import is_concrete
from zwang.inputs.tracing import outcome, returned
from zwang.objects.record import AbstractVar, Record
from zwang.servo.limits import Limits


class AbstractActuated(AbstractControlLaw):
    """A control law with its own actuators."""

    actuation: AbstractVar[Callable]
    actuators: AbstractVar[tuple[str, ...] | None]
    actuator_units: AbstractVar[tuple[str, ...] | None]
    limits: AbstractVar[Limits | None]

    def _take_actuators(self, actuation, actuators, actuator_units, limits) -> None:
        """Store the actuators given by a user, after the checks that need no model."""
        what = type(self).__name__
        # names of velocities, which only the hierarchy that assembles the law can resolve
        if isinstance(actuation, Mapping):
            actuators = tuple(actuation) if actuators is None else actuators
            self.actuation = lambda q, t, p: actuation
        else:
            self.actuation = actuation if callable(actuation) else Constant(actuation, what)
        expected = "(q, t, p) → B of shape (nv, nu), or a matrix"
        function(self.actuation, f"{what}: actuation", expected)
        self.actuators = None if actuators is None else labels(actuators, f"{what}: actuators")
        if self.actuators and len(set(self.actuators)) < len(self.actuators):
            raise ModelError(
                f"{what}: actuator names repeat: {', '.join(self.actuators)}; give each its own."
            )
        self.actuator_units = (
            None if actuator_units is None else texts(actuator_units, f"{what}: actuator_units")
        )
        expected = "zw.servo.Limits(lower=..., upper=..., rate=...)"
        self.limits = optional(limits, Limits, f"{what}: limits", expected)

    def actuation_matrix(self, q, t, p):
        B = self.actuation(q, t, p)
        if isinstance(B, Mapping):
            raise ModelError(
                "actuation is given by name of velocity, which is for zw.Hierarchy(..., "
                "servo=servo)."
            )
        B = returned(B, "actuation(q, t, p)", integers=True, lists=True)
        return jnp.asarray(B, jnp.float64)

    def names(self, nu):
        return tuple(f"u{i}" for i in range(nu)) if self.actuators is None else self.actuators

    def units(self, nu):
        return ("",) * nu if self.actuator_units is None else self.actuator_units

    def checked(self, passive: Dynamics) -> int:
        nv, (q, _, t) = passive.system.nv, passive.system.shapes
        shape = outcome(self.actuation_matrix, "actuation(q, t, p)", q, t, passive.p).shape
        if (
            len(shape) != 2
            or shape[0] != nv
            or (self.actuators is not None and shape[1] != len(self.actuators))
        ):
            expected = f"({nv}, {'actuators' if self.actuators is None else len(self.actuators)})"
            raise ModelError(
                f"actuation(q, t, p) returns shape {shape}, expected {expected}: B u is the "
                "force on the velocities."
            )
        if self.actuator_units is not None and len(self.actuator_units) != shape[1]:
            raise ModelError(
                f"{type(self).__name__}: {len(self.actuator_units)} actuator_units for "
                f"{shape[1]} actuators; give one for each."
            )
        if self.limits is not None:
            self.limits.check(shape[1])
        return shape[1]

    def saturated(self, u):
        return np.zeros(np.shape(u), bool) if self.limits is None else self.limits.reached(u)

    def refuse_continuous(self) -> None:
        """Raise if the rate is limited, because that needs a controller with memory."""
        if self.limits is not None and self.limits.rate is not None:
            raise ModelError(
                "Limits: a limit of the rate needs a controller that remembers its last control: "
                "zw.simulate(..., loop=zw.Loop(sample_time=...))."
            )


class Constant(Record):
    """A matrix given as a function."""

    B: jax.Array

    def __init__(self, B, what: str):
        expected = "numbers, shape (nv, nu), or a function (q, t, p)"
        B = real_array(B, f"{what}: actuation", expected)
        if is_concrete(B) and not np.all(np.isfinite(B)):
            raise ModelError(f"{what}: actuation holds NaN or infinity, expected finite numbers.")
        self.B = jnp.asarray(B, jnp.float64)

    def __call__(self, q, t, p):
        return self.B
