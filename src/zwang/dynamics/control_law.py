"""Abstract control laws and controllers, and the control at one instant."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.dynamics.equation_of_motion import Choice, Dynamics, Equation
from zwang.dynamics.labels import Labels
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arrays import is_concrete
from zwang.objects.display import present
from zwang.objects.record import Record, field, text_of_record


class Control(Record):
    """Control at one instant. All fields are arrays, so that the object passes through `jit`,
    `vmap` and `grad`.

    Attributes:
        u: control [N, N·m …], shape (nu,); the least-squares solution if the servo constraints
            cannot be satisfied.
        actuator_force: B u, shape (nv,).
        passive_force: force of the passive constraints, which reacts to u, ideal and nonideal [N,
            N·m …], shape (nv,).
        acceleration: v̇ under control, shape (nv,).
        residual: ‖A_s v̇ − b_s‖ relative to the accelerations involved, rows at unit length.
        passive_residual: the same for the passive constraints.
        rank: rank of `C B̄`, i.e. of A_s P M⁻¹ B.
        authority: by servo constraint, between 0 (no actuator moves it, given its hinges) and 1:
            the largest cosine, in the mass metric, between a row and the acceleration that one
            actuator can cause; the smallest over its rows.
        missed: by servo constraint, its share of `residual`, which the actuators cannot remove.
        violation, velocity_violation: by servo constraint, the tracking error: largest `|φ|` and
            `|ψ|` in the constraint's own unit, NaN without one.
        result: a `Result` code.
        unique_u: for `zw.servo.inverse_dynamics`, which entries of u are unique for this
            acceleration, shape (nu,); the others are a choice, by default of least norm.
        unique_force: likewise, by passive constraint: whether its generalized force is unique.
        force_by_constraint: likewise, that force [N, N·m …], shape (nv,), with multipliers of least
            norm if several are possible with u.
        labels: names and units for printing; None if the object does not come from `zw.control`.
    """

    u: Float[Array, " nu"]
    actuator_force: Float[Array, " nv"]
    passive_force: Float[Array, " nv"]
    acceleration: Float[Array, " nv"]
    residual: Float[Array, ""]
    passive_residual: Float[Array, ""]
    rank: Int[Array, ""]
    authority: dict[str, Float[Array, ""]]
    missed: dict[str, Float[Array, ""]]
    violation: dict[str, Float[Array, ""]]
    velocity_violation: dict[str, Float[Array, ""]]
    result: Int[Array, ""]
    unique_u: Bool[Array, " nu"] | None = None
    unique_force: dict[str, Bool[Array, ""]] | None = None
    force_by_constraint: dict[str, Float[Array, " nv"]] | None = None
    labels: Labels | None = field(static=True, default=None)

    def __str__(self) -> str:
        """Return controls, forces and tracking errors by name, with units."""
        return present("text_of", self, "control") if is_concrete(self) else text_of_record(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of", self, "control")


class AbstractControlLaw(Record):
    """Control law u(q, v, t) and its actuators: `M v̇ = F + Q_c + B u`.

    A model with a control law is a closed loop. Gains and other numbers are arrays, so that other
    values need no compilation.
    """

    @abc.abstractmethod
    def checked(self, passive: Dynamics) -> int:
        """Return the number of actuators, after a check of the law against the model's shapes.
        Nothing is compiled.

        Raises:
            ModelError: if it does not fit the model.
        """

    @abc.abstractmethod
    def names(self, nu: int) -> tuple[str, ...]:
        """Return the names of the actuators."""

    @abc.abstractmethod
    def units(self, nu: int) -> tuple[str, ...]:
        """Return the units of their controls, empty if they are not given."""

    @abc.abstractmethod
    def actuation_matrix(self, q, t, p) -> Float[Array, "nv nu"]:
        """Return B."""

    @abc.abstractmethod
    def force_of(self, s: State, p, u: Float[Array, " nu"]) -> Float[Array, " nv"]:
        """Return the force of the actuators at a state under a control: `B u`, plus the force that
        follows from states of the law alone.
        """

    @abc.abstractmethod
    def choose(
        self,
        passive: Dynamics,
        eq: Equation,
        before: Float[Array, " nu"] | None = None,
        elapsed: Float[Array, ""] | float = 0.0,
    ) -> Choice:
        """Compute the control at a state; the equation of motion adds its `actuator_force` to F.

        Args:
            passive: the system with its passive constraints, without control.
            eq: equation of the passive system at the state.
            before, elapsed: the control applied `elapsed` seconds before, for limits of the rate;
                None if it is unknown.
        """

    @abc.abstractmethod
    def diagnose(self, passive: Dynamics, choice: Any, u: Array | None = None) -> Control:
        """Return the control of a `choice` with its diagnosis; or that of a control u that was
        determined elsewhere.
        """

    def control(
        self, passive: Dynamics, s: State, stabilization: Float[Array, " m"] | float = 0.0
    ) -> Control:
        """Return u with its diagnosis, at a state where passive constraints satisfy `A v̇ = b +
        stabilization`.
        """
        return self.diagnose(passive, self.choose(passive, passive.equation_at(s, stabilization)))

    @abc.abstractmethod
    def blank(self, passive: Dynamics) -> Control:
        """Return a `Control` of zeros with the shapes of `diagnose`; only the actuation matrix is
        traced for it.
        """

    @property
    def by_constraints(self) -> bool:
        """True if u depends on which constraints are active; a law without rows does not."""
        return True

    @property
    def remark(self) -> str:
        """Describe the states that the law adds to the system; "" if there are none."""
        return ""

    @property
    def inequalities(self) -> tuple[str, ...]:
        """Names of the servo constraints that are inequalities."""
        return ()

    def residual_units(self) -> dict[str, tuple[str, str]]:
        """Return the units of φ and ψ of each servo constraint that states them."""
        return {}

    def decay_rates(self) -> dict[str, float]:
        """Return the largest decay rate of the error of each servo constraint [1/s], if known."""
        return {}

    def kept_layers(self) -> dict[str, tuple[float, float]]:
        """Return k and ε of each servo constraint y whose gain guarantees that `‖ẏ + k y‖ ≤ ε`
        remains true once it is reached.
        """
        return {}

    def kept_errors(
        self, passive: Dynamics, s: State, reach: np.ndarray, speed: np.ndarray
    ) -> dict[str, tuple[float, float]]:
        """Return `|φ|` and `|ψ|` at a start of each servo constraint that is violated there and has
        no gain, relative to the largest coordinates and velocities in the motion.
        """
        return {}

    def saturated(self, u: np.ndarray) -> np.ndarray:
        """Return a mask of the controls at a limit of their actuator, shape (..., nu)."""
        return np.zeros(np.shape(u), bool)

    def by_name(self, names, constraint: Callable) -> AbstractControlLaw:
        """Return the law for a hierarchy, with its functions of q, v and p by name.

        Args:
            names: `coordinates(q)`, `velocities(v)` and `parameters(p)` return them by name.
            constraint: converts a constraint by names into one of vectors.

        Raises:
            ModelError: if the law has no functions that can be converted.
        """
        raise ModelError(
            f"{type(self).__name__} cannot be given by name; give it to zw.Model, or a zw.Servo "
            "to zw.Hierarchy."
        )

    def refuse_continuous(self) -> None:
        """Raise if the law can act at sampling instants only, with a controller state that contains
        its last control.

        Raises:
            ModelError: if so.
        """


class AbstractSampler(Record):
    """Controller with a zero-order hold: it computes at instants and holds the result. Its
    controller state is part of a run.

    The controller state is any pytree of arrays. All methods are compiled into the loop of the run.
    """

    @abc.abstractmethod
    def start(self, s: State) -> PyTree:
        """Return the controller state at the start of a run."""

    @abc.abstractmethod
    def next_sample_time(self, controller_state: PyTree) -> Float[Array, ""]:
        """Return the next time at which the controller state changes [s]; a step of the run ends
        there.
        """

    @abc.abstractmethod
    def update_sample(self, s: State, controller_state: PyTree) -> PyTree:
        """Return the controller state from that time on."""

    @abc.abstractmethod
    def held_input(self, controller_state: PyTree) -> Float[Array, " nu"]:
        """Return u that acts from then on."""

    @abc.abstractmethod
    def with_input(self, u: Float[Array, " nu"]) -> AbstractControlLaw:
        """Return the control law that applies u at every state."""


class AbstractLoop(Record):
    """Nonideal closed loop: the components between a control law and the system it acts on."""

    @abc.abstractmethod
    def bound(self, model, plant: Dynamics, t0: float) -> tuple[Dynamics, AbstractSampler | None]:
        """Return the plant with the control that acts on it, and the sampler that changes it along
        the run.

        Args:
            model: the model that is simulated (`zwang.Model`).
            plant: its dynamics, control law included.
            t0: start of the run [s].

        Raises:
            ModelError: if the settings do not fit the model.
        """
