"""Functions of pytrees as functions of flat lists of arrays, as compiled programs are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from zwang.arithmetic import traced
from zwang.compile.engine import NATIVE
from zwang.native import NativeFunction
from zwang.recent import Recent
from zwang.record import is_array


class NotCacheableError(Exception):
    """Something whose content cannot be known for certain, or that another process cannot use."""


class ArraySlot:
    """The place of an array among arguments, or in a result."""


class FixedArray:
    """An array that is a part of a program, with its numbers; equal to one of the same content."""

    __slots__ = ("_key", "array")

    def __init__(self, array: np.ndarray):
        self.array = np.ascontiguousarray(array)
        self._key = self.array.shape, self.array.dtype.str, self.array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedArray) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


MOST_FIXED = 6000
"""Elements of an array of integers that is a part of a program; a larger one is an argument."""


def with_structure(arguments: tuple) -> tuple[list, Any]:
    """Leaves and structure of arguments, arrays of integers as parts of the program: they say
    which entries of others belong together, and native code knows its places beforehand.
    """
    leaves, tree = jax.tree_util.tree_flatten(arguments)
    return [_fixed(x) for x in leaves], tree


def _fixed(x: Any) -> Any:
    if not isinstance(x, (np.ndarray, jax.Array)) or isinstance(x, Tracer):
        return x
    whole = x.ndim and x.size <= MOST_FIXED and np.dtype(x.dtype).kind in "iu"
    return FixedArray(np.asarray(x)) if whole else x


class FlatFunction:
    """A function of pytrees as one of their arrays; all other leaves are constants of it.

    Attributes:
        function: the function.
        tree: structure of its arguments.
        leaves: leaves of its arguments, arrays as slots.
        skeleton: what it returns, arrays as slots; None before it is traced.
    """

    def __init__(self, function: Callable, leaves: list, tree):
        self.function, self.tree = function, tree
        self.leaves = [ArraySlot() if is_array(x) else x for x in leaves]
        self.skeleton: Any = None
        self.__name__ = function.__name__

    def __call__(self, *arrays) -> list:
        given = iter(arrays)
        with traced():  # also where the host asks for the program
            return self._called(given)

    def _called(self, given) -> list:
        args, kwargs = self.tree.unflatten([_given(x, given) for x in self.leaves])
        out, out_tree = jax.tree_util.tree_flatten(self.function(*args, **kwargs))
        # known only after a trace; constants of the result are put back without being computed
        self.skeleton = out_tree.unflatten([ArraySlot() if is_array(x) else x for x in out])
        return [x for x in out if is_array(x)]


def _given(x: Any, arrays: Iterator) -> Any:
    """A leaf of the arguments: the next array, or a constant."""
    if isinstance(x, ArraySlot):
        return next(arrays)
    return x.array if isinstance(x, FixedArray) else x


def of_xla(why: str) -> str:
    """What results say of a program that XLA has compiled."""
    return f"XLA ({why})"


class CompiledProgram:
    """A compiled function of flat arrays; called, it returns what the original function does.

    Args:
        compiled: arrays → list of arrays.
        skeleton: of the result (`FlatFunction`).
        seconds: how long it took to make.
        engine: what it was compiled by, in words.
    """

    def __init__(
        self, compiled: Callable[..., list], skeleton: Any, seconds: float, engine: str = NATIVE
    ):
        leaves, self._tree = jax.tree_util.tree_flatten(skeleton)
        self._constants = [None if isinstance(x, ArraySlot) else x for x in leaves]
        self._slots = [i for i, x in enumerate(leaves) if isinstance(x, ArraySlot)]
        self.compiled, self.skeleton = compiled, skeleton
        self.seconds, self.engine = seconds, engine

    @property
    def is_native(self) -> bool:
        """Whether it is native code."""
        return isinstance(self.compiled, NativeFunction)

    @property
    def instructions(self) -> int:
        """Instructions of native code; 0 of another engine."""
        return self.compiled.instructions if isinstance(self.compiled, NativeFunction) else 0

    @property
    def memory(self) -> int:
        """Bytes that a call needs for results and in between; 0 if unknown."""
        return self.compiled.memory if isinstance(self.compiled, NativeFunction) else 0

    def __call__(self, arrays: list) -> Any:
        return self._result(self.compiled(*arrays))

    def bound(self, first: list) -> Callable[..., Any]:
        """The function with its first arrays given, to be called many times; its results are arrays
        of NumPy.
        """
        if isinstance(self.compiled, NativeFunction):
            code = self.compiled.bound(first)
            return lambda *rest: self._result(code(*rest))
        return lambda *rest: self._result([np.asarray(x) for x in self.compiled(*first, *rest)])

    def members(self, arrays: list, of_each: list[bool], number: int, cores: int) -> Any:
        """Results of many members, with a leading axis of them, by native code."""
        assert isinstance(self.compiled, NativeFunction)
        return self._result(self.compiled.members(arrays, of_each, number, cores))

    def _result(self, arrays: list) -> Any:
        if len(arrays) == len(self._constants):
            return self._tree.unflatten(arrays)
        leaves = list(self._constants)
        for i, x in zip(self._slots, arrays, strict=True):
            leaves[i] = x
        return self._tree.unflatten(leaves)


def by_xla(function: Callable) -> Callable:
    """The function compiled by XLA, arrays traced, whatever else its arguments hold; also where
    they are spread over devices, and where JAX is to look into programs.
    """
    known: Recent[tuple[FlatFunction, Callable]] = Recent()

    def called(*args, **kwargs):
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        shapes = tuple((x.shape, x.dtype) if is_array(x) else (type(x), x) for x in leaves)
        if (ready := known.get((tree, shapes))) is None:
            flat = FlatFunction(function, leaves, tree)
            known.put((tree, shapes), ready := (flat, jax.jit(flat)))
        arrays = ready[1](*(x for x in leaves if is_array(x)))
        return CompiledProgram(ready[1], ready[0].skeleton, 0.0)._result(arrays)

    return called


def signature(x: Any) -> Any:
    """What a compiled program depends on of a leaf: shape and kind of an array, all of a constant.

    Raises:
        TracerArrayConversionError: for an array that is traced.
        NotCacheableError: for an array that is spread over devices.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape, x.dtype, False
    if isinstance(x, jax.Array):
        if isinstance(x, Tracer):
            raise jax.errors.TracerArrayConversionError(x)
        # such a program would be tied to devices that another process does not have
        if not x.is_fully_addressable or len(x.devices()) != 1:
            raise NotCacheableError("an array that is not on this machine alone")
        return x.shape, x.dtype, x.weak_type
    return type(x), x
