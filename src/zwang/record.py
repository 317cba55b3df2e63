"""The base of data in zwang: frozen dataclasses that are pytrees."""

from __future__ import annotations

import equinox as eqx


class Record(eqx.Module):
    """A frozen dataclass that is a pytree.

    Its methods are those of any Python object. Equinox makes a pytree of a method at each access,
    which takes 70 µs and flattens the object, for users who pass methods through transformations.
    """

    __getattribute__ = object.__getattribute__

    def __reduce__(self):
        """Make a copy, or read one from a file, without Equinox's `__new__`: it notes each object
        until its `__init__` has ended, which a copy does not have, and so keeps it for ever.
        """
        return object.__new__, (type(self),), self.__dict__
