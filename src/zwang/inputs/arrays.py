"""Arrays in and out: float64, shapes checked in one sentence, host copies that cannot decay."""

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
"""Arrays of NumPy, or of JAX: all of one function or of one object."""


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
    """`value` as a float64 vector of `size` entries.

    Args:
        on_host: whether it is wanted as an array of NumPy; it is not traced.

    Raises:
        ModelError: if it holds anything but real numbers, its shape differs or, where the value is
            known, an entry is not finite.
    """
    require_float64()
    if on_host and type(value) is np.ndarray and value.dtype.kind == "f" and value.shape == (size,):
        if math.isfinite(sum(value.tolist())):
            return value.astype(np.float64)  # the usual case, without words
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
    """Numbers as a float64 array of JAX; where they are known no program is compiled for their
    shape, as `jnp.asarray` does.
    """
    return (
        jnp.asarray(value, jnp.float64)
        if isinstance(value, jax.Array)
        else jax.device_put(np.asarray(value, np.float64))
    )


def host_array(value: ArrayLike, kind: type = np.float64) -> jax.Array:
    """Numbers as an array of NumPy where an array of JAX is declared: a program takes it alike,
    and JAX would compile a program of its own to make one.
    """
    return cast(jax.Array, np.asarray(value, kind))


def without_derivative(tree: PyTree) -> PyTree:
    """The same numbers, which a derivative takes as constants."""
    constant = lambda x: jax.lax.stop_gradient(x) if isinstance(x, jax.Array) else x
    return jax.tree_util.tree_map(constant, tree)


def select(condition, one: PyTree, other: PyTree) -> PyTree:
    """Of two trees of arrays the one where a condition holds, the other elsewhere."""
    return jax.tree_util.tree_map(lambda x, y: jnp.where(condition, x, y), one, other)


def is_concrete(tree) -> bool:
    """Whether every array in `tree` has a value now, i.e. is not being traced."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def as_parameters(params: PyTree) -> PyTree:
    """Numbers and arrays as float64 arrays; anything else is refused."""
    with (
        jax.ensure_compile_time_eval()
    ):  # a model that is built inside `jit` must not keep numbers of that program
        return jax.tree_util.tree_map(
            lambda x: jnp.asarray(x, jnp.float64), judged_parameters(params)
        )


def judged_parameters(params: PyTree) -> PyTree:
    """Numbers and arrays as arrays of NumPy or JAX; anything else is refused."""
    try:
        return jax.tree_util.tree_map_with_path(_judged, params, is_leaf=_is_list_of_numbers)
    except ModelError:
        raise
    except ValueError:
        # JAX sorts the names, which fails where they cannot be compared
        refuse("params", params, "names that are texts")


def _judged(path: tuple, leaf: object) -> PyTree:
    """One parameter: a number or an array of numbers without NaN; anything else is refused."""
    what = f"params{_place(path)}"
    kinds = (int, float, complex, np.ndarray, np.generic, jax.Array, list, tuple)
    if isinstance(leaf, bool) or not isinstance(leaf, kinds):
        raise ModelError(
            f"{what} holds {shown(leaf)}, expected numbers or arrays; put anything else into a "
            "closure."
        )
    if isinstance(leaf, (np.ndarray, np.generic, jax.Array)) and leaf.dtype == bool:
        return leaf  # a mask, of which nothing is lost
    return numbers(leaf, what)


def _place(path: tuple) -> str:
    return jax.tree_util.keystr(path)[:200]


def merged_parameters(own: PyTree, given: PyTree, model: str) -> PyTree:
    """A model's parameters with given ones in place: the same names, nested in the same way, of the
    same shapes.

    Args:
        own: the model's parameters; `given`: those that differ, as a dictionary if the model's are
            one, else all of them. So are dictionaries inside: what they leave out stays.
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
    """Parameters of a group with given ones in place."""
    if isinstance(own, dict) and isinstance(given, dict):
        refuse_unknown(own, given, model, group)
        return {**own, **{k: _merged(own[k], x, (*group, k), model) for k, x in given.items()}}
    _refuse_other_shape(own, given, repr(".".join(map(str, group))), model)
    return given


def refuse_unknown(own: PyTree, given: dict, model: str, group: tuple = ()) -> None:
    """Raise if a name in `given` is no parameter of the model, or of a group of them."""
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
            f"{at} is nested in another way than that of {model}, expected "
            f"{'the entries ' + inside if inside and mine[0][0] else 'a number or an array'}."
        )
    for (path, expected), leaf in zip(mine, leaves, strict=True):
        if jnp.shape(leaf) != jnp.shape(expected):
            raise ModelError(
                f"{at}{_place(path)} has shape {jnp.shape(leaf)}, expected "
                f"{jnp.shape(expected)} as in {model}."
            )


def _is_list_of_numbers(x) -> bool:
    """Whether a plain list or tuple holds numbers, nested or not, and so means an array."""
    return (
        type(x) in (list, tuple)
        and bool(x)
        and all(
            isinstance(e, (int, float, complex, np.generic)) or _is_list_of_numbers(e) for e in x
        )
    )
