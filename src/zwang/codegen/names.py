"""Names of a model's numbers in other languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

if TYPE_CHECKING:
    from zwang.dynamics.model import Model


def parameters(model: Model) -> tuple[tuple[str, float], ...]:
    """Return name and value of each number among a model's parameters, in order, without those that
    are fixed once the model is created (`AbstractParameterLayout.fixed`).
    """
    numbers = [(float(x), is_free) for leaf, is_free in _leaves(model) for x in np.ravel(leaf)]
    named = zip(parameter_names(model.params), numbers, strict=True)
    return tuple((name, x) for name, (x, is_free) in named if is_free)


def shapes(model: Model) -> list[tuple[int, ...]]:
    """Return for each number of `parameters` the shape of the array to which it belongs."""
    arrays = (np.shape(x) for x, is_free in _leaves(model) if is_free)
    return [shape for shape in arrays for _ in range(int(np.prod(shape)))]


def with_parameters(model: Model, p):
    """Return a model's tree of parameters with the numbers of `parameters`, in order, from an
    array.
    """
    parts, end = [], 0
    for own, is_free in _leaves(model):
        begin, end = end, end + int(np.size(own)) * is_free
        parts.append(p[begin:end].reshape(np.shape(own)) if is_free else own)
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(model.params), parts)


def _leaves(model: Model) -> list[tuple[np.ndarray, bool]]:
    """Return each array of the parameters, and whether it may change."""
    fixed = frozenset() if model.layout is None else model.layout.fixed
    keys = lambda path: tuple(getattr(k, "key", None) for k in path)
    found = jax.tree_util.tree_leaves_with_path(model.params)
    return [(leaf, keys(path) not in fixed) for path, leaf in found]


def parameter_names(params) -> list[str]:
    """Return a name for each number among a model's parameters, an identifier in any language:
    `mass`, `link_length`, `inertia_2` for the second entry of an array.
    """
    names = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        parts = [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path]
        whole = identifier("_".join(parts) or "parameter")
        for index in np.ndindex(np.shape(leaf)):
            names.append("_".join([whole, *(str(i + 1) for i in index)]))
    return unique(names)


def identifier(name: str) -> str:
    """Return a name as an identifier of every target language."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    return plain if plain[0].isalpha() else f"x_{plain}"


def unique(names: Sequence[str]) -> list[str]:
    """Return the names, with numbers appended to repeated ones."""
    out: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted in out:
            number += 1
            wanted = f"{name}_{number}"
        out.append(wanted)
    return out
