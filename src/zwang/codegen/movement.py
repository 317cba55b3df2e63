"""Operations that move numbers without changing them, on arrays of expressions.

The common ones are NumPy's own. Gather, scatter and dynamic slices follow JAX's conventions,
because JAX itself executes them on the indices of the entries.
"""

from __future__ import annotations

import jax
import numpy as np

from zwang.codegen.expression import Graph
from zwang.errors import ModelError


def _objects(x) -> np.ndarray:
    out = np.empty(np.shape(x), object)
    out.ravel()[:] = np.asarray(x).ravel().tolist()
    return out


def _plain(rule):
    """Return a rule that needs only the operation's parameters and arrays."""
    return lambda equation, graph, *given: rule(equation.params, *given)


def _broadcast_in_dim(params, x, *_):
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], np.shape(x), strict=True):
        shape[axis] = size
    return np.broadcast_to(np.reshape(x, shape), params["shape"])


def _concatenate(params, *given):
    if any(x.dtype == object for x in given):
        given = [_objects(x) for x in given]
    return np.concatenate(given, axis=params["dimension"])


def _stack(params, *given):
    if any(x.dtype == object for x in given):
        given = [_objects(x) for x in given]
    return np.stack(given, axis=params.get("axis", params.get("dimension", 0)))


def _unstack(params, x):
    axis = params.get("axis", params.get("dimension", 0))
    return [np.take(x, i, axis=axis) for i in range(x.shape[axis])]


def _slice(params, x):
    strides = params["strides"] or (1,) * x.ndim
    bounds = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return x[tuple(slice(*each) for each in bounds)]


def _split(params, x):
    return np.split(x, np.cumsum(params["sizes"])[:-1], axis=params["axis"])


def _iota(params, *_):
    shape, axis = params["shape"], params["dimension"]
    line = np.arange(shape[axis]).astype(params["dtype"])
    return np.broadcast_to(line.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def _moved(*data: int):
    """Return a rule for an operation that moves the entries of its operands at positions `data`."""

    def rule(equation, graph: Graph, *given):
        if any(x.dtype == object for i, x in enumerate(given) if i not in data):
            raise ModelError(
                "the model's functions use an index that depends on the state "
                f"({equation.primitive.name}), which cannot be written as a formula; write "
                "jnp.where, or a sum over all entries."
            )
        if not any(given[i].dtype == object for i in data):
            return np.asarray(equation.primitive.bind(*given, **equation.params))
        table, numbered = [], list(given)
        for i in data:
            entries = _objects(given[i])
            serial = np.arange(len(table), len(table) + entries.size, dtype=float)
            numbered[i] = serial.reshape(entries.shape)
            table.extend(entries.ravel())
        moved = np.asarray(equation.primitive.bind(*numbered, **equation.params))
        out = np.empty(moved.shape, object)
        out.ravel()[:] = [table[int(k)] if np.isfinite(k) else np.nan for k in moved.ravel()]
        return out

    return rule


def _scatter_add(equation, graph: Graph, x, index, updates):
    """Sum the updates by their target positions."""
    if index.dtype == object:
        raise ModelError("the model's functions add at an index that depends on the state.")
    zeros = np.zeros(x.shape)
    put = lambda u: equation.primitive.bind(zeros, index, u, **equation.params)
    unit = np.eye(updates.size).reshape(-1, *updates.shape)
    goes = np.asarray(jax.vmap(put)(unit)).reshape(updates.size, -1)
    out, entries = _objects(x), _objects(updates).ravel()
    for k, place in np.argwhere(goes != 0):
        at = np.unravel_index(place, x.shape)
        out[at] = graph.apply("add", out[at], entries[k])
    return out


def _pad(params, x, value):
    if any(low < 0 or high < 0 or inner for low, high, inner in params["padding_config"]):
        raise ModelError("the model's functions use a padding that is negative or between entries.")
    widths = [(low, high) for low, high, _ in params["padding_config"]]
    out = np.empty([n + a + b for n, (a, b) in zip(np.shape(x), widths, strict=True)], object)
    out.fill(np.asarray(value).item())
    out[tuple(slice(a, a + n) for n, (a, _) in zip(np.shape(x), widths, strict=True))] = _objects(x)
    return out


MOVEMENT = {
    "broadcast_in_dim": _plain(_broadcast_in_dim),
    "reshape": _plain(lambda params, x, *_: np.reshape(x, params["new_sizes"])),
    "squeeze": _plain(lambda params, x: np.squeeze(x, axis=params["dimensions"])),
    "expand_dims": _plain(lambda params, x: np.expand_dims(x, params["dimensions"])),
    "transpose": _plain(lambda params, x: np.transpose(x, params["permutation"])),
    "rev": _plain(lambda params, x: np.flip(x, params["dimensions"])),
    "tile": _plain(lambda params, x: np.tile(x, params["reps"])),
    "concatenate": _plain(_concatenate),
    "stack": _plain(_stack),
    "unstack": _plain(_unstack),
    "slice": _plain(_slice),
    "split": _plain(_split),
    "iota": _plain(_iota),
    "pad": _plain(_pad),
    "gather": _moved(0),
    "scatter": _moved(0, 2),
    "dynamic_slice": _moved(0),
    "dynamic_update_slice": _moved(0, 1),
    "scatter-add": _scatter_add,
    "scatter_add": _scatter_add,
}
