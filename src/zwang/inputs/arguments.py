"""The one place where arguments are checked by kind.

Every function takes a value and the name of the argument, and returns the value as the library uses
it or raises a `ModelError`: what was given, what is expected, how to write it. All of them run once
per call on the host and compile nothing; numbers that are being traced pass with their shape
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
"""Largest count that is accepted where an argument states no limit of its own."""
LONGEST_LABEL = 1000
"""Characters that a name may have; those of a hierarchy are joined from those of its modules."""

T = TypeVar("T")
P = ParamSpec("P")


def shown(value: object, most: int = 60) -> str:
    """A value as a few words of a sentence: never long, never with control codes."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (jax.Array, np.ndarray)) and value.size > 8:
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) > 8:
        return f"a {type(value).__name__} of {len(value)} entries"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    try:
        # the repr of a long text would be built as a whole before it is cut
        text = repr(value[: most + 1] if isinstance(value, (str, bytes)) else value)
    except Exception:
        text = f"an object of type {type(value).__name__}"
    text = "".join(x if x.isprintable() else "?" for x in " ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def refuse(name: str, value: object, expected: str) -> NoReturn:
    """Raise the sentence of an argument that is not what it should be."""
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
    """A real number within limits, as a float; one that is traced as it is.

    Args:
        value: the argument; `name`: what the caller calls it.
        above, least, most: limits, the first of which is excluded.
        infinite: whether infinity is a value that makes sense.
        unit: shown in the sentence, e.g. "s".
    """
    if type(value) is float and np.isfinite(value) and value <= most:
        if (above is None or value > above) and (least is None or value >= least):
            return value  # the usual case, without words
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
    """A real number as a float; None for anything else."""
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
    """A whole number within limits; 2.0 and True are none."""
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
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        refuse(name, value, "True or False")
    return bool(value)


def instance(value, kind: type[T] | tuple[type, ...], name: str, example: str) -> T:
    """An object of a kind; `example` says how one is written. A class in its place is named."""
    if isinstance(value, kind):
        return value
    if isinstance(value, type) and issubclass(value, kind):
        raise ModelError(
            f"{name} is the class {value.__name__}, expected an object of it: "
            f"{written(value.__name__)}(...)."
        )
    refuse(name, value, example)


def optional(value: object, kind: type[T], name: str, example: str) -> T | None:
    """None, or an object of a kind."""
    return None if value is None else instance(value, kind, name, example)


def strategy(value: object, kind: type | tuple[type, ...], name: str, example: str) -> None:
    """Raise unless a value is None or an object of a kind whose numbers are real and no NaN."""
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
    """Raise for a field that is no number, whole number or truth value where its class says so;
    JAX would not count None among its numbers, and would compile 2.5 sweeps. Thresholds, rates and
    tolerances below zero would make a rank, or an error that grows, without a word. The least value
    of a whole number is 0, or what its field states in `metadata`.
    """
    if not dataclasses.is_dataclass(value):
        return
    for field in dataclasses.fields(value):
        given, said = getattr(value, field.name), f"{name}: {field.name}"
        if dataclasses.is_dataclass(given):
            _refuse_kinds(given, name)
        elif field.type == "int":
            count(given, said, least=field.metadata.get("least", 0))
        elif field.type == "bool":
            flag(given, said)
        elif isinstance(field.type, str) and field.type.split(" | ")[-1] == "float":
            _refuse_negative(given, said, "..." in field.type)


def _refuse_negative(value, name: str, each_row: bool) -> None:
    """Raise unless a value is a number of at least 0, or several where there may be one for each
    row.
    """
    if not each_row or not np.ndim(value):
        number(value, name, least=0, infinite=True)
        return
    numbers = real_array(value, name)
    if not isinstance(numbers, Tracer) and np.any(np.asarray(numbers) < 0):
        refuse(name, value, "numbers of at least 0")


def function(value: object, name: str, signature: str) -> Callable:
    """A function of a user's; `signature` is how it will be called, as "(q, t, p)"."""
    if not callable(value) or isinstance(value, type):
        refuse(name, value, f"a function {signature}")
    # built-ins and objects may accept what their signature does not say
    if inspect.isfunction(value) and not value.__code__.co_flags & inspect.CO_VARARGS:
        places = signature[1 : signature.index(")")].split(",")
        takes = inspect.signature(value)
        try:
            takes.bind(*places)
        except TypeError:
            raise ModelError(f"{name} takes {takes}, expected a function {signature}.") from None
    return value


def optional_function(value: object, name: str, signature: str) -> Callable | None:
    """None, or a function of a user's."""
    return None if value is None else function(value, name, signature)


def items(
    value: object, kind: type[T] | tuple[type, ...], name: str, example: str
) -> tuple[T, ...]:
    """Any iterable of objects of a kind, read once: a list, a tuple, a generator.

    One object that stands alone, a text and a dictionary are refused, also where they could be
    iterated over.
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
    """Any iterable as a tuple, read once, except a text, a dictionary, and a set, which has no
    order.
    """
    if type(value) in (list, tuple):
        return tuple(value)
    if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Iterable):
        refuse(name, value, expected)
    return tuple(value)


def _class_name(value: object) -> str:
    return (value if isinstance(value, type) else type(value)).__name__


def label(value: object, name: str) -> str:
    """A name, as `zwang.inputs.text.checked_name` takes them."""
    if not isinstance(value, str):
        refuse(name, value, "a text")
    # one of NumPy's strings counts as an array where a model is split, and JAX takes no texts
    return checked_name(str(value), name, LONGEST_LABEL)


def labels(value: object, name: str) -> tuple[str, ...]:
    """A list of names."""
    found = listed(value, name, "a list of names")
    return tuple(label(x, f"an entry of {name}") for x in found)


def text(value: object, name: str) -> str:
    """A text, which may be empty, such as a unit."""
    return value if isinstance(value, str) and not value else label(value, name)


def texts(value: object, name: str) -> tuple[str, ...]:
    """A list of texts, each of which may be empty."""
    found = listed(value, name, "a list of texts")
    return tuple(text(x, f"an entry of {name}") for x in found)


def mapping(value: object, name: str, example: str) -> dict:
    """A dictionary with names as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        refuse(name, value, f"a dictionary by name: {example}")
    return dict(value)


def named(value: object, kind: type[T] | tuple[type, ...], name: str, example: str) -> dict[str, T]:
    """A dictionary by name of objects of a kind; `example` says how one of them is written."""
    found = mapping(value, name, f"{{'name': {example}}}")
    for key, entry in found.items():
        instance(entry, kind, f"{name}[{key!r}]", example)
    return found


def choice(value: T, name: str, options: Iterable) -> T:
    """One of a few words."""
    options = tuple(options)
    if not any(value is x or (isinstance(value, str) and value == x) for x in options):
        refuse(name, value, " or ".join(map(repr, options)))
    return value


def known(value: object, options: Iterable[str], what: str) -> str:
    """A name that exists; `what` begins the sentence, e.g. "pendulum has no parameter"."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        raise ModelError(f"{what} {shown(value)}{did_you_mean(value, options)}")
    return value


def real_array(value: object, name: str, expected: str = "numbers") -> Any:
    """Real numbers as a float64 array of NumPy, or as the array of JAX that they are.

    Complex numbers are refused rather than stripped of their imaginary part, text rather than
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
    """Real numbers, none of which is NaN, as `real_array` gives them; traced ones may be."""
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
    """Decorate a function that runs on the host: called inside `jit`, `vmap` or `grad` it raises
    one sentence, which ends with `remedy`; called with arguments that do not fit, one that says so.
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
