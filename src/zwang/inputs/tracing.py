"""Validation of a user's functions; every error is one sentence.

Nothing is compiled. A function of the equations is evaluated abstractly: it is traced once with the
shapes of the model and its parameters, as every compiled program will trace it later, so its errors
are reported before a run. Other functions are called with numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr
from jaxtyping import PyTree

from zwang.errors import ModelError
from zwang.inputs.arguments import shown
from zwang.inputs.indices import beyond
from zwang.inputs.suggestions import did_you_mean

ERRORS = jax.errors
FOREIGN = tuple(str(Path(file).parent) for file in (jax.__file__, np.__file__, __file__) if file)
"""Folders whose source lines are not the user's."""

REMEDIES: tuple[tuple[type[Exception], str, str], ...] = (
    (
        ERRORS.TracerBoolConversionError,
        "decides by a value that is unknown until the program runs (if, while, and, max, sorted)",
        "write jnp.where(condition, a, b)",
    ),
    (
        ERRORS.NonConcreteBooleanIndexError,
        "selects entries by a condition, so that their number is unknown until the program runs",
        "write jnp.where(condition, a, b)",
    ),
    (
        ERRORS.TracerArrayConversionError,
        "hands a traced value to NumPy or to another library that cannot be differentiated",
        "write jnp.sin for np.sin, and so on, with import jax.numpy as jnp",
    ),
    (
        ERRORS.TracerIntegerConversionError,
        "uses a traced value as an index of a list or as a count",
        "put the list into an array, jnp.array([...])[i]",
    ),
    (
        ERRORS.ConcretizationTypeError,
        "takes the plain number of a traced value (float, int, .item(), math.sin, range)",
        "keep it as it is, and write jnp.sin for math.sin, and so on",
    ),
    (
        ERRORS.UnexpectedTracerError,
        "keeps a traced value from one call to the next",
        "return it rather than store it in a global, a list or an attribute",
    ),
)


def outcome(function: Callable, what: str, *given: object, moving: int | None = None) -> PyTree:
    """Return shapes and types of a function's result, as `jax.eval_shape` gives them.

    Args:
        function: a user's function, or one that calls it.
        what: how it is called, e.g. "constraint 'rod': phi(q, t, p)"; begins the sentence.
        given: arrays or `jax.ShapeDtypeStruct`, or trees of them; only shape and type are used.
        moving: the argument by which the equations differentiate it, if there is one.

    Raises:
        ModelError: if the function fails, has no derivative where it needs one, or reads or writes
            beyond the end of an array.
    """
    abstract = jax.tree_util.tree_map(_abstract, given)
    try:
        closed, out = jax.make_jaxpr(function, return_shape=True)(*abstract)
        # In a traced function only a callback can lack a derivative.
        if moving is not None and _calls_back(closed.jaxpr):
            jax.make_jaxpr(functools.partial(_slope, function, moving))(*abstract)
    except ModelError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ModelError(f"{what} {explained(error, given)}") from error
    # JAX clamps a constant index beyond the end, so that the model would use another entry.
    if (outside := beyond(closed)) is not None:
        index, length = outside
        raise ModelError(
            f"{what} uses index {index} of an axis with {length} "
            f"{'entry' if length == 1 else 'entries'}, expected 0 to {length - 1}: JAX would take "
            "another entry without a word."
        )
    return out


def _calls_back(jaxpr: Jaxpr) -> bool:
    """Return whether a traced function calls code outside of JAX."""
    for eqn in jaxpr.eqns:
        if "callback" in eqn.primitive.name:
            return True
        for x in eqn.params.values():
            for each in x if isinstance(x, (tuple, list)) else (x,):
                inner = each.jaxpr if isinstance(each, ClosedJaxpr) else each
                if isinstance(inner, Jaxpr) and _calls_back(inner):
                    return True
    return False


def _slope(function: Callable, moving: int, *given):
    of = lambda x: function(*given[:moving], x, *given[moving + 1 :])
    return jax.jvp(of, (given[moving],), (jnp.ones_like(given[moving]),))


def called(function: Callable, what: str, *given: object) -> PyTree:
    """Call a user's function with numbers on the host.

    Args:
        function, what: as in `outcome`.
        given: its arguments.

    Raises:
        ModelError: if the function fails.
    """
    try:
        return function(*given)
    except ModelError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ModelError(f"{what} {_missing(error, given) or f'{raised(error)}.'}") from error


