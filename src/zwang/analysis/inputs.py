"""Inputs and outputs of a linearized model by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.analysis.constrained_state import ConstrainedState
from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import function, labels, real_array
from zwang.inputs.suggestions import did_you_mean
from zwang.inputs.tracing import outcome, returned
from zwang.simulation.results.units import force_unit


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The inputs of a linearization.

    Attributes:
        model: the model that they act on, without the servo that the actuators belong to.
        names: names, parameters first, followed by forces.
        directions: tangents of the parameters, with a leading axis over inputs; None without
            parameters.
        actuation: (q, t, p) → B of the forces, or an array; None without forces.
        nominal: value of each input; zero for forces.
        parameters: name and index of the entry of each parameter.
        units: unit of each input; empty if it is not stated.
    """

    model: Model
    names: tuple[str, ...] = ()
    directions: PyTree = None
    actuation: Callable | np.ndarray | None = None
    nominal: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    parameters: tuple[tuple[str, int], ...] = ()
    units: tuple[str, ...] = ()

    def matrix(self, q, t, p) -> Array | np.ndarray:
        """B of the forces, shape (nv, k)."""
        if callable(self.actuation):
            return self.actuation(q, t, p)
        return np.zeros((self.model.system.nv, 0)) if self.actuation is None else self.actuation

    def matrix_at(self, here: ConstrainedState) -> np.ndarray:
        """B of the forces at a state."""
        return np.asarray(self.matrix(here.state.q, here.state.t, here.dynamics.p))


def chosen_inputs(model: Model, params, inputs: object) -> Inputs:
    """Inputs from a user's argument, see `zw.analysis.linearize`."""
    if inputs is None or (isinstance(inputs, (list, tuple)) and not len(inputs)):
        return Inputs(model)
    actuation = getattr(inputs, "actuation_matrix", None)
    if isinstance(inputs, AbstractControlLaw) and actuation is not None:
        nu = inputs.checked(model.passive.dynamics(lets_go=not inputs.by_constraints))
        names, units = tuple(inputs.names(nu)), tuple(inputs.units(nu))
        return Inputs(model.passive, names, None, actuation, np.zeros(nu), units=units)
    if callable(inputs):
        what, (q, _, t) = "inputs(q, t, p)", model.system.shapes
        given = lambda *a: jnp.asarray(returned(inputs(*a), what, integers=True))
        shape = outcome(given, what, q, t, model.parameters()).shape
        return _columns(model, shape, inputs, f"{what} returns shape")
    lists = isinstance(inputs, (list, tuple)) and all(isinstance(x, (list, tuple)) for x in inputs)
    if lists or isinstance(inputs, (np.ndarray, jax.Array)):
        B = np.asarray(real_array(inputs, "inputs"))
        return _columns(model, B.shape, B, "inputs is an array of shape")
    return _named(model, params, labels([inputs] if isinstance(inputs, str) else inputs, "inputs"))


def _columns(model: Model, shape: tuple, B: Callable | np.ndarray, what: str) -> Inputs:
    """Inputs that act by the columns of B."""
    nv = model.system.nv
    if len(shape) != 2 or shape[0] != nv:
        raise ModelError(
            f"{what} {shape}, expected ({nv}, nu): a row for each velocity and a column for each "
            "input."
        )
    names = tuple(f"u{i}" for i in range(shape[1]))
    return Inputs(model, names, None, B, np.zeros(shape[1]), units=("",) * shape[1])


