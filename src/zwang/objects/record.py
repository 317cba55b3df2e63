"""The base class of data in zwang: frozen dataclasses that are pytrees.

`Record` is modeled on `equinox.Module`, which does more. Importing Equinox and creating the 120
classes of a run with it takes 0.15 s in every process, so zwang does not use it.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, dataclass_transform

import jax
import numpy as np
from jaxtyping import PyTree

T = TypeVar("T")
R = TypeVar("R", bound="Record")
ARRAYS = (jax.Array, np.ndarray, np.generic)


def is_array(x: object) -> bool:
    """Return whether a leaf of a pytree is an array of JAX or of NumPy."""
    # A literal in a jaxpr is not a `jax.Array`.
    return isinstance(x, ARRAYS) or hasattr(type(x), "aval")


def partition(tree: PyTree) -> tuple[PyTree, PyTree]:
    """Split a pytree into its arrays and its other leaves, with None in place of the others."""
    leaves, structure = jax.tree_util.tree_flatten(tree)
    arrays = [x if is_array(x) else None for x in leaves]
    others = [None if is_array(x) else x for x in leaves]
    return structure.unflatten(arrays), structure.unflatten(others)


def combine(tree: PyTree, other: PyTree) -> PyTree:
    """Join the two parts that `partition` returns."""
    missing = lambda x: x is None
    of_either = lambda x, y: y if x is None else x
    return jax.tree_util.tree_map(of_either, tree, other, is_leaf=missing)


def field(*, static: bool = False, metadata: dict | None = None, **options: Any) -> Any:
    """Declare a field of a record, as `dataclasses.field` does.

    Args:
        static: whether it is part of the pytree's structure, and not a leaf or branch; such a field
            must be comparable and hashable.
    """
    return dataclasses.field(metadata={**(metadata or {}), "static": static}, **options)


if TYPE_CHECKING:
    from typing import Annotated
    from typing import ClassVar as AbstractClassVar

    AbstractVar = Annotated[T, "AbstractVar"]
else:

    class AbstractVar(Generic[T]):
        """Annotation of a field of type `T` that concrete subclasses must have."""

    class AbstractClassVar(Generic[T]):
        """Annotation of a class attribute of type `T` that concrete subclasses must have."""


@dataclass_transform(field_specifiers=(dataclasses.field, field))
class RecordType(abc.ABCMeta):
    """The metaclass of records."""

    __abstractvars__: frozenset[str]
    __abstractclassvars__: frozenset[str]
    _is_written: bool

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> RecordType:
        missing: tuple[set[str], set[str]] = set(), set()
        for base in bases:
            missing[0].update(getattr(base, "__abstractvars__", ()))
            missing[1].update(getattr(base, "__abstractclassvars__", ()))
        annotations = namespace.get("__annotations__", {})
        for key, kind in list(annotations.items()):
            said = kind if isinstance(kind, str) else getattr(kind, "__origin__", kind).__name__
            if is_abstract := said.startswith(("AbstractVar", "AbstractClassVar")):
                del annotations[key]  # otherwise the annotation would be a field
            missing[0].discard(key)
            if is_abstract:
                missing[said.startswith("AbstractClassVar")].add(key)
        cls = super().__new__(mcs, name, bases, namespace, **options)
        cls.__abstractvars__ = frozenset(missing[0] - namespace.keys())
        cls.__abstractclassvars__ = frozenset(missing[1] - namespace.keys())
        # `dataclass` writes an `__init__` unless the class or a base class defines one.
        own = "__init__" in namespace
        above = (x.__dict__["_is_written"] for x in cls.__mro__ if "_is_written" in x.__dict__)
        cls._is_written = written = not own and next(above, True)
        dataclasses.dataclass(eq=False, repr=False, init=written)(cls)
        record: Any = cls
        jax.tree_util.register_pytree_with_keys(
            record, _flatten_with_keys, functools.partial(_unflatten, cls), _flatten
        )
        return cls

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of `__init__`."""
        found = inspect.signature(cls.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:])

    if not TYPE_CHECKING:

        def __call__(cls, *args, **kwargs):
            if missing := cls.__abstractvars__ | cls.__abstractclassvars__:
                lacks = ", ".join(sorted(missing))
                raise TypeError(f"{cls.__name__} is abstract, it lacks {lacks}")
            record = cls.__new__(cls)
            _begun.add(id(record))
            try:
                record.__init__(*args, **kwargs)
            finally:
                _begun.discard(id(record))
            given = record.__dict__
            # a custom `__init__` leaves fields at their defaults
            if len(given) < len(cls.__dataclass_fields__):
                for name in cls.__dataclass_fields__:
                    if name not in given:
                        given[name] = getattr(record, name)
            return record


