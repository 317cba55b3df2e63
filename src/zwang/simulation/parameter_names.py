"""Parameters by name in a nested dictionary: `length`, `mass[1]`, `springs.slide.damping`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from zwang.errors import ModelError


def read(params: PyTree, name: str) -> Array:
    """The number or array of that name.

    Raises:
        ModelError: if there is none, with those that there are.
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
    """The parameters with some of them replaced."""
    for name, value in values.items():
        keys, index = _parts(name)
        params = _replaced(params, keys, index, value)
    return params


def names(params: PyTree) -> list[str]:
    """Names of all numbers and arrays of a nested dictionary."""
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
    """`a.b[0, 1]` as (["a", "b"], (0, 1))."""
    found = re.fullmatch(r"([^\[\]]+)(?:\[(\d+(?:\s*,\s*\d+)*)\])?", str(name))
    if found is None:
        raise ModelError(
            f"parameter {name!r} is no name; expected one like 'length', 'mass[1]' or "
            "'group.length'."
        )
    return found[1].split("."), tuple(map(int, found[2].split(","))) if found[2] else ()
