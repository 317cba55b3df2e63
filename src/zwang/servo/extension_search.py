"""The search for integrators before the inputs of a servo.

    1. differentiate every row until an input appears in it, at a state in general position;
    2. if the decoupling matrix has full rank, end;
    3. put an integrator before every input that appears in linearly dependent rows, and repeat. If
       fewer combinations of the inputs appear in these rows than there are inputs (the sum of four
       rotors), these combinations become inputs first, u = T w. If the combinations change with the
       state (the pull along a rope), the accelerations of these rows become inputs, u = T(q) w +
       u₀.

Reference: Isidori (1995), Nonlinear Control Systems, 3rd ed., section 5.4 (dynamic extension
    algorithm).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition, pivots
from zwang.compile import program
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import mapping, number
from zwang.servo.control import controller
from zwang.servo.controller import Controller
from zwang.servo.extended_servo import extended_model
from zwang.servo.input_chain import Chains, SeenInputs, combined
from zwang.servo.lie_derivative import passive_acceleration
from zwang.servo.null_space import AUTHORITY_THRESHOLD
from zwang.servo.relative_degree import Decoupling, decoupling
from zwang.servo.servo import Servo
from zwang.thresholds import ALL_BUT_ZERO

GENERAL = 0.1
"""Distance of the state in general position from the given state, in model units. A quantity that
vanishes only at the given state does not vanish there.
"""


def integrators_for(
    model: Model, servo: Servo, bound: Controller, state: State, highest: int
) -> tuple[Model, Controller, Decoupling] | None:
    """The model with the integrators, its servo bound to it, and its decoupling matrix; or None if
    no integrators help.
    """
    nu, least = actuator_count(bound, state), {}
    names, units = tuple(servo.names(nu)), tuple(servo.units(nu))
    chains = Chains(model.system, (0,) * nu, names, units)
    place, p = _general(model, bound, state), bound.dynamics.p
    while True:
        plain = extended_model(model, servo, chains)
        inner = controller(plain)
        there = plain.state(*chains.state(*place, state.t, p), float(state.t))
        found = decoupling(inner, there, highest, least)
        if found.is_regular:
            return plain, inner, found
        # integrators never make an actuator appear earlier
        least = {name: degree for name, degree in found.degrees.items() if degree is not None}
        seen, dependent = _seen_by_dependent_rows(found.matrix, nu)
        early, lengths = np.any(np.abs(seen) > AUTHORITY_THRESHOLD, axis=1), chains.lengths
        if len(seen.T) < np.sum(early) and not (any(lengths) or chains.mixed):
            # compare the combinations that appear in the rows with those at another state
            other = _general(model, bound, state, seed=1990)
            there = plain.state(*chains.state(*other, state.t, p), float(state.t))
            again = decoupling(inner, there, highest, least)
            then, _ = _seen_by_dependent_rows(again.matrix, nu)
            if then.shape == seen.shape:
                same = np.allclose(seen @ seen.T, then @ then.T, atol=ALL_BUT_ZERO)
                made = (
                    combined(chains, seen) if same else _by_state(chains, bound, found, dependent)
                )
                if made is not None:
                    chains = made
                    continue
        # If every input were delayed, the same rows would be dependent again one derivative later.
        longest = max((k for k, first in zip(lengths, early, strict=True) if first), default=0)
        if not early.any() or early.all() or longest >= highest - 2:
            return None
        # only the inputs of these rows are delayed, until the other inputs appear at the same
        # derivative; rows that can already be met keep their degree
        lengths = tuple(k + bool(first) for k, first in zip(lengths, early, strict=True))
        least = {
            name: degree + (not np.any(found.inputs[name] & ~early))
            for name, degree in least.items()
        }
        chains = dataclasses.replace(chains, lengths=lengths)


def _seen_by_dependent_rows(G: np.ndarray, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the combinations of inputs that appear in linearly dependent rows,
    shape (inputs, k), and a mask of these rows.
    """
    if not G.size:
        return np.zeros((inputs, 0)), np.zeros(len(G), bool)
    null = Decomposition(G, AUTHORITY_THRESHOLD, least=1.0).left_kernel
    dependent = np.any(np.abs(null) > AUTHORITY_THRESHOLD, axis=1)
    return Decomposition(G[dependent], AUTHORITY_THRESHOLD, least=1.0).row_space, dependent


