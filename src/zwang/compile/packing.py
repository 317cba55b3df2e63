"""Functions of many small arrays as functions of one: a call from the host costs some five
microseconds for every array that goes in or comes out, which for a small model is most of a call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

FLOAT = np.dtype(float)


class Place(NamedTuple):
    """Where an array is found in a vector of all."""

    start: int
    stop: int
    shape: tuple[int, ...]

    def of(self, vector: Any) -> Any:
        """The array, of the kind that the vector is."""
        part = vector[self.start : self.stop]
        return part if len(self.shape) == 1 else part.reshape(self.shape)


def places(shapes: Sequence[tuple[int, ...]]) -> list[Place]:
    """Arrays of these shapes, one behind the other."""
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)]).tolist()
    return [Place(i, k, tuple(s)) for i, k, s in zip(ends[:-1], ends[1:], shapes, strict=True)]


@jax.tree_util.register_pytree_node_class
class Packed:
    """A pytree whose float64 arrays are one vector; other arrays stay as they are.

    Attributes:
        vector: the arrays one behind the other.
        others: arrays of other types.
        skeleton: the pytree, with a `Place` for each array of `vector` and an index for each of
            `others`.
    """

    def __init__(self, vector: Any, others: list, skeleton: Any):
        self.vector, self.others, self.skeleton = vector, others, skeleton

    @classmethod
    def of(cls, tree: Any) -> Packed:
        """A pytree of arrays, packed."""
        leaves, structure = jax.tree_util.tree_flatten(tree)
        leaves = [jnp.asarray(x) for x in leaves]
        floats = [x for x in leaves if x.dtype == FLOAT]
        others = [x for x in leaves if x.dtype != FLOAT]
        at, index = iter(places([x.shape for x in floats])), iter(range(len(others)))
        slots = [_Slot(next(at) if x.dtype == FLOAT else next(index)) for x in leaves]
        vector = jnp.concatenate([jnp.zeros(0), *(x.ravel() for x in floats)])
        return cls(vector, others, structure.unflatten(slots))

    def tree_flatten(self):
        return (self.vector, self.others), self.skeleton

    @classmethod
    def tree_unflatten(cls, skeleton, children):
        vector, others = children
        return cls(vector, others, skeleton)


class _Slot:
    """The place of an array in a skeleton; unlike a tuple it is a leaf."""

    def __init__(self, at: Place | int):
        self.at = at


class Unpacking:
    """Makes the pytree of a `Packed` with a given skeleton, of NumPy arrays."""

    def __init__(self, skeleton: Any):
        slots, self._structure = jax.tree_util.tree_flatten(skeleton)
        self._at = [slot.at for slot in slots]

    def __call__(self, packed: Packed) -> Any:
        vector, others = np.asarray(packed.vector), packed.others
        return self._structure.unflatten(
            [x.of(vector) if type(x) is Place else np.asarray(others[x]) for x in self._at]
        )


class PackedFunction:
    """`function(*fixed, *arrays)` as a function of the fixed arguments, one vector of all float64
    arrays, and the others.

    Args:
        function: of pytrees.
        fixed: how many of its arguments are fixed.
        example: arrays as its other arguments.
    """

    def __init__(self, function: Callable, fixed: int, example: tuple):
        arrays = [np.asarray(x) for x in example]
        self.function, self.fixed = function, fixed
        self.shapes = tuple(x.shape for x in arrays)
        self.is_float = tuple(x.dtype == FLOAT for x in arrays)
        self._floats = tuple(i for i, x in enumerate(self.is_float) if x)
        self._others = tuple(i for i, x in enumerate(self.is_float) if not x)
        self.__name__ = self.__qualname__ = getattr(function, "__name__", "function")

    def __eq__(self, other) -> bool:
        mine, theirs = self.__dict__, getattr(other, "__dict__", None)
        return isinstance(other, PackedFunction) and mine == theirs

    def __hash__(self) -> int:
        return hash((self.function, self.fixed, self.shapes, self.is_float))

    def packed(self, arrays: tuple) -> list:
        """Arrays as the function takes them."""
        floats = [arrays[i] for i in self._floats]
        # without an axis arrays of any shapes are joined
        vector = np.concatenate(floats, axis=None) if floats else np.zeros(0)
        return [vector, *(arrays[i] for i in self._others)]

    def __call__(self, *given) -> Packed:
        fixed, (vector, *others) = given[: self.fixed], given[self.fixed :]
        floats = [shape for shape, f in zip(self.shapes, self.is_float, strict=True) if f]
        at, rest = iter(places(floats)), iter(others)
        arrays = [next(at).of(vector) if f else next(rest) for f in self.is_float]
        return Packed.of(self.function(*fixed, *arrays))
