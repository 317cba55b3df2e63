"""Functions of pytrees as functions of flat lists of arrays, as compiled programs are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from zwang.compile.engine import NATIVE, is_native_wanted
from zwang.inputs.arithmetic import traced
from zwang.native.compiled import NativeFunction
from zwang.objects.by_identity import ByIdentity
from zwang.objects.recent import Recent
from zwang.objects.record import is_array

P = TypeVar("P")


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


class Zeros:
    """Which entries of an array are zero, as a part of a program: products with them vanish from
    its code.
    """

    __slots__ = ("_key", "where")

    def __init__(self, array: np.ndarray):
        self.where = array == 0
        self._key = array.shape, self.where.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zeros) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


MOST_FIXED = 6000
"""Elements of an array that is a part of a program with its integers, or its zeros; a larger one is
an argument."""
_zeros: ByIdentity[Zeros] = ByIdentity()
NO_ZEROS: tuple = ()


def with_structure(arguments: tuple) -> tuple[list, Any]:
    """Leaves and structure of arguments, arrays of integers as parts of the program: they say
    which entries of others belong together, and native code knows its places beforehand.
    """
    leaves, tree = jax.tree_util.tree_flatten(arguments)
    return [_fixed(x) for x in leaves], tree


def _fixed(x):
    if not isinstance(x, (np.ndarray, jax.Array)) or isinstance(x, Tracer):
        return x
    whole = x.ndim and x.size <= MOST_FIXED and np.dtype(x.dtype).kind in "iu"
    return FixedArray(np.asarray(x)) if whole else x


def with_known_zeros(params: P) -> P:
    """Parameters whose zeros are parts of the programs that take them: three fifths of a robot's
    inertias, axes and places are zero. They are looked up in tables, which do not change any more.
    """
    for x in jax.tree_util.tree_leaves(params):
        table = isinstance(x, jax.Array) and not isinstance(x, Tracer) and x.ndim > 1
        if table and x.size <= MOST_FIXED and x.dtype == np.float64 and _zeros.get(x) is None:
            _zeros.keep(x, Zeros(np.asarray(x)))
    return params


def zeros_of(leaves: list) -> tuple[Zeros | None, ...]:
    """Known zeros of each leaf, where there are any; as XLA's programs do not become shorter by
    them, they are for native code alone.
    """
    found = tuple([_zeros.get(x) for x in leaves]) if is_native_wanted() else NO_ZEROS
    return found if any(x is not None for x in found) else NO_ZEROS


def serving(programs: Mapping[tuple, CompiledProgram], zeros: tuple) -> tuple:
    """The zeros of the program that serves arguments with these zeros, among those that were made:
    the first one has its own, and all that it does not serve share one without any.
    """
    if not programs or zeros in programs:
        return zeros
    first = next(iter(programs))
    pairs = zip(first, zeros, strict=False)
    served = len(first) <= len(zeros) and all(
        x is None or (y is not None and not np.any(x.where & ~y.where)) for x, y in pairs
    )
    return first if served else NO_ZEROS


class FlatFunction:
    """A function of pytrees as one of their arrays; all other leaves are constants of it.

    Args:
        zeros: of the arguments' leaves (`zeros_of`).

    Attributes:
        function: the function.
        tree: structure of its arguments.
        leaves: leaves of its arguments, arrays as slots.
        skeleton: what it returns, arrays as slots; None before it is traced.
    """

    def __init__(self, function: Callable, leaves: list, tree, zeros: tuple = NO_ZEROS):
        self.function, self.tree, self.zeros = function, tree, zeros
        self.leaves = [ArraySlot() if is_array(x) else x for x in leaves]
        self.skeleton: PyTree = None
        self.__name__ = function.__name__

    def __call__(self, *arrays) -> list:
        given = iter(arrays)
        with traced():  # also where the host asks for the program
            return self._called(given)

    def _called(self, given) -> list:
        leaves = [_given(x, given) for x in self.leaves]
        for i, zeros in enumerate(self.zeros):
            if zeros is not None:
                leaves[i] = jnp.where(zeros.where, 0.0, leaves[i])
        args, kwargs = self.tree.unflatten(leaves)
        out, out_tree = jax.tree_util.tree_flatten(self.function(*args, **kwargs))
        # known only after a trace; constants of the result are put back without being computed
        self.skeleton = out_tree.unflatten([ArraySlot() if is_array(x) else x for x in out])
        return [x for x in out if is_array(x)]


def _given(x, arrays: Iterator):
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

    Attributes:
        zeros: of the arguments that it serves (`zeros_of`).
    """

    zeros: tuple = NO_ZEROS

    def __init__(
        self, compiled: Callable[..., list], skeleton: PyTree, seconds: float, engine: str = NATIVE
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

    def optimize(self) -> None:
        """Make native code as fast as it becomes after some time of calls."""
        if isinstance(self.compiled, NativeFunction):
            self.compiled.optimize()

    def __call__(self, arrays: list) -> PyTree:
        return self._result(self.compiled(*arrays))

    def bound(self, first: list) -> Callable[..., Any]:
        """The function with its first arrays given, to be called many times; its results are arrays
        of NumPy.
        """
        if isinstance(self.compiled, NativeFunction):
            code = self.compiled.bound(first)
            return lambda *rest: self._result(code(*rest))
        return lambda *rest: self._result([np.asarray(x) for x in self.compiled(*first, *rest)])

    def members(self, arrays: list, of_each: list[bool], number: int, cores: int) -> PyTree:
        """Results of many members, with a leading axis of them, by native code."""
        assert isinstance(self.compiled, NativeFunction)
        return self._result(self.compiled.members(arrays, of_each, number, cores))

    def _result(self, arrays: list) -> PyTree:
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


def signature(x: object) -> tuple:
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
