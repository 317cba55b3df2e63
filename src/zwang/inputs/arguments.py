"""Validation of arguments by kind.

Every function takes a value and the name of the argument. It returns the value in the form that the
library uses, or raises a `ModelError` with the value, the expected value, and how to write it. All
of them run once per call on the host and compile nothing; for traced numbers only the shape is
checked.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers as numeric
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NoReturn, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from zwang.errors import ModelError
from zwang.inputs.call import refuse_call, written
from zwang.inputs.suggestions import did_you_mean
from zwang.inputs.text import checked_name

LARGEST_COUNT = 1_000_000_000
"""Largest count if an argument has no limit of its own."""
LONGEST_LABEL = 1000
"""Longest name [characters]; names in a hierarchy are joined from those of its modules."""

T = TypeVar("T")
P = ParamSpec("P")


def shown(value: object, most: int = 60) -> str:
    """Format a value for a sentence: short, and without control codes."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (jax.Array, np.ndarray)) and value.size > 8:
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) > 8:
        return f"a {type(value).__name__} of {len(value)} entries"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    try:
        # `repr` of a long string would be built as a whole before it is cut.
        text = repr(value[: most + 1] if isinstance(value, (str, bytes)) else value)
    except Exception:
        text = f"an object of type {type(value).__name__}"
    text = "".join(x if x.isprintable() else "?" for x in " ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def refuse(name: str, value: object, expected: str) -> NoReturn:
    """Raise the error of an invalid argument."""
    raise ModelError(f"{name} is {shown(value)}, expected {expected}.")


def number(
    value: object,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float = np.inf,
    infinite: bool = False,
    unit: str = "",
) -> Any:
    """Validate a real number and return it as a float; a traced number is returned unchanged.

    Args:
        value: the argument; `name`: its name in the caller.
        above, least, most: limits, the first of which is excluded.
        infinite: whether infinity is valid.
        unit: shown in the sentence, e.g. "s".
    """
    if type(value) is float and np.isfinite(value) and value <= most:
        if (above is None or value > above) and (least is None or value >= least):
            return value  # fast path of the usual case
    expected = _range(above, least, most, infinite, unit)
    if isinstance(value, Tracer):
        if value.shape != () or not _is_real(value.dtype):
            raise ModelError(
                f"{name} is traced with shape {value.shape} and type {value.dtype}, "
                f"expected {expected}."
            )
        return value
    x = _as_float(value)
    if x is None:
        refuse(name, value, expected)
    inside = (above is None or x > above) and (least is None or x >= least) and x <= most
    if not inside or not (np.isfinite(x) or infinite):
        refuse(name, x, expected)
    return x


def _as_float(value: object) -> float | None:
    """Convert a real number to a float; None for anything else."""
    if type(value) is float:
        return value
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return float(value) if value.shape == () and _is_real(value.dtype) else None
    if isinstance(value, bool) or not isinstance(value, numeric.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _is_real(dtype) -> bool:
    return jnp.issubdtype(dtype, np.integer) or jnp.issubdtype(dtype, np.floating)


def _range(above, least, most, infinite: bool, unit: str) -> str:
    sizes = []
    if above is not None and above != 0:
        sizes.append(f"above {above:g}")
    if least is not None:
        sizes.append(f"at least {least:g}")
    if most < np.inf:
        sizes.append(f"at most {most:g}")
    kind = "positive number" if above == 0 else "number" if infinite else "finite number"
    of = f" [{unit}]" if unit else ""
    return f"a {kind}{of}{', ' if sizes else ''}{' and '.join(sizes)}"


def count(value, name: str, *, least: int = 0, most: int = LARGEST_COUNT) -> int:
    """Validate an integer within limits; 2.0 and True are not integers."""
    expected = f"a whole number of at least {least}"
    if isinstance(value, Tracer):
        refuse(name, value, f"{expected} that is known before compilation")
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if isinstance(value, (np.ndarray, jax.Array)) and value.shape == ():
        whole = bool(jnp.issubdtype(value.dtype, np.integer))
    if not whole or int(value) < least:
        refuse(name, value, expected)
    if int(value) > most:
        refuse(name, value, f"{expected} and at most {most}")
    return int(value)


def flag(value: object, name: str) -> bool:
    """Validate a truth value."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, value, "True or False")
    return bool(value)


def instance(value, kind: type[T] | tuple[type, ...], name: str, example: str) -> T:
    """Validate an object of a class; `example` shows how to write one.

    A class given instead of its instance is named in the error.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, type) and issubclass(value, kind):
        raise ModelError(
            f"{name} is the class {value.__name__}, expected an object of it: "
            f"{written(value.__name__)}(...)."
        )
    refuse(name, value, example)


def optional(value: object, kind: type[T], name: str, example: str) -> T | None:
    """Validate None or an object of a class."""
    return None if value is None else instance(value, kind, name, example)


def strategy(value: object, kind: type | tuple[type, ...], name: str, example: str) -> None:
    """Validate None or an object of a class whose numeric fields are real and not NaN."""
    if value is None:
        return
    instance(value, kind, name, example)
    _refuse_kinds(value, name)
    for leaf in jax.tree_util.tree_leaves(value):
        if isinstance(leaf, (bool, int, Tracer)) or callable(leaf):
            continue
        if type(leaf) is float and leaf == leaf:
            continue
        numbers(leaf, f"a number of {name}")


def _refuse_kinds(value: object, name: str) -> None:
    """Raise for a field whose value is not of the numeric kind that its class declares.

    JAX would not count None among the numbers of a record, and would compile 2.5 sweeps. Negative
    thresholds, rates and tolerances would silently give a wrong rank or a growing error. The least
    value of an integer is 0, or stated in the `metadata` of its field, as is the kind of a part.
    """
    if not dataclasses.is_dataclass(value):
        return
    for field in dataclasses.fields(value):
        given, said = getattr(value, field.name), f"{name}: {field.name}"
        if "kind" in field.metadata:
            optional(given, field.metadata["kind"], said, field.metadata["example"])
        if dataclasses.is_dataclass(given):
            _refuse_kinds(given, name)
        elif field.type == "int":
            count(given, said, least=field.metadata.get("least", 0))
        elif field.type == "bool":
            flag(given, said)
        elif isinstance(field.type, str) and field.type.split(" | ")[-1] == "float":
            _refuse_negative(given, said, "..." in field.type)


def _refuse_negative(value, name: str, each_row: bool) -> None:
    """Raise unless a value is a number of at least 0, or an array of them if `each_row`."""
    if not each_row or not np.ndim(value):
        number(value, name, least=0, infinite=True)
        return
    numbers = real_array(value, name)
    if not isinstance(numbers, Tracer) and np.any(np.asarray(numbers) < 0):
        refuse(name, value, "numbers of at least 0")


def function(value: object, name: str, signature: str) -> Callable:
    """Validate a user's function; `signature` is how it will be called, as "(q, t, p)"."""
    if not callable(value) or isinstance(value, type):
        refuse(name, value, f"a function {signature}")
    # Built-ins and objects may accept calls that their signature does not show.
    if inspect.isfunction(value) and not value.__code__.co_flags & inspect.CO_VARARGS:
        places = signature[1 : signature.index(")")].split(",")
        takes = inspect.signature(value)
        try:
            takes.bind(*places)
        except TypeError:
            raise ModelError(f"{name} takes {takes}, expected a function {signature}.") from None
    return value


def optional_function(value: object, name: str, signature: str) -> Callable | None:
    """Validate None or a user's function."""
    return None if value is None else function(value, name, signature)


def items(
    value: object, kind: type[T] | tuple[type, ...], name: str, example: str
) -> tuple[T, ...]:
    """Convert an iterable of objects of a class to a tuple, read once.

    A single object, a string and a dictionary are refused, even if they are iterable.
    """
    alone = isinstance(value, kind) or (isinstance(value, type) and issubclass(value, kind))
    if alone and type(value) not in (list, tuple):
        raise ModelError(
            f"{name} is one {_class_name(value)}, expected a list: {name.split()[-1]}=[...]."
        )
    found = listed(value, name, f"a list of {example}")
    for entry in found:
        if isinstance(entry, kind):
            continue
        if isinstance(entry, type) and issubclass(entry, kind):
            instance(entry, kind, f"an entry of {name}", example)
        raise ModelError(f"{name} holds {shown(entry)}, expected {example}.")
    return found


def listed(value, name: str, expected: str) -> tuple:
    """Convert an iterable to a tuple, read once.

    A string, a dictionary, and a set, which has no order, are refused.
    """
    if type(value) in (list, tuple):
        return tuple(value)
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
        refuse(name, value, expected)
    return tuple(value)


def _class_name(value: object) -> str:
    return (value if isinstance(value, type) else type(value)).__name__


def label(value: object, name: str) -> str:
    """Validate a name by `zwang.inputs.text.checked_name`."""
    if not isinstance(value, str):
        refuse(name, value, "a text")
    # A NumPy string counts as an array when a model is partitioned, and JAX has no string arrays.
    return checked_name(str(value), name, LONGEST_LABEL)


def labels(value: object, name: str) -> tuple[str, ...]:
    """Validate a list of names."""
    found = listed(value, name, "a list of names")
    return tuple(label(x, f"an entry of {name}") for x in found)


def text(value: object, name: str) -> str:
    """Validate a string, which may be empty, such as a unit."""
    return value if isinstance(value, str) and not value else label(value, name)


def texts(value: object, name: str) -> tuple[str, ...]:
    """Validate a list of strings, each of which may be empty."""
    found = listed(value, name, "a list of texts")
    return tuple(text(x, f"an entry of {name}") for x in found)


def mapping(value: object, name: str, example: str) -> dict:
    """Validate a dictionary with names as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        refuse(name, value, f"a dictionary by name: {example}")
    return dict(value)


def named(value: object, kind: type[T] | tuple[type, ...], name: str, example: str) -> dict[str, T]:
    """Validate a dictionary from names to objects of a class; `example` shows how to write one."""
    found = mapping(value, name, f"{{'name': {example}}}")
    for key, entry in found.items():
        instance(entry, kind, f"{name}[{key!r}]", example)
    return found


def choice(value: T, name: str, options: Iterable) -> T:
    """Validate a word out of some options."""
    options = tuple(options)
    if not any(value is x or (isinstance(value, str) and value == x) for x in options):
        refuse(name, value, " or ".join(map(repr, options)))
    return value


def known(value: object, options: Iterable[str], what: str) -> str:
    """Validate an existing name; `what` begins the error, e.g. "pendulum has no parameter"."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        raise ModelError(f"{what} {shown(value)}{did_you_mean(value, options)}")
    return value


def real_array(value: object, name: str, expected: str = "numbers") -> Any:
    """Convert real numbers to a float64 NumPy array, or return the JAX array that they are.

    Complex numbers are refused rather than stripped of their imaginary part, strings rather than
    parsed, and True rather than counted as 1.
    """
    if isinstance(value, jax.Array):
        if not _is_real(value.dtype):
            _refuse_type(name, value, value.dtype, expected)
        return value
    if np.ma.is_masked(value):
        raise ModelError(f"{name} has masked entries, expected {expected}: fill or drop them.")
    try:
        array = np.asarray(value)
    except jax.errors.TracerArrayConversionError:
        return real_array(jnp.asarray(value), name, expected)  # a list with traced entries
    except Exception:
        refuse(name, value, expected)
    if array.size and array.dtype.kind not in "iuf":
        _refuse_type(name, value, array.dtype, expected)
    return array.astype(np.float64)


def numbers(value: object, name: str) -> Any:
    """Convert real numbers by `real_array` and refuse NaN, except in traced numbers."""
    array = real_array(value, name)
    if not isinstance(array, Tracer) and np.any(bad := np.isnan(array)):
        where = np.argwhere(bad)[0].tolist()
        raise ModelError(f"{name}{where or ''} is NaN, expected numbers.")
    return array


def _refuse_type(name: str, value: object, dtype, expected: str) -> NoReturn:
    if jnp.issubdtype(dtype, np.complexfloating):
        raise ModelError(
            f"{name} is complex, expected real {expected}: give jnp.real of it, or its size."
        )
    refuse(name, value, expected)


def host_only(remedy: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that runs on the host.

    Called inside `jit`, `vmap` or `grad` it raises one sentence, which ends with `remedy`. A call
    whose arguments do not match the signature raises one sentence as well.
    """

    def decorate(run: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(run)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return run(*args, **kwargs)
            except (
                jax.errors.ConcretizationTypeError,
                jax.errors.TracerArrayConversionError,
                jax.errors.TracerIntegerConversionError,
                jax.errors.UnexpectedTracerError,
            ) as error:
                raise ModelError(
                    f"{written(run.__name__)} runs on the host and cannot be part of jit, vmap or "
                    f"grad: {remedy}."
                ) from error
            except TypeError:
                refuse_call(run, args, kwargs)
                raise

        return called

    return decorate