def _named(model: Model, params, given: tuple[str, ...]) -> Inputs:
    own = model.merged(params) if isinstance(model.params, dict) else {}
    velocities = list(model.system.velocities)
    unknown = [x for x in given if x not in own and x not in velocities]
    if unknown:
        known = [*map(str, own), *velocities]
        raise ModelError(
            f"inputs: {unknown[0]!r} is neither a parameter nor a velocity of {model.name}"
            f"{did_you_mean(unknown[0], known)}"
        )
    if twofold := [x for x in given if x in own and x in velocities]:
        raise ModelError(
            f"inputs: {twofold[0]!r} is a parameter and a velocity of {model.name}, expected a "
            "name that is one of them; rename the parameter, or give forces along velocities as "
            f"the columns of an array of shape ({len(velocities)}, nu)."
        )
    names, entries, tangents = [], [], []
    for name in (x for x in given if x in own):
        value = np.asarray(own[name], float)
        for i in range(value.size):
            names.append(name if value.ndim == 0 else f"{name}[{i}]")
            entries.append((name, i))
            unit = np.zeros(value.size)
            unit[i] = 1.0
            # the change of the parameters, in the form that functions of the model accept
            packed = lambda x, name=name: model.parameters({name: x})
            at, along = jnp.asarray(value), jnp.asarray(unit.reshape(value.shape))
            tangents.append(jax.jvp(packed, (at,), (along,))[1])
    nominal = [np.asarray(own[name], float).ravel()[i] for name, i in entries]
    pushed = [velocities.index(x) for x in given if x not in own]
    directions = None
    if tangents:
        directions = jax.tree_util.tree_map(lambda *x: jnp.stack(x), *tangents)
    actuation = np.eye(len(velocities))[:, pushed] if pushed else None
    units = [""] * len(names)
    names += [f"force on {velocities[i]}" for i in pushed]
    system = model.system
    units += [force_unit(system.velocity_units[i], system.energy_unit) for i in pushed]
    return Inputs(
        model,
        tuple(names),
        directions,
        actuation,
        np.array([*nominal, *np.zeros(len(pushed))]),
        tuple(entries),
        tuple(units),
    )


def with_entries(model: Model, params, acting: Inputs, mu: np.ndarray) -> dict:
    """The parameters with the entries that were found."""
    given = dict(params or {})
    own = model.merged(params)
    for (name, i), value in zip(acting.parameters, mu, strict=True):
        x = np.array(given.get(name, own[name]), float)
        x.reshape(-1)[i] = value
        given[name] = x if x.ndim else float(x)
    return given


def chosen_outputs(
    model: Model, outputs: Sequence[str] | Callable | None
) -> tuple[Callable, tuple[str, ...]]:
    """A function (q, v, t, p) → y and the names of its entries."""
    system = model.system
    if outputs is not None and callable(outputs):
        count = _outputs_of(model, function(outputs, "outputs", "(q, v, t, p) → y"))
        return outputs, tuple(f"y{i}" for i in range(count))
    rates = [f"{x} rate" if x in system.coordinates else x for x in system.velocities]
    known = [*system.coordinates, *rates]
    if outputs is None:
        return Selected(tuple(range(len(known)))), tuple(known)
    names = labels([outputs] if isinstance(outputs, str) else outputs, "outputs")
    for name in names:
        if name not in known:
            raise ModelError(
                f"outputs: {name!r} is neither a coordinate nor a velocity of {model.name}"
                f"{did_you_mean(name, known)} A velocity that has a coordinate's name is written "
                "'x rate'."
            )
    return Selected(tuple(known.index(x) for x in names)), names


def _outputs_of(model: Model, outputs: Callable) -> int:
    """Number of outputs of a function, after a check that they are real; compiles nothing."""
    system, what = model.system, "outputs(q, v, t, p)"
    whole = lambda *a: jnp.asarray(returned(outputs(*a), what))
    q, v, t = np.zeros(system.nq), np.zeros(system.nv), np.zeros(())
    shape = outcome(whole, what, q, v, t, model.parameters()).shape
    if len(shape) > 1:
        raise ModelError(f"{what} returns shape {shape}, expected a number or a vector.")
    return shape[0] if shape else 1


@dataclasses.dataclass(frozen=True)
class Selected:
    """Entries of (q, v). Equal selections are equal functions, which compile once."""

    entries: tuple[int, ...]

    def __call__(self, q, v, t, p):
        return jnp.concatenate([q, v])[np.array(self.entries, int)]
