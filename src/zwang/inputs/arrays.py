"""Validation of arrays: float64, checked shapes, copies that callers cannot change."""

from __future__ import annotations

import math
from typing import Literal, TypeVar, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike, PyTree

from zwang.errors import ModelError
from zwang.inputs.arguments import numbers, real_array, refuse, shown
from zwang.inputs.suggestions import did_you_mean

AnyArray = TypeVar("AnyArray", np.ndarray, jax.Array)
"""Arrays that are all of NumPy or all of JAX within one function or object."""


def require_float64() -> None:
    """Raise unless JAX computes in float64; constraints cannot be kept to 1e-13 in float32."""
    if not jax.config.read("jax_enable_x64"):
        raise ModelError(
            "JAX is in float32, but zwang keeps constraints in float64: "
            'call jax.config.update("jax_enable_x64", True) before you use it (the command line '
            "does it for you)."
        )


@overload
def vector(
    value, size: int, what: str, names: tuple[str, ...] = ..., *, on_host: Literal[True]
) -> np.ndarray: ...


@overload
def vector(
    value, size: int, what: str, names: tuple[str, ...] = ..., *, on_host: bool = ...
) -> jax.Array: ...


def vector(
    value, size: int, what: str, names: tuple[str, ...] = (), *, on_host: bool = False
) -> np.ndarray | jax.Array:
    """Convert `value` to a float64 vector of `size` entries.

    Args:
        on_host: whether to return a NumPy array; the value must not be traced.

    Raises:
        ModelError: if it holds anything but real numbers, its shape differs or, unless it is
            traced, an entry is not finite.
    """
    require_float64()
    if on_host and type(value) is np.ndarray and value.dtype.kind == "f" and value.shape == (size,):
        if math.isfinite(sum(value.tolist())):
            return value.astype(np.float64)  # fast path of the usual case
    given = real_array(value, what, f"{size} numbers")
    array = np.asarray(given, np.float64) if on_host else on_device(given)
    if array.shape != (size,):
        listed = f" ({', '.join(names)})" if names and len(names) <= 12 else ""
        raise ModelError(f"{what} has shape {array.shape}, expected ({size},){listed}.")
    if (on_host or is_concrete(array)) and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ModelError(f"{what}[{bad}] is {float(array[bad])}, expected a finite number.")
    return array


def on_device(value) -> jax.Array:
    """Convert numbers to a float64 JAX array.

    Unlike `jnp.asarray` it compiles no program for the shape of known numbers.
    """
    return (
        jnp.asarray(value, jnp.float64)
        if isinstance(value, jax.Array)
        else jax.device_put(np.asarray(value, np.float64))
    )


def host_array(value: ArrayLike, kind: type = np.float64) -> jax.Array:
    """Convert numbers to a NumPy array where a JAX array is declared.

    A program accepts both, and JAX would compile a program to make one.
    """
    return cast(jax.Array, np.asarray(value, kind))


def without_derivative(tree: PyTree) -> PyTree:
    """Return the same numbers as constants of differentiation."""
    constant = lambda x: jax.lax.stop_gradient(x) if isinstance(x, jax.Array) else x
    return jax.tree_util.tree_map(constant, tree)


def select(condition, one: PyTree, other: PyTree) -> PyTree:
    """Select between two trees of arrays by a condition."""
    return jax.tree_util.tree_map(lambda x, y: jnp.where(condition, x, y), one, other)