def _by_state(
    chains: Chains, bound: Controller, found: Decoupling, dependent: np.ndarray
) -> Chains | None:
    """Inputs of which the first ones are accelerations of linearly dependent rows; None if the
    relative degree of such a row is not its natural degree.

    Args:
        chains: inputs that are the actuators, without integrators.
        bound: the servo.
        found: the decoupling matrix at a state in general position.
        dependent: mask of its linearly dependent rows.
    """
    reached = [c for c in bound.servo.constraints if found.degrees[c.name] is not None]
    sizes = [len(x) for x in found.rows]
    owner = [c for c, size in zip(reached, sizes, strict=True) for _ in range(size)]
    touched = [c for c in reached if any(c is owner[i] for i in np.flatnonzero(dependent))]
    if any(found.degrees[c.name] != c.level.order for c in touched):
        return None
    # all rows of the constraints that contain dependent rows, in their order
    places = [i for i, c in enumerate(owner) if c in touched]
    G = found.matrix[places] * dependent[places][:, None]
    rows = pivots(G.T, AUTHORITY_THRESHOLD)
    own = pivots(G[rows], AUTHORITY_THRESHOLD)
    others = np.setdiff1d(np.arange(G.shape[1]), own)
    seen = SeenInputs(
        bound.dynamics,
        tuple(touched),
        bound.servo.actuation_matrix,
        *(tuple(x.tolist()) for x in (rows, own, others)),
    )
    numbered = [
        f"{c.name}[{i}]" if n > 1 else c.name
        for c, n in zip(reached, sizes, strict=True)
        for i in range(n)
    ]
    names = [f"acceleration of {numbered[places[i]]}" for i in rows] + [
        chains.names[i] for i in others
    ]
    units = [""] * len(rows) + [chains.units[i] for i in others]
    return dataclasses.replace(chains, names=tuple(names), units=tuple(units), seen=seen)


def _general(
    model: Model, bound: Controller, state: State, seed: int = 1995
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q and v of a state in general position near the given one, and controls near those that hold
    it.
    """
    rng, system = np.random.default_rng(seed), model.system
    # a fixed seed: the answer must not change from one call to the next
    beside = lambda x: np.asarray(x) + GENERAL * rng.standard_normal(np.shape(x))
    step = jnp.asarray(GENERAL * rng.standard_normal(system.nv))
    q = np.asarray(system.move(state.q, step, state.t, bound.dynamics.p))
    v = beside(state.v)
    if model.constraints.m:
        placed = consistent_state(model, q, v, float(state.t)).state
        q, v = np.asarray(placed.q), np.asarray(placed.v)
    held = held_controls(bound, state, None)
    return q, v, beside(held + GENERAL * np.max(np.abs(held), initial=0.0))


def actuator_count(bound: Controller, state: State) -> int:
    # traced only: executing it would compile each of its operations
    matrix = lambda q, t: bound.servo.actuation_matrix(q, t, bound.dynamics.p)
    return jax.eval_shape(matrix, state.q, state.t).shape[1]


def held_controls(
    bound: Controller, state: State, inputs: Mapping[str, float] | None
) -> np.ndarray:
    """Controls at the start, shape (nu,): the given ones, otherwise those that make the
    acceleration as small as possible.
    """
    names = bound.servo.names(actuator_count(bound, state))
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
    # these controls keep the system nearest to rest, so that the extended system starts without a
    # jump
    held = -Decomposition(reaction, AUTHORITY_THRESHOLD).solve(a0)
    given: dict[str, float] = {**dict(zip(names, held.tolist(), strict=True)), **inputs}
    return np.array([given[name] for name in names], float)


@partial(program)
def _accelerations(bound: Controller, s: State):
    """Acceleration without control, and the contribution of each actuator to it, in the mass
    metric.
    """
    dynamics = bound.dynamics
    gauss = dynamics.gauss_at(s)
    B = bound.servo.actuation_matrix(s.q, s.t, dynamics.p)
    reaction = jax.vmap(gauss.mobility, 1, 1)(B)
    both = jnp.concatenate([passive_acceleration(dynamics, s)[None], reaction.T])
    weighed = gauss.mass.weigh(jax.vmap(gauss.mass.apply)(both))
    return weighed[0], weighed[1:].T


def without_integrators(bound: Controller, state: State, highest: int) -> str:
    """State in words which servo rows the actuators reach without integrators."""
    found = decoupling(bound, state, highest)
    missing = [name for name, degree in found.degrees.items() if degree is None]
    if missing:
        return f"no actuator reaches {', '.join(map(repr, missing))}"
    return f"of {len(found.matrix)} servo rows only {found.rank} can be met together"
