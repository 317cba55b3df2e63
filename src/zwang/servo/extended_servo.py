"""A servo with integrators between it and the actuators.

    w = inner servo on (q, z …),    u = T (z, w)        u are forces of actuators, not their rates

The states of the integrators belong to the controller. The forces that they apply are part of the
control: the model without control is the system alone, and u and the power of a run are those of
the actuators.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.errors import ModelError
from zwang.inputs.text import unit_of_rate
from zwang.objects.display import present
from zwang.objects.record import Record, field, replace
from zwang.servo.controller import Controller, ServoSolution
from zwang.servo.gains import AbstractGain
from zwang.servo.input_chain import Chains, Leading, behind_integrators
from zwang.servo.null_space import AbstractNullSpace, LeastNorm
from zwang.servo.servo import Servo, degrees_in_words


class ExtendedServo(AbstractControlLaw):
    """A servo on a system with integrators before its inputs.

    Attributes:
        servo: the inner servo, which acts on the last integrator of each chain.
        chains: the integrators.
        actuation: `(q, t, p)` → B of the actuators on the system without integrators.
        actuators, actuator_units: names and units of the actuators.
    """

    servo: Servo
    chains: Chains
    actuation: Callable
    actuators: tuple[str, ...] = field(static=True)
    actuator_units: tuple[str, ...] = field(static=True)

    def __repr__(self) -> str:
        return f"{present('text_of', self.servo, 'servo')}\n{self.remark}"

    @property
    def constraints(self) -> tuple[AbstractConstraint, ...]:
        return self.servo.constraints

    @property
    def null_space(self) -> AbstractNullSpace:
        return self.servo.null_space

    @property
    def gains(self) -> dict[str, AbstractGain]:
        return self.servo.gains

    @property
    def degrees(self) -> dict[str, int]:
        return self.servo.degrees

    @property
    def remark(self) -> str:
        found = degrees_in_words(self.degrees)
        return f"dynamic extension: {self.chains.sentence}; then {found}"

    def bound(self, passive: Dynamics) -> Controller:
        """The inner servo bound to the system with the forces that the states of the chains
        apply.
        """
        home = passive.system
        force = HeldForce(home.force, self.actuation, self.chains)
        return Controller(replace(passive, system=replace(home, force=force)), self.servo)

    def checked(self, passive):
        return self.servo.checked(passive)

    def names(self, nu):
        return self.actuators

    def units(self, nu):
        return self.actuator_units

    def actuation_matrix(self, q, t, p):
        return self.servo.actuation_matrix(q, t, p)

    def force_of(self, s, p, u):
        held = self.chains.held_force(self.actuation, s.q, s.v, s.t, p)
        return self.actuation_matrix(s.q, s.t, p) @ u + held

    def residual_units(self):
        return self.servo.residual_units()

    def decay_rates(self):
        return self.servo.decay_rates()

    def kept_layers(self):
        return self.servo.kept_layers()

    def kept_errors(self, passive, s, reach, speed):
        return self.servo.kept_errors(passive, s, reach, speed)

    def choose(self, passive, eq, before=None, elapsed=0.0) -> ExtendedSolution:
        s = eq.state
        held = self.chains.held_force(self.actuation, s.q, s.v, s.t, passive.p)
        under = replace(eq, force=eq.force + held)
        return ExtendedSolution(self.bound(passive).choose(under, before, elapsed), held)

    def diagnose(self, passive, choice: ExtendedSolution, u=None) -> Control:
        inner = choice.inner
        found = inner.controller.diagnosis(inner, u)
        s = inner.eq.state
        applied = self.chains.applied(s.q, s.v, s.t, passive.p, found.u)
        driven = found.actuator_force.at[: self.chains.system.nv].set(0.0)
        force = self.chains.pushed(self.actuation, s.q, s.t, passive.p, applied) + driven
        return dataclasses.replace(found, u=applied, actuator_force=force)

    def blank(self, passive):
        return self.servo.blank(passive)


class HeldForce(Record):
    """F of a system, plus the force that the states of its chains apply. Two objects with the same
    parts are equal, so that all programs of a closed loop share its trace.
    """

    force: Callable
    actuation: Callable
    chains: Chains

    def __call__(self, q, v, t, p) -> Float[Array, " nv"]:
        return self.force(q, v, t, p) + self.chains.held_force(self.actuation, q, v, t, p)


class ExtendedSolution(Record):
    """The choice of an `ExtendedServo`: the inputs of the integrators, and the force that their
    states apply.
    """

    inner: ServoSolution
    held: Float[Array, " nv"]

    @property
    def eq(self) -> Equation:
        """The passive equation."""
        return replace(self.inner.eq, force=self.inner.eq.force - self.held)

    @property
    def u(self) -> Float[Array, " nu"]:
        """The highest derivatives of the inputs, which the inner servo computes."""
        return self.inner.u

    @property
    def actuator_force(self) -> Float[Array, " nv"]:
        """The force that is added to F."""
        return self.inner.actuator_force + self.held


def extended_model(
    model: Model,
    servo: Servo,
    chains: Chains,
    further: Sequence[AbstractConstraint] = (),
    **options,
) -> Model:
    """The closed loop of a model whose servo acts through integrators.

    Args:
        model: the model without control.
        servo: its servo; the integrators are placed before its inputs.
        chains: the integrators.
        further: additional servo constraints on the extended state.
        options: further arguments of the extended servo, such as `degrees`.
    """
    constraints = [Leading(c, model.system) for c in model.constraints.members]
    return Model(
        behind_integrators(model.system, chains),
        constraints,
        model.params,
        servo=extended_servo(servo, chains, further, **options),
        singular_mass=model.singular_mass,
        name=model.name,
    )


def extended_servo(
    servo: Servo, chains: Chains, further: Sequence[AbstractConstraint] = (), **options
) -> ExtendedServo:
    """The servo whose inputs with integrators act on the last one of their chain; arguments as in
    `extended_model`.
    """
    home, nu = chains.system, len(chains.lengths)
    lengths = chains.lengths

    def actuation(q, t, p):
        B = jnp.zeros((chains.nv, nu))
        free = jnp.asarray([k == 0 for k in lengths], float)
        own = servo.actuation_matrix(q[: home.nq], t, p) @ chains.matrix(q, t, p)
        B = B.at[: home.nv].set(own * free)
        for j in chains.extended:
            B = B.at[chains.velocity(j), j].set(1.0)
        return B

    leading = lambda f: lambda q, v, t, p: f(q[: home.nq], v[: home.nv], t, p)
    null_space = servo.null_space.with_functions(leading)
    if servo.limits is not None and chains.extended:
        raise ModelError(
            "dynamic extension: with integrators before the actuators, limits= cannot be used, "
            "because the actuators' own controls are then states; omit limits=, and bound the "
            "path instead."
        )
    if chains.mixed and not further and not isinstance(servo.null_space, LeastNorm):
        raise ModelError(
            "dynamic extension: with integrators before combinations of actuators, "
            f"null_space={servo.null_space} cannot be used, because it chooses among the "
            "actuators' own controls; omit null_space=."
        )
    inner = Servo(
        [*(Leading(c, home) for c in servo.constraints), *further],
        actuation,
        actuators=[f"{n}{chr(39) * k}" for n, k in zip(chains.names, lengths, strict=True)],
        actuator_units=[
            unit_of_rate(unit, k) for unit, k in zip(chains.units, lengths, strict=True)
        ],
        null_space=null_space,
        pseudoinverse=servo.pseudoinverse,
        **options,
    )
    count = nu - len(further)
    names, units = tuple(servo.names(count)), tuple(servo.units(count))
    return ExtendedServo(inner, chains, servo.actuation_matrix, names, units)