def is_concrete(tree) -> bool:
    """Return True if every array in `tree` has a value now, i.e. is not being traced."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def as_parameters(params: PyTree) -> PyTree:
    """Convert numbers and arrays to float64 arrays; anything else is refused."""
    with (
        jax.ensure_compile_time_eval()
    ):  # A model that is built inside `jit` must not keep tracers of that program.
        return jax.tree_util.tree_map(
            lambda x: jnp.asarray(x, jnp.float64), judged_parameters(params)
        )


def judged_parameters(params: PyTree) -> PyTree:
    """Validate numbers and arrays as arrays of NumPy or JAX; anything else is refused."""
    try:
        return jax.tree_util.tree_map_with_path(_judged, params, is_leaf=_is_list_of_numbers)
    except ModelError:
        raise
    except ValueError:
        # JAX sorts the names, which fails if they cannot be compared.
        refuse("params", params, "names that are texts")


def _judged(path: tuple, leaf: object) -> PyTree:
    """Validate one parameter: a number or an array of numbers without NaN."""
    what = f"params{_place(path)}"
    kinds = (int, float, complex, np.ndarray, np.generic, jax.Array, list, tuple)
    if isinstance(leaf, bool) or not isinstance(leaf, kinds):
        raise ModelError(
            f"{what} holds {shown(leaf)}, expected numbers or arrays; put anything else into a "
            "closure."
        )
    if isinstance(leaf, (np.ndarray, np.generic, jax.Array)) and leaf.dtype == bool:
        return leaf  # a mask, which needs no conversion
    return numbers(leaf, what)


def _place(path: tuple) -> str:
    return jax.tree_util.keystr(path)[:200]


def merged_parameters(own: PyTree, given: PyTree, model: str) -> PyTree:
    """Replace some of a model's parameters by given ones of equal names, nesting and shapes.

    Args:
        own: the model's parameters; `given`: those that differ, as a dictionary if the model's are
            one, else all of them. The same holds for nested dictionaries; omitted entries stay.
        model: name of the model.
    """
    if given is None or (own is None and isinstance(given, dict) and not given):
        return own
    if isinstance(own, dict) and isinstance(given, dict):
        return _merged(own, as_parameters(given), (), model)
    if own is None or isinstance(own, dict):
        has = "has no parameters" if own is None else "has parameters by name"
        raise ModelError(
            f"params is {shown(given)}, but {model} {has}, expected "
            f"{'None' if own is None else 'a dictionary of those that differ'}."
        )
    converted = as_parameters(given)
    _refuse_other_shape(own, converted, "", model)
    return converted


def _merged(own: PyTree, given: PyTree, group: tuple, model: str) -> PyTree:
    """Replace some parameters of a group by given ones."""
    if isinstance(own, dict) and isinstance(given, dict):
        refuse_unknown(own, given, model, group)
        return {**own, **{k: _merged(own[k], x, (*group, k), model) for k, x in given.items()}}
    _refuse_other_shape(own, given, repr(".".join(map(str, group))), model)
    return given


def refuse_unknown(own: PyTree, given: dict, model: str, group: tuple = ()) -> None:
    """Raise if a name in `given` is not a parameter of the model, or of a group of parameters."""
    for name in given:
        if name not in own:
            whole = ".".join(map(str, (*group, name))) if group else name
            raise ModelError(
                f"unknown parameter {shown(whole)} of {model}{did_you_mean(name, map(str, own))}"
            )


def _refuse_other_shape(own: PyTree, value: PyTree, name: str, model: str) -> None:
    """Raise unless a parameter is nested like the model's own, with arrays of the same shapes."""
    at = f"parameter {name}".strip()
    mine, mine_tree = jax.tree_util.tree_flatten_with_path(own)
    leaves, tree = jax.tree_util.tree_flatten(value)
    if tree != mine_tree:
        inside = ", ".join(sorted(_place(path) for path, _ in mine)[:12])
        raise ModelError(
            f"{at} has a different nesting than in {model}, expected "
            f"{'the entries ' + inside if inside and mine[0][0] else 'a number or an array'}."
        )
    for (path, expected), leaf in zip(mine, leaves, strict=True):
        if jnp.shape(leaf) != jnp.shape(expected):
            raise ModelError(
                f"{at}{_place(path)} has shape {jnp.shape(leaf)}, expected "
                f"{jnp.shape(expected)} as in {model}."
            )


def _is_list_of_numbers(x) -> bool:
    """Return whether a list or tuple holds numbers, nested or not, and so means an array."""
    return (
        type(x) in (list, tuple)
        and bool(x)
        and all(
            isinstance(e, (int, float, complex, np.generic)) or _is_list_of_numbers(e) for e in x
        )
    )
