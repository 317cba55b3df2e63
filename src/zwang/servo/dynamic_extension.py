"""Dynamic extension: integrators before the actuators that act on the servo constraints at too low
a derivative.

Example: a planar quadrotor follows a path in x and y. The thrust appears in both accelerations and
the torque in neither, so at degree 2 only one of the two rows can be met. If the thrust is a state
behind two integrators, both rows have degree 4, and thrust'' and torque together can meet them.
`extension_search.py` finds the integrators.

Reference: Isidori (1995), Nonlinear Control Systems, 3rd ed., section 5.4 (dynamic extension
    algorithm); Nijmeijer and van der Schaft (1990), Nonlinear Dynamical Control Systems, section
    8.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import count, instance
from zwang.inputs.call import misfits_named
from zwang.servo.adaptation import adapted_model, learning
from zwang.servo.control import controller
from zwang.servo.extended_servo import ExtendedServo, extended_servo
from zwang.servo.extension_search import (
    actuator_count,
    held_controls,
    integrators_for,
    without_integrators,
)
from zwang.servo.one_row import separated
from zwang.servo.relative_degree import (
    HIGHEST_DEGREE,
    RowDegreeError,
    decoupling,
    relative_degree,
)
from zwang.servo.servo import Servo, degrees_in_words


@dataclasses.dataclass(frozen=True)
class DynamicExtension:
    """A closed loop whose controller has states.

    Attributes:
        model: the extended model with its servo; the inputs that have integrators before them are
            coordinates and velocities of it, and its controls are those of the actuators.
        q, v: the given state, extended by these inputs with their derivatives at zero.
        integrators: input (an actuator, or a sum of actuators) → number of integrators before it.
        degrees: relative degree of each servo constraint with these integrators.
        inputs: actuator → its initial value.
    """

    model: Model
    q: np.ndarray
    v: np.ndarray
    integrators: dict[str, int]
    degrees: dict[str, int]
    inputs: dict[str, float]

    def __repr__(self) -> str:
        start = ", ".join(f"{name} = {x:.6g}" for name, x in self.inputs.items())
        return f"{self.model.name}: {self.sentence}{f'; starts with {start}' if start else ''}"

    @property
    def servo(self) -> Servo | ExtendedServo:
        """The servo of `model`."""
        assert isinstance(self.model.servo, (Servo, ExtendedServo))
        return self.model.servo

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.servo.remark:
            return self.servo.remark
        return f"{degrees_in_words(self.degrees)}; no integrators are needed"


@misfits_named
def dynamic_extension(
    model: Model,
    servo: Servo | None = None,
    q=None,
    v=None,
    t=0.0,
    *,
    inputs: Mapping[str, float] | None = None,
    params: PyTree = None,
    highest: int = HIGHEST_DEGREE,
) -> DynamicExtension:
    """Put integrators before the actuators until all servo constraints can be met together.

    Args:
        model: the model.
        servo: constraints, actuation and gains, the model's own by default; gains must fit any
            order (a number, `Rate`), or the order that is found (`Poles`).
        q, v, t: the initial state of the run.
        inputs: actuator → its control at the start; by default the controls that make the
            acceleration there as small as possible, because a quadrotor without thrust, for
            example, cannot be steered.
        params: parameters that differ from the model's.
        highest: the highest relative degree that is tried.

    Returns:
        A `DynamicExtension`: `zw.simulate(found.model, found.q, found.v, duration=...)`.

    Raises:
        ModelError: if no integrators help, or if the extended system is singular at this state.

    Example:
        >>> found = zw.servo.dynamic_extension(drone, servo, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
        >>> found.sentence
        "dynamic extension: 2 integrators before 'thrust'; then relative degree 'x' 4, 'y' 4"
    """
    bound = controller(model, servo, params)
    given, state = bound.servo, model.state(q, v, t)
    passive = model.passive.with_params(params)
    highest = count(highest, "dynamic_extension: highest", least=1)
    found = integrators_for(passive, given, bound, state, highest)
    if found is None:
        names = ", ".join(given.names(actuator_count(bound, state)))
        raise ModelError(
            f"{model.name}: {without_integrators(bound, state, highest)}, and dynamic extension "
            f"does not help: integrators before the actuators that appear first ({names}) leave "
            "the rest without authority. Take fewer servo constraints, or add an actuator."
        )
    plain, inner, general = found
    assert isinstance(plain.servo, ExtendedServo)
    chains, held = plain.servo.chains, held_controls(bound, state, inputs)
    p = bound.dynamics.p
    q0, v0 = chains.state(state.q, state.v, held, state.t, p)
    # the extension works in general position, but the given state may be an exception
    least = {name: int(degree or 0) for name, degree in general.degrees.items()}
    there = decoupling(inner, plain.state(q0, v0, t), highest, least)
    if there.degrees != general.degrees or not there.is_regular:
        raise ModelError(
            f"{model.name}: with {chains.sentence or 'no integrators'} the servo constraints can "
            "be met together in general, but not at this state: start elsewhere, or with other "
            "inputs (inputs={...})."
        )
    degrees = {name: int(degree or 0) for name, degree in there.degrees.items()}
    options = {"gains": given.gains, "degrees": degrees}
    if not chains.extended:
        closed = _given_degrees(passive, given, options)
        return DynamicExtension(closed, q0, v0, {}, degrees, {})
    closed = plain.with_parts(servo=extended_servo(given, chains, **options))
    with outside_of_programs():
        start = np.asarray(chains.held(jnp.asarray(q0), jnp.asarray(v0), state.t, p))
        T = np.asarray(chains.matrix(jnp.asarray(q0), state.t, p))
    moved = np.any(T[:, chains.extended], axis=1)
    names = given.names(len(held))
    values = {name: float(u) for name, u, own in zip(names, start, moved, strict=True) if own}
    return DynamicExtension(closed, q0, v0, chains.integrators, degrees, values)


@misfits_named
def with_found_degrees(
    model: Model,
    servo: Servo,
    q,
    v,
    t=0.0,
    *,
    inputs: Mapping[str, float] | None = None,
    params: PyTree = None,
    highest: int = HIGHEST_DEGREE,
) -> DynamicExtension:
    """The model with a servo whose constraints are differentiated up to their relative degrees,
    with integrators before the actuators that act at too low a derivative (`dynamic_extension`).

    If the rows of one constraint have different degrees, each row becomes a separate constraint
    with the same gain: those of `path` are called `path[0]`, `path[1]` and so on.

    Args:
        model, q, v, t, params, highest: as in `relative_degree`.
        servo: its gains must fit any order (a number, `Rate`) or the order that is found (`Poles`);
            if they were given for the natural order, give a new servo with
            `degrees=relative_degree(...).degrees`.
        inputs: as in `dynamic_extension`.

    Returns:
        A `DynamicExtension`: `.sentence` states the result in words, `.servo` and `.model` follow
        the constraints from the state `.q` and `.v`, which is the given state if no integrators are
        needed.

    Raises:
        ModelError: if a constraint has no relative degree up to `highest`, or if the constraints
            compete for actuators, and no integrators help.
    """
    instance(servo, Servo, "with_found_degrees: servo", "zw.Servo(constraints, actuation, ...)")
    try:
        found = relative_degree(model, servo, q, v, t, params=params, highest=highest)
    except RowDegreeError as error:
        rows = separated(servo, error.constraint, controller(model, servo, params).dynamics)
        return with_found_degrees(
            model, rows, q, v, t, inputs=inputs, params=params, highest=highest
        )
    degrees = {name: degree for name, degree in found.degrees.items() if degree is not None}
    if len(degrees) < len(found.degrees) or (found.rank is not None and found.rank < found.rows):
        return dynamic_extension(
            model, servo, q, v, t, inputs=inputs, params=params, highest=highest
        )
    if inputs is not None:
        raise ModelError(
            f"{model.name}: {found.sentence}: no integrators are needed, and inputs= are initial "
            "values of actuators with integrators; omit inputs=."
        )
    passive = model.passive.with_params(params)
    made = _given_degrees(passive, servo, {"gains": servo.gains, "degrees": degrees})
    state = model.state(q, v, t)
    if learning(servo):
        assert isinstance(made.servo, Servo)
        adapted, q0, v0 = adapted_model(passive, made.servo, state)
        return DynamicExtension(adapted, q0, v0, {}, degrees, {})
    return DynamicExtension(made, np.asarray(state.q), np.asarray(state.v), {}, degrees, {})


def _given_degrees(passive: Model, servo: Servo, options: Mapping) -> Model:
    """The closed loop of a servo whose rows are reached at the degrees stated in it."""
    closed = Servo(
        servo.constraints,
        servo.actuation,
        actuators=servo.actuators,
        actuator_units=servo.actuator_units,
        null_space=servo.null_space,
        limits=servo.limits,
        pseudoinverse=servo.pseudoinverse,
        **options,
    )
    return passive.with_parts(servo=closed)
