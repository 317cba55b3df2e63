"""The base of data in zwang: frozen dataclasses that are pytrees."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import equinox as eqx


class Record(eqx.Module):
    """A frozen dataclass that is a pytree.

    Its methods are those of any Python object. Equinox makes a pytree of a method at each access,
    which takes 70 µs and flattens the object, for users who pass methods through transformations.
    """

    __getattribute__ = object.__getattribute__

    def __repr__(self) -> str:
        """The constructor's call without defaults; at once where there are no others."""
        fields = [f for f in dataclasses.fields(self) if f.repr]
        if all(f.default is getattr(self, f.name) for f in fields):
            return f"{type(self).__qualname__}()"
        return eqx.tree_pformat(self)

    def __reduce__(self):
        """Make a copy, or read one from a file, without Equinox's `__new__`: it notes each object
        until its `__init__` has ended, which a copy does not have, and so keeps it for ever.
        """
        return object.__new__, (type(self),), self.__dict__


R = TypeVar("R", bound=Record)


def replace(record: R, **changes: Any) -> R:
    """A copy of a record with other values of some fields, as of `dataclasses.replace`, which has
    Equinox look through all of them anew and takes twenty times as long.
    """
    copy, fields = object.__new__(type(record)), type(record).__dataclass_fields__
    if not changes.keys() <= fields.keys():
        raise TypeError(f"{type(record).__name__} has no field {sorted(changes.keys() - fields)}")
    known = record.__dict__
    vars(copy).update({name: changes.get(name, known[name]) for name in fields})
    return copy
