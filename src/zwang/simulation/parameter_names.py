"""Names of parameters in a nested dictionary: `length`, `mass[1]`, `springs.slide.damping`; and
their common names, `crank.mass` for the mass of the body `crank`, `speed` for a parameter of a
mechanism's formulas. `--set`, `zw.fit`, `zw.batch` and `zw.sweep` use the same names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import shown
from zwang.inputs.suggestions import did_you_mean

FORMULAS = "parameters"
"""Group of those parameters of a mechanism that its formulas refer to by name."""


def place_of(model: Model, name: str) -> str:
    """Return the place in the model's parameters to which a name refers: `crank.mass` → `mass[0]`.

    Raises:
        ModelError: for an unknown name; the message lists similar ones.
    """
    params = model.params
    keys, index = _parts(name)
    own = names(params)
    if ".".join(keys) in own or (isinstance(params, Mapping) and ".".join(keys) in params):
        return name
    if f"{FORMULAS}.{name}" in own:
        return f"{FORMULAS}.{name}"
    for parameter, entries, _ in model.system.parameters:
        for i, entry in enumerate(entries):
            # both orders are common
            if ".".join(keys) in (f"{entry}.{parameter}", f"{parameter}.{entry}"):
                return f"{parameter}[{','.join(map(str, (i, *index)))}]"
    known = known_names(model)
    raise ModelError(f"unknown parameter {shown(name)} of {model.name}{did_you_mean(name, known)}")


def known_names(model: Model) -> list[str]:
    """Return all names of parameters, common names first."""
    known = [
        f"{e}.{parameter}" for parameter, entries, _ in model.system.parameters for e in entries
    ]
    return known + [name.removeprefix(f"{FORMULAS}.") for name in names(model.params)]


def unit_of(model: Model, name: str) -> str:
    """Return the unit of a parameter; empty if the model does not state it."""
    place = _parts(place_of(model, name))[0][0]
    return next((unit for parameter, _, unit in model.system.parameters if parameter == place), "")


def read_of(model: Model, name: str) -> Array:
    """Return a parameter of a model by any of its names."""
    return read(model.params, place_of(model, name))


def written(model: Model, values: Mapping[str, Array]) -> PyTree:
    """Return the parameters of a model with some of them replaced, each by any of its names."""
    return write(model.params, {place_of(model, name): value for name, value in values.items()})


def read(params: PyTree, name: str) -> Array:
    """Return the number or array with a name.

    Raises:
        ModelError: for an unknown name; the message lists the known ones.
    """
    keys, index = _parts(name)
    value = params
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            raise ModelError(
                f"unknown parameter {name!r}; there are: {', '.join(names(params)) or 'none'}."
            )
        value = value[key]
    if isinstance(value, Mapping):
        inside = ", ".join(f"{name}.{k}" for k in value)
        raise ModelError(
            f"parameter {name!r} is a group; name one of its members: {inside or 'it is empty'}."
        )
    value = jnp.asarray(value)
    if index and not (
        len(index) <= value.ndim and all(i < n for i, n in zip(index, value.shape, strict=False))
    ):
        raise ModelError(f"parameter {name!r}: {'.'.join(keys)} has shape {value.shape}.")
    return value[index]


def write(params: PyTree, values: Mapping[str, Array]) -> PyTree:
    """Return the parameters with some of them replaced."""
    for name, value in values.items():
        keys, index = _parts(name)
        params = _replaced(params, keys, index, value)
    return params


def names(params: PyTree) -> list[str]:
    """Return the names of all numbers and arrays of a nested dictionary."""
    if not isinstance(params, Mapping):
        return []
    return [
        n
        for k, v in params.items()
        for n in ([f"{k}.{m}" for m in names(v)] if isinstance(v, Mapping) else [str(k)])
    ]


def _replaced(params, keys, index, value):
    if not keys:
        return jnp.asarray(params).at[index].set(value) if index else value
    return {**params, keys[0]: _replaced(params[keys[0]], keys[1:], index, value)}


def _parts(name: str) -> tuple[list[str], tuple[int, ...]]:
    """Split a name: `a.b[0, 1]` → (["a", "b"], (0, 1))."""
    found = re.fullmatch(r"([^\[\]]+)(?:\[(\d+(?:\s*,\s*\d+)*)\])?", str(name))
    if found is None:
        raise ModelError(
            f"parameter {name!r} is no name; expected one like 'length', 'mass[1]' or "
            "'group.length'."
        )
    return found[1].split("."), tuple(map(int, found[2].split(","))) if found[2] else ()
