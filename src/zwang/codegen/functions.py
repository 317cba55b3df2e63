"""The functions of generated code, as traced programs of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array

from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal
from zwang.codegen.changes import Changes, changes_of
from zwang.codegen.names import parameters, with_parameters
from zwang.codegen.typical_run import typical_run, with_pull
from zwang.compile import native_trace
from zwang.dynamics.drift.base import renormalized
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import instance
from zwang.objects.record import replace
from zwang.servo import Servo
from zwang.servo.feedback import Feedback
from zwang.simulation.run_setup import RunSetup, set_up
from zwang.simulation.switching import refuse_switches

MOST_CORRECTIONS = 8
"""Maximum number of corrections of a projection."""
VELOCITY_CORRECTIONS = 3
"""Minimum number of velocity corrections if constraints are not holonomic."""
UNPROJECTED = 1e-8
"""Largest φ, rows at unit length, that a projection may leave."""
SUCCESS, SINGULAR_MASS, NON_FINITE, NOT_PROJECTED, NO_MOTION = range(5)
"""Codes that the functions return."""


def refuse_unwritable(model: Model) -> None:
    """Raise unless code can be generated for a model.

    Raises:
        ModelError: for a mass matrix that the model declares singular, limits of actuators, a
            control law that is no `zw.Servo` and no function of the state, or a servo together
            with nonideal constraints.
    """
    instance(model, Model, "model", "a zw.Model")
    if model.singular_mass:
        raise ModelError(
            f"{model.name}: formulas and code need a positive definite mass matrix, but the model "
            "has singular_mass=True; choose coordinates in which every velocity has mass."
        )
    refuse_switches(model, "code")
    servo = model.servo
    if servo is None:
        return
    forces = isinstance(servo, Feedback) and servo.forces
    if forces or not isinstance(servo, Servo | Feedback):
        raise ModelError(
            f"{model.name}: formulas and code need as control law a zw.Servo, or a "
            "zw.servo.Feedback whose function gives u."
        )
    if servo.limits is not None:
        raise ModelError(
            f"{model.name}: code generation does not support limits of actuators; leave limits= "
            "out, and limit u where it is applied."
        )
    if isinstance(servo, Servo) and any(c.nonideal is not None for c in model.constraints.members):
        raise ModelError(
            f"{model.name}: a servo together with nonideal constraints has no closed form; u "
            "then depends on its own friction. Drop nonideal= or the servo."
        )


@dataclasses.dataclass(frozen=True)
class ModelFunctions:
    """Functions of a model's state (q, v, t), with its parameters as one array p.

    A⊕ is dense, with rows at their present lengths.

    Attributes:
        model: the model.
        method: for A⊕; generated code uses the one without a rank decision.
        start: q and v at which gaps and dry frictions are measured; without it such a model is
            refused.
    """

    model: Model
    method: AbstractPseudoinverse = dataclasses.field(default_factory=Proximal)
    start: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        refuse_unwritable(self.model)
        if self.start is None:
            refuse_letting_go(self.model)

    @cached_property
    def loose(self) -> tuple[str, ...]:
        """Names of the gaps and dry frictions."""
        return () if self.changes is None else tuple(self.changes.contacts.names)

    @cached_property
    def _setup(self) -> RunSetup | None:
        """The setup of a run, for a model with gaps or dry frictions."""
        if self.start is None or not self.model.constraints.loose:
            return None
        return set_up(typical_run(self.model, *self.start, pseudoinverse=self.method))

    @cached_property
    def changes(self) -> Changes | None:
        """Mode changes of gaps and frictions, or None without any."""
        return None if self._setup is None else changes_of(self._setup)

    def _flow(self, p, applied=None) -> ConstrainedVectorField:
        """Return the motion of a model with gaps or dry frictions, with a force applied."""
        assert self._setup is not None
        own = self.model.parameters(with_parameters(self.model, p))
        flow = self._setup.flow
        flow = replace(flow, dynamics=replace(flow.dynamics, p=own))
        return flow if applied is None else with_pull(flow, applied)

    @cached_property
    def parameters(self) -> tuple[tuple[str, float], ...]:
        """Name and value of each parameter."""
        return parameters(self.model)

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Names of the controls."""
        servo = self.model.servo
        if servo is None:
            return ()
        return tuple(servo.names(servo.checked(self.model.passive.dynamics())))

    @cached_property
    def _dynamics(self) -> Dynamics:
        return self.model.dynamics(pseudoinverse=self.method, lets_go=self.start is not None)

    def dynamics(self, p, modes=None) -> Dynamics:
        """Return the equation of motion with given parameters and modes of gaps and frictions."""
        if modes is not None:
            return self._flow(p).with_input(modes).dynamics
        own = self.model.parameters(with_parameters(self.model, p))
        return dataclasses.replace(self._dynamics, p=own)

    def evaluate(self, treated, q, v, t, p, applied, modes=None) -> tuple:
        """Evaluate q̇, v̇, force of the constraints, u, and a code, with a force applied. If
        `treated`, the velocity is projected onto the constraints before, as at a stage.
        """
        dynamics, s = self.dynamics(p, modes), State(q, v, t)
        A, _, psi = dynamics.linearized(s)
        mass = dynamics.mass(s, A)
        gauss, rows = dynamics.gauss(mass, A), dynamics.constraints.velocity_rows
        if len(rows):

            def moved():
                whole = len(rows) == len(A)
                moving = gauss if whole else dynamics.gauss(mass, A, rows)
                return v - moving.correct(psi)

            v = jax.lax.cond(treated, moved, lambda: v)
        eq = dynamics.passive.equation(State(q, v, t), gauss)
        eq, u = _driven(dynamics, dataclasses.replace(eq, force=eq.force + applied))
        acceleration = dynamics.acceleration(eq)
        force = mass.apply(acceleration - eq.free_acceleration)
        finite = jnp.all(jnp.isfinite(acceleration))
        code = jnp.where(finite, SUCCESS, NON_FINITE)
        code = jnp.where(mass.is_positive(), code, SINGULAR_MASS)
        return dynamics.system.rate(q, v, t, dynamics.p), acceleration, force, u, code

    def project(self, q, v, t, p, modes=None) -> tuple:
        """Project q and v onto the constraints, with least change in the mass metric. Return them
        and a code.

        One piece of code for A, its factor and both corrections is repeated until φ is round-off.
        """
        dynamics, rows = self.dynamics(p, modes).passive, self.model.constraints
        held, moving = rows.position_rows, rows.velocity_rows
        rolls = len(held) < len(moving)

        def corrected(carry):
            q, v, _, before, turn, _ = carry
            s = State(q, v, t)
            A, phi, psi = dynamics.linearized(s)
            mass = dynamics.mass(s, A)
            by_velocity = dynamics.gauss(mass, A, moving)
            by_position = dynamics.gauss(mass, A, held) if rolls else by_velocity
            size = jnp.max(jnp.abs(by_position.scale * phi), initial=0.0)
            settled = ~(size > 0) | (size >= 0.5 * before) | (turn + 1 >= MOST_CORRECTIONS)
            closer = dynamics.move(s, -by_position.correct(phi))
            slower = v - by_velocity.correct(psi)
            # of rows that are nonlinear in v one correction leaves a square
            ended = settled & (turn + 1 >= (VELOCITY_CORRECTIONS if rolls else 1))
            q = jnp.where(settled, q, closer)
            return q, slower, mass.is_positive(), size, turn + 1, ended

        begun = renormalized(dynamics, State(q, v, t))
        if not len(moving):
            return begun.q, v, jnp.asarray(SUCCESS)
        start = begun.q, v, jnp.asarray(True), jnp.inf * jnp.ones(()), 0, jnp.asarray(False)
        q, v, positive, size, *_ = jax.lax.while_loop(lambda x: ~x[-1], corrected, start)
        code = jnp.where(size <= UNPROJECTED, SUCCESS, NOT_PROJECTED)
        finite = jnp.all(jnp.isfinite(q)) & jnp.all(jnp.isfinite(v)) & jnp.isfinite(size)
        code = jnp.where(finite, code, NON_FINITE)
        return q, v, jnp.where(positive, code, SINGULAR_MASS)

    def rate(self, q, v, t, p) -> tuple:
        """Return q̇."""
        dynamics = self.dynamics(p)
        return (dynamics.system.rate(q, v, t, dynamics.p),)

    def violation(self, q, v, t, p, modes=None) -> tuple:
        """Return the largest residual at position and velocity level."""
        largest = lambda x: jnp.max(jnp.abs(x), initial=0.0)
        phi, psi = self.dynamics(p, modes).residuals(State(q, v, t))
        return (jnp.maximum(largest(phi), largest(psi)),)

    def energy(self, q, v, t, p) -> tuple:
        """Return the sum of kinetic and potential energy."""
        dynamics, s = self.dynamics(p), State(q, v, t)
        mass = dynamics.mass(s, dynamics.matrix(s))
        potential = dynamics.system.potential
        assert potential is not None
        return (0.5 * (v @ mass.apply(v)) + jnp.asarray(potential(q, t, dynamics.p)),)

    def events(self, q, v, t, p, applied, modes) -> tuple:
        """Return the functions that rise through zero where a gap or a friction changes its
        mode.
        """
        assert self._setup is not None
        y = jnp.concatenate([q, v])
        return (self._setup.events(self._flow(p, applied), modes, t, y),)

    def change(self, q, v, t, p, applied, modes, fired, fastest) -> tuple:
        """Determine the modes from a state on. Return q, v, the modes, the largest closing speed so
        far, and a code.
        """
        assert self._setup is not None and self.changes is not None
        given = self._flow(p, applied), self._setup.events, t, jnp.concatenate([q, v])
        held = self.changes.held(*given, modes, fired > 0, fastest)
        code = jnp.where(jnp.all(jnp.isfinite(held.y)), SUCCESS, NON_FINITE)
        code = jnp.where(held.result == Result.SUCCESS, code, NO_MOTION)
        return held.y[: len(q)], held.y[len(q) :], held.modes, held.fastest, code

    def arguments(self, function: Callable) -> list[str]:
        """Return the names of the arguments of one of the functions."""
        return [x for x in signature(function).parameters if self.loose or x != "modes"]

    def traced(self, function: Callable) -> ClosedJaxpr:
        """Return one of the functions above as a traced program."""
        shapes = {
            "treated": jax.ShapeDtypeStruct((), bool),
            "q": np.zeros(self.model.system.nq),
            "v": np.zeros(self.model.system.nv),
            "t": np.zeros(()),
            "p": np.zeros(len(self.parameters)),
            "applied": np.zeros(self.model.system.nv),
            "modes": np.zeros(len(self.loose)),
            "fired": np.zeros(len(self.loose)),
            "fastest": np.zeros(()),
        }
        with native_trace():
            return jax.make_jaxpr(function)(*(shapes[x] for x in self.arguments(function)))


def _driven(dynamics: Dynamics, eq: Equation) -> tuple[Equation, Array]:
    """Return the equation with the force of actuators, and their control."""
    if dynamics.law is None:
        return eq, jnp.zeros(0)
    choice = dynamics.law.choose(dynamics.passive, eq)
    return dataclasses.replace(eq, force=eq.force + choice.actuator_force, choice=choice), choice.u