def _abstract(x) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(x), x.dtype if hasattr(x, "dtype") else jnp.float64)


def explained(error: BaseException, given: tuple = ()) -> str:
    """Format an error of a user's function as the rest of a sentence that begins with its name."""
    where = _line(error)
    # The order matters: later errors are base classes of earlier ones.
    for kind, does, remedy in REMEDIES:
        if isinstance(error, kind):
            return f"{does}{where}: {remedy}."
    if isinstance(error, ValueError) and "callbacks do not support JVP" in str(error):
        return (
            f"calls code outside of JAX, which has no derivative{where}: write it with jax.numpy, "
            "or give the call one by jax.custom_jvp."
        )
    if isinstance(error, TypeError) and "immutable" in str(error):
        return f"writes into an array in place{where}: write x = x.at[i].set(value)."
    if isinstance(error, TypeError) and "'NoneType' object is not subscriptable" in str(error):
        return (
            f"asks for a parameter of a model that has none{where}: give zw.Model(..., "
            "params={...}) the numbers by name."
        )
    return _missing(error, given) or f"failed for {_shapes(given)}: {first_line(error)}{where}."


def _missing(error: BaseException, given: tuple) -> str:
    """Format an error about a key that no given dictionary has; empty for other errors."""
    if not isinstance(error, KeyError) or not error.args:
        return ""
    names = dict.fromkeys(str(k) for tree in given if isinstance(tree, Mapping) for k in tree)
    return (
        f"asks for {shown(error.args[0])}, which does not exist{_line(error)}"
        f"{did_you_mean(error.args[0], names) if names else '.'}"
    )


def raised(error: BaseException) -> str:
    """Format an error of a function outside of the equations as the rest of a sentence."""
    return f"raised {first_line(error)}{_line(error)}"


def _shapes(given: tuple) -> str:
    arrays = [x for x in given if hasattr(x, "shape") and len(x.shape) == 1]
    named = [f"{n} of shape {x.shape}" for n, x in zip("qv", arrays, strict=False)]
    return " and ".join(named) or "the model's shapes"


def _line(error: BaseException) -> str:
    """Return the innermost line of the user's code in the traceback, in brackets."""
    found, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        # Only lines outside of libraries can be changed by the user.
        if not file.startswith(FOREIGN) and "site-packages" not in file:
            found = f" (line {step.tb_lineno} of {Path(file).name[:60]})"
        step = step.tb_next
    return found


def first_line(error: BaseException) -> str:
    """Return the first line of an error of foreign code, as part of a sentence."""
    lines = str(error).strip().splitlines()
    text = lines[0].rstrip(".") if lines else "no message"
    return f"{type(error).__name__}: {text[:300]}"


def returned(value: object, what: str, *, integers: bool = False, lists: bool = False) -> Any:
    """Validate the result of a user's function: a real number or a real array.

    Args:
        value: the result; `what`: how the function is called.
        integers: whether integers are accepted, as nothing is differentiated.
        lists: whether a list or tuple of numbers is converted to an array.
    """
    if lists and isinstance(value, (list, tuple)):
        value = jnp.asarray(value)
    if isinstance(value, (list, tuple)):
        raise ModelError(
            f"{what} returns a {type(value).__name__}, expected an array: jnp.stack([...])."
        )
    if value is None:
        raise ModelError(f"{what} returns None, expected numbers: is its return missing?")
    if isinstance(value, (bool, int, float, complex)):
        kind = np.dtype(type(value))
    else:
        kind = getattr(value, "dtype", None)
    if kind is None or isinstance(value, type):
        raise ModelError(f"{what} returns {shown(value)}, expected a number or an array.")
    if jnp.issubdtype(kind, np.floating):
        return value
    # An integer has no derivative, and JAX would return zeros for it.
    if jnp.issubdtype(kind, np.integer):
        if integers:
            return value
        raise ModelError(
            f"{what} returns whole numbers ({kind}), which have no derivative, expected real ones: "
            "write 1.0 for 1."
        )
    if jnp.issubdtype(kind, np.complexfloating):
        raise ModelError(
            f"{what} returns complex numbers, expected real ones: take jnp.real or jnp.abs."
        )
    if jnp.issubdtype(kind, np.bool_):
        raise ModelError(
            f"{what} returns True or False, expected a real number that passes through zero: "
            "q[0] - 1.0, not q[0] > 1.0."
        )
    raise ModelError(f"{what} returns an array of type {kind}, expected real numbers.")
