"""Classes and objects in a fingerprint: what a class does, and what an object holds."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache.purity import OWN, is_in_python, is_known, root

DERIVED_ENTRIES = frozenset(
    (
        "__dict__ __weakref__ __module__ __doc__ __annotations__ __abstractmethods__ _abc_impl "
        "__dataclass_params__ __match_args__ __slots__ __orig_bases__ __parameters__ "
        "__firstlineno__ __static_attributes__"
    ).split()
)
"""Entries of a class's namespace that follow from the others or say nothing of what it does."""
_HEAP = 1 << 9
"""Flag of a class that is made at run time, as Python's are; without it, it is compiled into an
interpreter or an extension.
"""
_CONTENTS: dict[type, Callable[[Any], Any]] = {
    tuple: tuple,
    list: list,
    dict: lambda x: dict(x.items()),
    str: lambda x: str.__str__(x),
    int: int.__index__,
    float: lambda x: float.__float__(x),
}


def add_class(found, x: type) -> None:
    """A class: its bases and all that its namespace holds."""
    if (x.__module__ == "builtins" and not x.__flags__ & _HEAP) or is_known(x):
        found.named(x)
        return
    found.token("own class", x.__qualname__)
    found.add(type(x))
    found.sequence(x.__bases__)
    fields: dict[str, Any] = vars(x).get("__dataclass_fields__", {})
    for name, value in sorted(vars(x).items()):
        if name in DERIVED_ENTRIES or name == "__dataclass_fields__":
            continue
        if (
            name == "__repr__"
            and fields
            and getattr(getattr(value, "__code__", None), "co_filename", "") == dataclasses.__file__
        ):
            continue  # a dataclass's own one, by its fields
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            found.token("slot", name)
            continue
        found.token(name)
        found.add(value)
    for name, field in fields.items():
        found.token(name, str(field.init), str(field.kw_only))
        for part in (field.default, field.default_factory, dict(field.metadata)):
            found.token("none") if type(part).__name__ == "_MISSING_TYPE" else found.add(part)


def add_object(found, x) -> None:
    """An object: its class and what it holds."""
    kind = type(x)
    if isinstance(x, enum.Enum):
        found.token("member", x.name)
        found.add(kind)
        return
    if is_known(x):
        found.named(x)
        return
    if kind.__name__ == "PjitFunction" and root(kind.__module__) == "jaxlib":
        found.token("jit")
        found.add(x.__wrapped__)
        return
    if isinstance(x, np.dtype) and not x.hasobject:
        found.token("dtype", repr(x.descr))
        return
    found.token("object")
    found.add(kind)
    stands_for = getattr(x, "__fingerprint__", None)
    if stands_for is not None and root(kind.__module__) == OWN:
        found.add(stands_for())
        return
    _state(found, x)


def _state(found, x) -> None:
    slots: list[str] = []
    for base in type(x).__mro__:
        if base is object:
            continue
        if base in _CONTENTS:
            found.add(_CONTENTS[base](x))
        elif not base.__flags__ & _HEAP or not is_in_python(base):
            raise NotCacheableError(
                f"an object of {base.__module__}.{base.__qualname__}, "
                "which keeps its content to itself"
            )
        own = vars(base).get("__slots__", ())
        slots += [own] if isinstance(own, str) else list(own)
    held = dict(getattr(x, "__dict__", {}))
    for name in slots:
        name = (
            name
            if not name.startswith("__") or name.endswith("__")
            else f"_{type(x).__name__.lstrip('_')}{name}"
        )
        if name not in ("__dict__", "__weakref__") and hasattr(x, name):
            held[name] = getattr(x, name)
    found.dictionary({name: held[name] for name in sorted(held)})
