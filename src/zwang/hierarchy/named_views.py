"""q, v and p by name, for functions that join modules: `q["leg a.crank.angle"]`, `p["leg
a.crank.mass"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from zwang.errors import ModelError
from zwang.hierarchy.stacked_parameters import stacked
from zwang.inputs.suggestions import did_you_mean


class Named:
    """Vector whose parts are accessed by name.

    `x["leg a.crank"]` is the part of a module, shape (n,); `x["leg a.crank.angle"]` is one entry, a
    scalar. A list of names returns the parts stacked along a leading axis, so that one expression
    joins equal modules. Integers and slices index the vector, and JAX functions accept the object
    as the vector itself.

    Args:
        vector: all of q or v.
        index: name → slice or integer.
        what: "coordinates" or "velocities", for messages.
    """

    def __init__(self, vector, index: Mapping[str, slice | int], what: str):
        self._vector, self._index, self._what = vector, index, what

    def __jax_array__(self):
        return self._vector

    @property
    def shape(self) -> tuple[int, ...]:
        return self._vector.shape

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._vector[..., _found(key, self._index, self._what)]
        if isinstance(key, (list, tuple)) and key and all(isinstance(name, str) for name in key):
            return self._vector[
                ..., np.array([_entries(_found(name, self._index, self._what)) for name in key])
            ]
        return self._vector[key]

    def row(self, entries: Mapping[str, Any]):
        """Return a vector of this length with some parts given by name and zeros elsewhere: a row
        of A, or a force.
        """
        vector = jnp.zeros(self._vector.shape)
        for name, value in entries.items():
            vector = vector.at[_found(name, self._index, self._what)].add(value)
        return vector


class NamedParameters(Mapping):
    """Parameters whose names contain dots.

    `p["leg a.crank.mass"]` is one parameter; `p["leg a.crank"]` are those of a module, by their
    names within the module; a list of modules returns them stacked.
    """

    def __init__(self, params: Mapping[str, Any]):
        self._params = params

    def __iter__(self):
        return iter(self._params)

    def __len__(self):
        return len(self._params)

    def __getitem__(self, key):
        if isinstance(key, (list, tuple)):
            return {
                name: stacked(self._params, [f"{path}.{name}" for path in key])
                for name in self[key[0]]
            }
        if key in self._params:
            return self._params[key]
        if key not in self._below:
            _found(key, self._params, "parameters")
        return NamedParameters({own: self._params[name] for own, name in self._below[key].items()})

    @cached_property
    def _below(self) -> dict[str, dict[str, str]]:
        """Full names of the parameters below each path, by their names without the path."""
        paths: dict[str, dict[str, str]] = {}
        for name in self._params:
            for i in (i for i, letter in enumerate(name) if letter == "."):
                paths.setdefault(name[:i], {})[name[i + 1 :]] = name
        return paths


def _entries(at: slice | int) -> np.ndarray | int:
    return np.arange(at.start, at.stop) if isinstance(at, slice) else at


def _found(name: str, index: Mapping[str, Any], what: str):
    if name in index:
        return index[name]
    raise ModelError(
        f"no module or entry of the {what} is named {name!r}{did_you_mean(name, index)}"
    )
