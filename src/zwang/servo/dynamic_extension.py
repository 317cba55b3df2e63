"""Integrators before actuators that reach the servo constraints too early.

A planar quadrotor that is to follow a path in x and y: thrust appears in both accelerations and the
torque in neither, so that of the two rows at degree 2 one alone can be met. If the thrust is a
state that is reached through two integrators, both rows have degree 4, where thrust'' and torque
meet them together. The algorithm:

    1. differentiate every row until an input appears in it, at a state in general position;
    2. if the decoupling matrix has full rank, end;
    3. put an integrator before every input that appears in rows which depend on each other, and
       begin again.

Reference: Isidori (1995), Nonlinear Control Systems, 3rd ed., section 5.4 (dynamic extension
    algorithm); Nijmeijer and van der Schaft (1990), Nonlinear Dynamical Control Systems, section
    8.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.arguments import count, instance, mapping, number
from zwang.call import misfits_named
from zwang.compile import program
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.servo.control import controller
from zwang.servo.controller import Controller
from zwang.servo.input_chain import Chains, extended_model
from zwang.servo.lie_derivative import passive_acceleration
from zwang.servo.null_space import AUTHORITY_THRESHOLD
from zwang.servo.one_row import separated
from zwang.servo.relative_degree import (
    HIGHEST_DEGREE,
    Decoupling,
    RowDegreeError,
    decoupling,
    relative_degree,
)
from zwang.servo.servo import Servo

GENERAL = 0.1
"""How far a state in general position is from the given one, in model units: what vanishes at the
given state alone does not vanish there.
"""


@dataclasses.dataclass(frozen=True)
class DynamicExtension:
    """A closed loop whose controller has states.

    Attributes:
        model: the extended model with its servo; the inputs that have integrators before them are
            coordinates and velocities of it, and its controls are their highest derivatives.
        q, v: the given state with these inputs at rest.
        integrators: actuator → number of integrators before it.
        degrees: relative degree of each servo constraint with them.
        inputs: actuator → the value at which it starts.
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
    def servo(self) -> Servo:
        """The servo of `model`."""
        assert isinstance(self.model.servo, Servo)
        return self.model.servo

    @property
    def sentence(self) -> str:
        """What was found in words."""
        found = ", ".join(f"{name!r} {degree}" for name, degree in self.degrees.items())
        if not self.integrators:
            return f"relative degree {found}; no integrators are needed"
        return f"dynamic extension: {_before(self.integrators)}; then relative degree {found}"


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
            order (a number, `Rate`), or the one that is found (`Poles`).
        q, v, t: the start of the run.
        inputs: actuator → its control at the start; by default the controls that come nearest to
            holding the acceleration at zero there. A quadrotor without thrust cannot be steered.
        params: parameters that differ from the model's.
        highest: relative degree at which to give up.

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
    passive = model.passive if params is None else model.passive.with_params(params)
    highest = count(highest, "dynamic_extension: highest", least=1)
    found = _lengths(passive, given, bound, state, highest)
    if found is None:
        raise ModelError(
            f"{model.name}: {_without(bound, state, highest)}, and dynamic extension does not "
            "help: integrators before the actuators that appear first "
            f"({', '.join(given.names(_nu(bound, state)))}) leave the rest without authority. "
            "Combine actuators that act alike (the sum and the difference of two forces), or "
            "take fewer servo constraints."
        )
    lengths, least, general = found
    held = _held(bound, state, inputs)
    chains = Chains(passive.system, lengths)
    q0, v0 = chains.state(state.q, state.v, held)
    plain = extended_model(passive, given, lengths)
    # in general position the extension works; the given state may still be an exception
    there = decoupling(controller(plain), plain.state(q0, v0, t), highest, least)
    if there.degrees != general.degrees or not there.is_regular:
        raise ModelError(
            f"{model.name}: with {_before(_integrators(given, lengths)) or 'no integrators'} "
            "the servo constraints can be met together in general, but not at this state: start "
            "elsewhere, or with other inputs (inputs={...})."
        )
    degrees = {name: int(degree or 0) for name, degree in there.degrees.items()}
    closed = extended_model(passive, given, lengths, gains=given.gains, degrees=degrees)
    names = given.names(len(lengths))
    values = {names[j]: float(held[j]) for j in chains.extended}
    return DynamicExtension(closed, q0, v0, _integrators(given, lengths), degrees, values)


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
    """The model with a servo whose constraints are differentiated as often as its actuators need,
    and with integrators before those that reach them too early (`dynamic_extension`).

    Where the rows of one constraint have different degrees, each becomes a constraint of its own
    with the same gain: those of `path` are called `path[0]`, `path[1]` and so on.

    Args:
        model, q, v, t, params, highest: as in `relative_degree`.
        servo: its gains must fit any order (a number, `Rate`) or the one that is found (`Poles`);
            if they were given for the natural order, give a new servo with
            `degrees=relative_degree(...).degrees`.
        inputs: as in `dynamic_extension`.

    Returns:
        What was found: `.sentence` says it, `.servo` and `.model` follow the constraints, from `.q`
        and `.v`, which are the given ones where no integrators are needed.

    Raises:
        ModelError: if a constraint has no relative degree up to `highest`, or the constraints
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
            f"{model.name}: {found.sentence}: no integrators are needed, and inputs= are where "
            "actuators behind integrators start; leave inputs= out."
        )
    closed = Servo(
        servo.constraints,
        servo.actuation,
        actuators=servo.actuators,
        actuator_units=servo.actuator_units,
        gains=servo.gains,
        null_space=servo.null_space,
        limits=servo.limits,
        degrees=degrees,
        pseudoinverse=servo.pseudoinverse,
    )
    passive = model.passive if params is None else model.passive.with_params(params)
    made = Model(
        passive.system,
        passive.constraints.members,
        passive.params,
        servo=closed,
        singular_mass=passive.singular_mass,
        name=model.name,
    )
    state = model.state(q, v, t)
    return DynamicExtension(made, np.asarray(state.q), np.asarray(state.v), {}, degrees, {})


def _lengths(
    model: Model, servo: Servo, bound: Controller, state: State, highest: int
) -> tuple[tuple[int, ...], dict[str, int], Decoupling] | None:
    """Number of integrators before each actuator, degrees below which none has authority with them,
    and what the actuators do then; or None if none help.
    """
    lengths, least = np.zeros(_nu(bound, state), int), {}
    while True:
        tried = tuple(lengths.tolist())
        found = _generic(model, servo, tried, bound, state, highest, least)
        if found.is_regular:
            return tried, least, found
        # integrators never make an actuator appear earlier
        least = {name: degree for name, degree in found.degrees.items() if degree is not None}
        early = _in_dependent_rows(found.matrix, len(lengths))
        # If all inputs are late alike, the same rows depend on each other one derivative later.
        if not early.any() or early.all() or max(lengths[early]) >= highest - 2:
            return None
        # only actuators of these rows are delayed, until the late ones appear at the same
        # derivative; rows that can be met as they are keep theirs
        lengths[early] += 1


def _in_dependent_rows(G: np.ndarray, actuators: int) -> np.ndarray:
    """Which actuators appear in rows that depend on each other, shape (actuators,)."""
    if not G.size:
        return np.zeros(actuators, bool)
    null = Decomposition(G, AUTHORITY_THRESHOLD, least=1.0).left_kernel
    dependent = np.any(np.abs(null) > AUTHORITY_THRESHOLD, axis=1)
    return np.any(np.abs(G[dependent]) > AUTHORITY_THRESHOLD, axis=0)


def _generic(
    model: Model,
    servo: Servo,
    lengths: tuple[int, ...],
    bound: Controller,
    state: State,
    highest: int,
    least: Mapping[str, int],
) -> Decoupling:
    """The decoupling matrix with integrators before the actuators, at a state in general position
    near the given one, the inputs at rest near what they hold.
    """
    plain = extended_model(model, servo, lengths)
    rng = np.random.default_rng(1995)
    # a fixed seed: the answer must not change from one call to the next
    beside = lambda x: np.asarray(x) + GENERAL * rng.standard_normal(np.shape(x))
    q, v = beside(state.q), beside(state.v)
    if model.constraints.m:
        placed = consistent_state(model, q, v, float(state.t)).state
        q, v = np.asarray(placed.q), np.asarray(placed.v)
    held = _held(bound, state, None)
    inputs = beside(held + GENERAL * np.max(np.abs(held), initial=0.0))
    q, v = Chains(model.system, lengths).state(q, v, inputs)
    return decoupling(controller(plain), plain.state(q, v, float(state.t)), highest, least)


def _nu(bound: Controller, state: State) -> int:
    # traced alone: carried out, each of its operations would be compiled
    matrix = lambda q, t: bound.servo.actuation_matrix(q, t, bound.dynamics.p)
    return jax.eval_shape(matrix, state.q, state.t).shape[1]


def _held(bound: Controller, state: State, inputs: Mapping[str, float] | None) -> np.ndarray:
    """Controls at the start, shape (nu,): as given, else those that hold the acceleration nearest
    to zero.
    """
    names = bound.servo.names(_nu(bound, state))
    inputs = (
        {} if inputs is None else mapping(inputs, "dynamic extension: inputs", '{"thrust": 9.8}')
    )
    inputs = {name: number(x, f"dynamic extension: inputs[{name!r}]") for name, x in inputs.items()}
    for name in inputs:
        if name not in names:
            raise ModelError(
                f"dynamic extension: inputs names {name!r}, but the actuators are "
                f"{', '.join(names)}."
            )
    a0, reaction = (np.asarray(x) for x in _accelerations(bound, state))
    # controls that keep the system nearest to rest, so that the start of the extended system has no
    # jump
    held = -Decomposition(reaction, AUTHORITY_THRESHOLD).solve(a0)
    given: dict[str, float] = {**dict(zip(names, held.tolist(), strict=True)), **inputs}
    return np.array([given[name] for name in names], float)


@partial(program)
def _accelerations(bound: Controller, s: State):
    """Acceleration without control, and what each actuator adds to it, in the mass metric."""
    dynamics = bound.dynamics
    gauss = dynamics.gauss_at(s)
    B = bound.servo.actuation_matrix(s.q, s.t, dynamics.p)
    reaction = jax.vmap(gauss.mobility, 1, 1)(B)
    both = jnp.concatenate([passive_acceleration(dynamics, s)[None], reaction.T])
    weighed = gauss.mass.weigh(jax.vmap(gauss.mass.apply)(both))
    return weighed[0], weighed[1:].T


def _without(bound: Controller, state: State, highest: int) -> str:
    """What the actuators reach without integrators, in words."""
    found = decoupling(bound, state, highest)
    missing = [name for name, degree in found.degrees.items() if degree is None]
    if missing:
        return f"no actuator reaches {', '.join(map(repr, missing))}"
    return f"of {len(found.matrix)} servo rows only {found.rank} can be met together"


def _integrators(servo: Servo, lengths: tuple[int, ...]) -> dict[str, int]:
    return {n: k for n, k in zip(servo.names(len(lengths)), lengths, strict=True) if k}


def _before(integrators: Mapping[str, int]) -> str:
    return ", ".join(
        f"{k} integrator{'s' * (k > 1)} before {name!r}" for name, k in integrators.items()
    )
