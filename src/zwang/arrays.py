"""Arrays in and out: float64, shapes checked in one sentence, host copies that cannot decay."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from zwang.errors import ModelError


def require_float64() -> None:
    """Raise unless JAX computes in float64; constraints cannot be kept to 1e-13 in float32."""
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise ModelError(
            "JAX is in float32, but zwang keeps constraints in float64: "
            'call jax.config.update("jax_enable_x64", True) before you use it (the command line '
            "does it for you)."
        )


def vector(value, size: int, what: str, names: tuple[str, ...] = ()) -> jax.Array:
    """`value` as a float64 vector of `size` entries.

    Raises:
        ModelError: if its shape differs or, where the value is known, an entry is not finite.
    """
    require_float64()
    try:
        array = (
            on_device(value)
            if isinstance(value, np.ndarray)
            else jnp.asarray(value, dtype=jnp.float64)
        )
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}: expected {size} numbers, got {value!r} ({error}).") from None
    if array.shape != (size,):
        listed = f" ({', '.join(names)})" if names and len(names) <= 12 else ""
        raise ModelError(f"{what} has shape {array.shape}, expected ({size},){listed}.")
    if is_concrete(array) and not np.all(np.isfinite(array)):
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


def is_concrete(tree) -> bool:
    """Whether every array in `tree` has a value now, i.e. is not being traced."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def as_parameters(params: PyTree) -> PyTree:
    """Numbers and arrays as float64 arrays; anything else is refused."""

    def convert(leaf):
        if isinstance(leaf, bool) or not isinstance(
            leaf, (int, float, np.ndarray, np.generic, jax.Array, list, tuple)
        ):
            raise ModelError(
                f"params holds {leaf!r:.60}, expected numbers or arrays; put anything else into "
                "a closure."
            )
        return jnp.asarray(
            leaf if isinstance(leaf, jax.Array) else np.asarray(leaf, np.float64), jnp.float64
        )

    with (
        jax.ensure_compile_time_eval()
    ):  # a model that is built inside `jit` must not keep numbers of that program
        return jax.tree_util.tree_map(convert, params, is_leaf=_is_list_of_numbers)


def _is_list_of_numbers(x) -> bool:
    """Whether a plain list or tuple holds numbers, nested or not, and so means an array."""
    return (
        type(x) in (list, tuple)
        and bool(x)
        and all(isinstance(e, (int, float, np.generic)) or _is_list_of_numbers(e) for e in x)
    )
