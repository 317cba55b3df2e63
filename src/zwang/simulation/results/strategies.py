"""Conversion of the strategies of a run (integrator, drift, pseudoinverse, formulation) to data and
back.

A strategy is written as the path of its class and its fields. Only classes of this package are
read, so that a file cannot cause any other code to be called.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TypeVar

import numpy as np

from zwang.errors import ModelError

T = TypeVar("T")
PACKAGE = "zwang."
"""Package whose classes may be created from a file."""


def described(x: object):
    """Return an object as data for JSON; None if a class is not from this package.

    Args:
        x: None, a number, a string, an array, a tuple of these, or an object of a dataclass.
    """
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, (list, tuple)):
        return [described(entry) for entry in x]
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        kind = type(x)
        if not kind.__module__.startswith(PACKAGE):
            return None
        fields = {f.name: described(getattr(x, f.name)) for f in dataclasses.fields(x) if f.init}
        return {"class": f"{kind.__module__}.{kind.__qualname__}", "fields": fields}
    array = np.asarray(x)
    return array.tolist() if array.dtype.kind in "iufb" else None


def made(record: object, expected: type[T], what: str) -> T | None:
    """Return the object of a description; None for None.

    Raises:
        ModelError: if it names no class of this package, or one of another kind.
    """
    if record is None:
        return None
    found = _made(record, what)
    if not isinstance(found, expected):
        raise ModelError(f"the {what} of the file is {found!r:.60}, expected a {expected.__name__}")
    return found


def _made(record: object, what: str):
    if isinstance(record, list):
        return tuple(_made(entry, what) for entry in record)
    if not isinstance(record, dict):
        return record
    path = str(record.get("class", ""))
    module, _, name = path.rpartition(".")
    try:
        if not path.startswith(PACKAGE):
            raise ImportError
        kind = getattr(importlib.import_module(module), name)
        fields = {key: _made(value, what) for key, value in record["fields"].items()}
        if not (isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")):
            raise TypeError
        return kind(**fields)
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        raise ModelError(
            f"the {what} of the file, {path or record!r:.80}, is not part of this version of "
            f"zwang; give zw.load the one that the run used: {what}=..."
        ) from error