_begun: set[int] = set()
"""Identities of the records whose `__init__` has not returned."""


def _names(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the fields that are children of the pytree, and of those in its structure."""
    if (known := cls.__dict__.get("_pytree_names")) is None:
        fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
        fixed = tuple(x.name for x in fields if x.metadata.get("static", False))
        known = tuple(x.name for x in fields if x.name not in fixed), fixed
        setattr(cls, "_pytree_names", known)  # noqa: B010
    return known


def _flatten(record: Record) -> tuple[tuple, tuple]:
    parts, fixed = _names(type(record))
    given = record.__dict__
    return tuple([given[x] for x in parts]), tuple([given[x] for x in fixed])


def _flatten_with_keys(record: Record) -> tuple[tuple, tuple]:
    parts, fixed = _flatten(record)
    keys = map(jax.tree_util.GetAttrKey, _names(type(record))[0])
    return tuple(zip(keys, parts, strict=True)), fixed


def _unflatten(cls: type, fixed: tuple, parts: Iterable):
    record, names = object.__new__(cls), _names(cls)
    given = record.__dict__
    given.update(zip(names[0], parts))  # noqa: B905 by JAX's own count
    given.update(zip(names[1], fixed))  # noqa: B905
    return record


class Record(metaclass=RecordType):
    """A frozen dataclass that is a pytree.

    Fields declared by `field(static=True)` belong to its structure. Methods are ordinary Python
    methods.
    """

    def __repr__(self) -> str:
        """Format the record as a constructor call; one with default values only as `Name()`."""
        fields = [f for f in dataclasses.fields(self) if f.repr]
        if all(f.default is getattr(self, f.name) for f in fields):
            return f"{type(self).__qualname__}()"
        return text_of_record(self)

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[x] for x in type(self).__dataclass_fields__))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        (own, structure), (others, its) = map(jax.tree_util.tree_flatten, (self, other))
        return structure == its and all(map(_same, own, others))

    def __setattr__(self, name: str, value: object) -> None:
        if id(self) not in _begun or name not in type(self).__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self):
        """Copy or unpickle without calling `__init__`."""
        return object.__new__, (type(self),), self.__dict__


def _same(x, y) -> bool:
    if not (is_array(x) or is_array(y)):
        return type(x) is type(y) and bool(x == y)
    alike = is_array(x) and is_array(y) and x.shape == y.shape and x.dtype == y.dtype
    return alike and (x is y or bool(np.all(x == y)))


def text_of_record(record: Record) -> str:
    """Format a record with all its fields, and arrays by shape and type, in several lines."""
    import wadler_lindig

    return wadler_lindig.pformat(record).replace("(jax)", "")


def replace(record: R, **changes: object) -> R:
    """Copy a record with other values of some fields.

    `dataclasses.replace` calls `__init__` and takes twenty times as long.
    """
    copy, fields = object.__new__(type(record)), type(record).__dataclass_fields__
    if not changes.keys() <= fields.keys():
        raise TypeError(f"{type(record).__name__} has no field {sorted(changes.keys() - fields)}")
    known = record.__dict__
    vars(copy).update({name: changes.get(name, known[name]) for name in fields})
    return copy
