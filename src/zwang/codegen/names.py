"""Names of a model's numbers in other languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jax
import numpy as np


def parameters(params) -> tuple[tuple[str, float], ...]:
    """Name and value of each number among a model's parameters, in order."""
    leaves = jax.tree_util.tree_leaves(params)
    values = [float(x) for leaf in leaves for x in np.asarray(leaf).ravel()]
    return tuple(zip(parameter_names(params), values, strict=True))


def with_parameters(params, p):
    """A model's tree of parameters with its numbers, in order, from an array."""
    leaves, tree = jax.tree_util.tree_flatten(params)
    shapes = [np.shape(x) for x in leaves]
    ends = np.cumsum([0, *(int(np.prod(s)) for s in shapes)]).tolist()
    parts = [p[i:j].reshape(s) for i, j, s in zip(ends, ends[1:], shapes, strict=False)]
    return jax.tree_util.tree_unflatten(tree, parts)


def parameter_names(params) -> list[str]:
    """A name for each number among a model's parameters, an identifier in any language: `mass`,
    `link_length`, `inertia_2` for the second entry of an array.
    """
    names = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        parts = [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path]
        whole = identifier("_".join(parts) or "parameter")
        for index in np.ndindex(np.shape(leaf)):
            names.append("_".join([whole, *(str(i + 1) for i in index)]))
    return unique(names)


def identifier(name: str) -> str:
    """A name as an identifier of every target language."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    return plain if plain[0].isalpha() else f"x_{plain}"


def unique(names: Sequence[str]) -> list[str]:
    """Names, those that repeat numbered."""
    out: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted in out:
            number += 1
            wanted = f"{name}_{number}"
        out.append(wanted)
    return out
