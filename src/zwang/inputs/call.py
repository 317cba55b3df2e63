"""The error of a call whose arguments do not match the signature of the function."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean

T = TypeVar("T")
P = ParamSpec("P")

IN_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def misfits_named(function: Callable[P, T], name: str = "") -> Callable[P, T]:
    """Decorate a function or an `__init__` so that a mismatched call raises one sentence.

    Args:
        function: the function to decorate.
        name: its public name; by default its own name.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError:
            refuse_call(function, args, kwargs, name)
            raise

    return called


def class_of_users(made):
    """Decorate the `__init__` of a class in place; anything else is returned unchanged.

    A dataclass has a generated `__init__`, which no decorator in the source can wrap. Classes of
    families are found in their folders, so they are decorated where users import them.
    """
    if not isinstance(made, type) or issubclass(made, (BaseException, enum.Enum)):
        return made
    made_by = inspect.getattr_static(made, "__init__")
    if inspect.isfunction(made_by) and not hasattr(made_by, "__wrapped__"):
        setattr(made, "__init__", misfits_named(made_by))  # noqa: B010
    return made


def refuse_call(
    function: Callable, args: tuple, kwargs: Mapping[str, object], name: str = ""
) -> None:
    """Raise one sentence if a function of zwang cannot take these arguments; return if it can.

    It is called after a `TypeError`, which may also come from inside the function. Annotations are
    not evaluated, and the function is not called.

    Raises:
        ModelError: an argument that does not exist, is missing, is given twice, or is positional
            beyond the last one.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        name = name or function.__name__
        if name == "__init__":  # shown with the name of its class, without `self`
            name = function.__qualname__.split(".")[-2]
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
            args = args[1:]
        raise ModelError(_misfit(written(name), signature, args, kwargs)) from None


def public_names() -> dict[str, str]:
    """Public names, and how they are written, such as "zw.analysis.linearize"."""
    top = importlib.import_module("zwang")
    inner = {*top._modules, *top._namespaces}
    found = {name: f"zw.{name}" for name in dir(top) if name not in inner}
    for space in top._namespaces:
        for name in dir(getattr(top, space)):
            found.setdefault(name, f"zw.{space}.{name}")
    return found


def written(name: str) -> str:
    """Format a class or a function as users write it, whether it is public or not."""
    return public_names().get(name, f"zw.{name}")


def _misfit(name: str, signature: inspect.Signature, args: tuple, kwargs: Mapping) -> str:
    """Describe the first mismatch, in the order in which they are best corrected."""
    takes = signature.parameters.values()
    places = [x.name for x in takes if x.kind in IN_PLACE]
    by_name = [x.name for x in takes if x.kind is inspect.Parameter.KEYWORD_ONLY]
    for key in kwargs:
        if key not in signature.parameters:
            known = [*places, *by_name]
            ends = did_you_mean(key, known) if known else "; it takes none."
            return f"{name} has no argument {key!r}{ends}"
    if len(args) > len(places):
        if not places and not by_name:
            return f"{name} takes no arguments, got {len(args)}: {name}()."
        rest = f"; give the others by name: {', '.join(f'{x}=' for x in by_name)}"
        return (
            f"{name} takes {len(places)} arguments without a name ({', '.join(places)}), "
            f"got {len(args)}{rest if by_name else ''}."
        )
    twice = [x for x in places[: len(args)] if x in kwargs]
    if twice:
        return (
            f"{name} got {twice[0]} twice: as a positional and as a named argument; leave one out."
        )
    given = {*places[: len(args)], *kwargs}
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [x for x in takes if x.default is x.empty and x.kind not in several]
    missing = [x.name for x in needed if x.name not in given]
    call = ", ".join(x.name if x.kind in IN_PLACE else f"{x.name}=..." for x in needed)
    return f"{name} needs {' and '.join(missing)}: {name}({call})."
